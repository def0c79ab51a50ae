"""With its own seconds, the article's demonstrations reach the facts that docs/artifacts has of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench import artifacts, discover, runner
from bench.artifacts import Seen
from bench.scenario import Arm
from reports import compared
from tests.live.conftest import Quiet

DOCS = artifacts.CLONE / artifacts.FOLDER


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """All that the article shows, run once with its seconds."""
    subject = discover.subject("queue_core")

    def perform(arms: Mapping[str, Sequence[Arm]], out: Path) -> Mapping[str, Any]:
        return runner.run(runner.Settings(subject=subject, out=out, article=True), arms, Quiet(), "test")

    return artifacts.look(tmp_path_factory.mktemp("article"), perform)


def test_everything_was_seen(seen: Seen) -> None:
    assert not seen.doubts
    assert not seen.unexpected
    assert {*seen.facts} == {*artifacts.ALL}


def test_no_fact_has_changed(seen: Seen) -> None:
    assert compared.changes(artifacts.recorded(DOCS), seen.by_scenario()) == []


def test_what_differs_from_the_article_does_so_for_a_reason(seen: Seen) -> None:
    beside = compared.against(artifacts.article(DOCS), seen.by_scenario())
    assert {each.status for each in beside} == {"same", "known", "told"}


@pytest.mark.parametrize(("scenario", "side"), artifacts.ALL, ids="/".join)
def test_the_articles_own_lease(scenario: str, side: str, seen: Seen) -> None:
    about, lease = seen.about[scenario, side], seen.by_scenario()[scenario]["lease"]
    assert about["lease"] == lease * 2 ** (about["tries"] - 1)
