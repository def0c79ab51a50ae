"""What becomes of arms: a scenario's status, a run's verdict and exit code, and the JSON of it all."""

import itertools
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

import reports
from bench import discover, result, runner
from bench.checks import Anomaly
from bench.checks.ending import recovered
from bench.history import Event
from bench.result import EXIT_CODES, ArmResult, ScenarioResult, overall
from bench.scenario import Arm, Scenario, Twin
from bench.twins import Difference
from bench.verdict import Verdict
from tests.bench.histories import END, event, history, injected, receipt, stalled

SCHEMA = json.loads((Path(reports.__file__).parent / "result.schema.json").read_text(encoding="utf-8"))


class NoReclaim:
    """Everything as in the sound one, but no reclaim.

    That is all.
    """


TWIN = Twin(NoReclaim, "stranded", also={"lost": "it goes with it"})

SCENARIO = Scenario(
    name="made-up",
    claim="It holds.",
    row=9,
    origin="A1",
    fault="kill -9",
    sham="no kill",
    twins=[TWIN],
    checks=[recovered],
    explanations={"lock": "a lock holds it"},
)

SOUND_FAULT, SOUND_SHAM, TWIN_FAULT, TWIN_SHAM = SCENARIO.arms

PASS = Verdict("pass")
DOUBT = Verdict("inconclusive", reason="the machine stalled")
ERROR = Verdict("error", reason="adapter: rubbish")
UNSUPPORTED = Verdict("unsupported", reason="no hold")

EVENTS = history(
    injected(),
    receipt(),
    event("figure", name="back after", value="1.20 s"),
    stalled(0.004),
    stalled(0.011),
    END,
)


def fail(*names: str) -> Verdict:
    return Verdict("fail", tuple(Anomaly(name, f"{name} was seen", (1, 2)) for name in names))


def outcome(arm: Arm, verdict: Verdict, events: list[Event] = EVENTS, **more: Any) -> ArmResult:
    return ArmResult(arm, verdict, events, lease=1.0, history=f"{arm.scenario.name}/{arm.id}.jsonl", **more)


def scenario(*verdicts: Verdict) -> ScenarioResult:
    """The made-up scenario with these verdicts on its first arms: sound and twin, each with the fault and without."""
    arms = [outcome(arm, verdict) for arm, verdict in zip(SCENARIO.arms, verdicts, strict=False)]
    return ScenarioResult(SCENARIO, {"NoReclaim": Difference("Queue.reclaim", "-a\n+b")}, arms)


STRANDED = fail("stranded")

STATUS: dict[str, tuple[list[Verdict], tuple[str, str]]] = {
    "all as it must be": ([PASS, PASS, STRANDED, PASS], ("proven", "")),
    "with an anomaly that is declared": ([PASS, PASS, fail("stranded", "lost"), PASS], ("proven", "")),
    "some arms": ([PASS, PASS], ("partial", "2 of 4 arms were run")),
    "no arms": ([], ("partial", "0 of 4 arms were run")),
    "the sound one fails": (
        [STRANDED, PASS, STRANDED, PASS],
        ("unproven", "sound-fault: it must pass, and it came out as stranded"),
    ),
    "the sham fails": (
        [PASS, fail("disturbed"), STRANDED, PASS],
        ("unproven", "sound-sham: it must pass, and it came out as disturbed"),
    ),
    "the twin passes": (
        [PASS, PASS, PASS, PASS],
        ("unproven", "NoReclaim-fault: it must show stranded, and it came out as pass"),
    ),
    "the twin fails otherwise": (
        [PASS, PASS, fail("no-progress"), PASS],
        ("unproven", "NoReclaim-fault: it must show stranded, and it came out as no-progress"),
    ),
    "the twin fails in its sham arm, too": (
        [PASS, PASS, STRANDED, STRANDED],
        ("unproven", "NoReclaim-sham: it must pass, and it came out as stranded"),
    ),
    "a declared anomaly in the sham arm": (
        [PASS, PASS, STRANDED, fail("lost")],
        ("unproven", "NoReclaim-sham: it must pass, and it came out as lost"),
    ),
    "the twin shows a foreign anomaly beside its own": (
        [PASS, PASS, fail("stranded", "effect-twice"), PASS],
        ("unproven", "NoReclaim-fault: it must show stranded, and it came out as effect-twice, stranded"),
    ),
    "one of some arms is a finding": (
        [STRANDED],
        ("unproven", "sound-fault: it must pass, and it came out as stranded"),
    ),
    "unsupported": ([UNSUPPORTED] * 4, ("partial", "sound-fault: no hold")),
    "an arm in doubt": ([PASS, DOUBT, STRANDED, PASS], ("inconclusive", "sound-sham: the machine stalled")),
    "one of some arms is in doubt": ([DOUBT], ("inconclusive", "sound-fault: the machine stalled")),
    "an error": ([PASS, PASS, ERROR, PASS], ("error", "NoReclaim-fault: adapter: rubbish")),
    "an error and a doubt": ([DOUBT, ERROR, STRANDED, PASS], ("error", "sound-sham: adapter: rubbish")),
    "an error and what is unsupported": (
        [UNSUPPORTED, PASS, STRANDED, ERROR],
        ("error", "NoReclaim-sham: adapter: rubbish"),
    ),
    "a doubt and what is unsupported": (
        [UNSUPPORTED, PASS, STRANDED, DOUBT],
        ("inconclusive", "NoReclaim-sham: the machine stalled"),
    ),
    "one arm is unsupported": ([PASS, UNSUPPORTED, STRANDED, PASS], ("partial", "sound-sham: no hold")),
    "unsupported, and not all arms": ([PASS, UNSUPPORTED], ("partial", "sound-sham: no hold")),
    "a finding and a doubt before it": (
        [DOUBT, PASS, PASS, PASS],
        ("unproven", "NoReclaim-fault: it must show stranded, and it came out as pass"),
    ),
    "a finding and a doubt after it": (
        [STRANDED, DOUBT, STRANDED, PASS],
        ("unproven", "sound-fault: it must pass, and it came out as stranded"),
    ),
    "a finding and an error": (
        [ERROR, PASS, STRANDED, fail("disturbed")],
        ("unproven", "NoReclaim-sham: it must pass, and it came out as disturbed"),
    ),
    "a finding and what is unsupported": (
        [UNSUPPORTED, UNSUPPORTED, fail("lost"), UNSUPPORTED],
        ("unproven", "NoReclaim-fault: it must show stranded, and it came out as lost"),
    ),
    "a finding and all the rest": (
        [ERROR, DOUBT, PASS, UNSUPPORTED],
        ("unproven", "NoReclaim-fault: it must show stranded, and it came out as pass"),
    ),
    "the first of two findings": (
        [PASS, fail("lost"), PASS, PASS],
        ("unproven", "sound-sham: it must pass, and it came out as lost"),
    ),
    "what a twin must show is no finding beside a doubt": (
        [PASS, PASS, STRANDED, DOUBT],
        ("inconclusive", "NoReclaim-sham: the machine stalled"),
    ),
}


@pytest.mark.parametrize("how", STATUS)
def test_status_of_a_scenario(how: str) -> None:
    verdicts, status = STATUS[how]
    assert scenario(*verdicts).status == status


ONE_OF_EACH = {
    "proven": scenario(PASS, PASS, STRANDED, PASS),
    "partial": scenario(PASS),
    "inconclusive": scenario(PASS, PASS, DOUBT, PASS),
    "error": scenario(PASS, PASS, ERROR, PASS),
    "unproven": scenario(PASS, PASS, PASS, PASS),
}
"""From the best to the worst."""

MIXTURES = [
    mixture for length in range(1, len(ONE_OF_EACH) + 1) for mixture in itertools.permutations(ONE_OF_EACH, length)
]


def test_the_worst_of_every_mixture_is_the_verdict() -> None:
    rank = list(ONE_OF_EACH)
    for mixture in MIXTURES:
        assert overall([ONE_OF_EACH[status].status[0] for status in mixture]) == max(mixture, key=rank.index), mixture


def test_every_verdict_has_its_exit_code() -> None:
    assert EXIT_CODES == {"proven": 0, "partial": 0, "unproven": 1, "inconclusive": 3, "error": 4}
    assert set(EXIT_CODES) == set(ONE_OF_EACH)


def test_an_arm_as_json() -> None:
    assert outcome(TWIN_FAULT, STRANDED, tries=2).to_json() == {
        "id": "NoReclaim-fault",
        "code": "twin",
        "twin": "NoReclaim",
        "fault": True,
        "verdict": "fail",
        "expected": "stranded",
        "as_expected": True,
        "anomalies": [{"name": "stranded", "text": "stranded was seen", "events": [1, 2]}],
        "reason": "",
        "figures": [["back after", "1.20 s"]],
        "tries": 2,
        "lease": 1.0,
        "seconds": 6.0,
        "stall": 0.011,
        "history": "made-up/NoReclaim-fault.jsonl",
    }


def test_an_arm_of_which_nothing_was_recorded_as_json() -> None:
    data = outcome(SOUND_SHAM, ERROR, events=[]).to_json()
    assert (data["seconds"], data["stall"], data["figures"], data["twin"]) == (0.0, 0.0, [], None)


def test_a_scenario_as_json() -> None:
    data = scenario(PASS, PASS, fail("lost"), PASS).to_json()
    assert [arm["id"] for arm in data.pop("arms")] == [arm.id for arm in SCENARIO.arms]
    assert data == {
        "name": "made-up",
        "claim": "It holds.",
        "row": 9,
        "origin": "A1",
        "fault": "kill -9",
        "sham": "no kill",
        "status": "unproven",
        "why": "NoReclaim-fault: it must show stranded, and it came out as lost",
        "explanations": {"lock": "a lock holds it"},
        "twins": [
            {
                "name": "NoReclaim",
                "member": "Queue.reclaim",
                "summary": "Everything as in the sound one, but no reclaim.",
                "anomaly": "stranded",
                "also": ["lost"],
                "fails_in": {},
                "diff": "-a\n+b",
            }
        ],
    }


def test_a_header_says_what_its_arm_must_come_to() -> None:
    assert [(arm.describe()["expected"], arm.describe()["also"]) for arm in SCENARIO.arms] == [
        ("pass", []),
        ("pass", []),
        ("stranded", ["lost"]),
        ("pass", []),
    ]


@pytest.mark.parametrize("status", ONE_OF_EACH)
def test_a_scenario_keeps_to_the_schema(status: str) -> None:
    data = json.loads(json.dumps(ONE_OF_EACH[status].to_json()))
    jsonschema.Draft202012Validator({**SCHEMA["$defs"]["scenario"], "$defs": SCHEMA["$defs"]}).validate(data)


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the runner makes of the arms of heartbeat, all of which come out as they must, without a server."""

    @contextmanager
    def bench(settings: runner.Settings, scenarios: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(
            settings=settings,
            stalls=SimpleNamespace(longest=lambda: (0.0123456789, 1.0)),
            versions=result.versions({"version": "18.6", "kind": "embedded"}),
            run=lambda arm, watcher: outcome(arm, PASS if arm.expected == "pass" else fail(arm.expected)),
            stop=lambda: None,
        )

    monkeypatch.setattr(runner, "bench", bench)
    (heartbeat,) = discover.pick(["heartbeat"], discover.scenarios())
    watcher = SimpleNamespace(arm_started=lambda *_: None, arm_ended=lambda *_: None)
    settings = runner.Settings(discover.subject("queue_core"), out=tmp_path, jobs=2, seed=7)
    return runner.run(settings, {"heartbeat": heartbeat.arms}, watcher, "leaseproof run heartbeat")


def test_a_run_is_written_as_it_is_returned(ran: dict[str, Any], tmp_path: Path) -> None:
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8")) == ran
    assert (ran["verdict"], ran["exit_code"]) == ("proven", 0)
    assert [arm["id"] for arm in ran["scenarios"][0]["arms"]] == [
        "sound-fault",
        "sound-sham",
        "NoRenewal-fault",
        "NoRenewal-sham",
    ]
    assert ran["scenarios"][0]["twins"][0]["member"] == "Worker.renew"
    assert set(ran["environment"]) == {"postgres", "python", "psycopg", "platform", "cpus"}


def test_a_run_keeps_to_the_schema(ran: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(ran)))


def test_a_run_says_when_it_began_in_utc(ran: dict[str, Any]) -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", ran["started"])
    began = datetime.fromisoformat(ran["started"])
    assert abs(datetime.now(UTC) - began) < timedelta(minutes=10)


def test_what_is_written_is_utf_8_and_ends_in_a_line_break(tmp_path: Path) -> None:
    result.write({"claim": "gilt für Łukasz"}, tmp_path / "result.json")
    content = (tmp_path / "result.json").read_bytes()
    assert "gilt für Łukasz".encode() in content
    assert content.endswith(b"\n")
