"""With its own seconds, the article's three demonstrations reach the rows and counts that it reports."""

from pathlib import Path

import pytest

from bench import discover, runner
from bench.history import Event, load
from tests.live.conftest import Quiet

FACTS: dict[tuple[str, str], list[tuple[str, str, str]]] = {
    ("worker-death", "sound-fault"): [
        ("id|state|leased_by|lease_alive|attempt", "1|running|dying|t|1", "0 jobs"),
        ("id|state|leased_by|lease_alive|attempt", "1|running|dying|f|1", ""),
        ("id|state|leased_by|lease_alive|locked", "1|running|dying|f|f", "0 jobs"),
        ("id|state|leased_by|attempt", "1|queued||1", "1 job: [1]"),
        ("id|state|attempt", "1|done|2", ""),
    ],
    ("heartbeat", "sound-fault"): [
        ("id|state|leased_by|attempt", "1|running|owner|1", "0 jobs: []"),
        ("id|state|attempt", "1|done|1", ""),
    ],
    ("heartbeat", "NoRenewal-fault"): [
        ("id|state|leased_by|attempt", "1|queued||1", "1 job: [1]"),
        ("id|state|attempt", "1|done|2", ""),
    ],
    ("sigterm-drain", "sound-fault"): [
        ("id|state|leased_by|lease_expired|attempt", "1|running|deploy|f|1", ""),
        ("id|state|leased_by|attempt", "1|running|deploy|1", "0 jobs: []"),
        ("id|state|attempt", "1|done|1", ""),
    ],
    ("sigterm-drain", "NoRenewalOnceTold-fault"): [
        ("id|state|leased_by|lease_expired|attempt", "1|running|deploy|t|1", ""),
        ("id|state|leased_by|attempt", "1|queued||1", "1 job: [1]"),
        ("id|state|attempt", "1|done|2", ""),
    ],
}
"""By scenario and arm: each observation's columns, its row, and what was seen."""

REFUSED = {("heartbeat", "NoRenewal-fault"): "owner", ("sigterm-drain", "NoRenewalOnceTold-fault"): "deploy"}
"""Who is told that its lease was lost."""


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], list[Event]]:
    """All arms that the article shows, run once with `--article`."""
    out = tmp_path_factory.mktemp("article")
    chosen = discover.pick(sorted({name for name, _ in FACTS}), discover.scenarios())
    arms = {s.name: [arm for arm in s.arms if (s.name, arm.id) in FACTS] for s in chosen}
    settings = runner.Settings(subject=discover.subject("queue_core"), out=out, article=True)
    runner.run(settings, arms, Quiet(), "test")
    return {(name, arm): load(Path(out, name, f"{arm}.jsonl")) for name, arm in FACTS}


@pytest.mark.parametrize("arm", FACTS, ids="/".join)
def test_rows_and_counts(arm: tuple[str, str], histories: dict[tuple[str, str], list[Event]]) -> None:
    seen = [event for event in histories[arm] if event["event"] == "observation"]
    assert [("|".join(e["columns"]), "|".join(e["rows"][0]), e["seen"] or "") for e in seen] == FACTS[arm]


@pytest.mark.parametrize("arm", REFUSED, ids="/".join)
def test_the_late_one_is_told(arm: tuple[str, str], histories: dict[tuple[str, str], list[Event]]) -> None:
    refused = [e["worker"] for e in histories[arm] if e["event"] == "outcome" and not e["accepted"]]
    assert refused == [REFUSED[arm]]


@pytest.mark.parametrize(("scenario", "lease"), [("worker-death", 6.0), ("heartbeat", 2.0), ("sigterm-drain", 3.0)])
def test_the_articles_own_lease(scenario: str, lease: float, histories: dict[tuple[str, str], list[Event]]) -> None:
    assert histories[scenario, "sound-fault"][0]["lease"] == lease
