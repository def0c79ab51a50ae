"""What a subject declares, in words; and that a cell is told which of it was not kept."""

import re
from pathlib import Path
from typing import Any

import pytest

import bench.checks
from bench.contract import CHOICES
from bench.declared import BREAKS, declared, not_kept
from tests.fakes.sane import Sane

ALL: dict[str, Any] = {
    **Sane.describe,
    "reclaim": "automatic",
    "lease": 30.0,
    "reclaim_every": 10.0,
    "slack": 5.0,
    "tells": ["renewed", "outcome"],
    "options": list(BREAKS)[5:],
}

ANOMALIES = {
    name
    for file in Path(bench.checks.__file__).parent.glob("*.py")
    for line in re.findall(r'^    """((?:`[a-z-]+`(?:, )?)+):', file.read_text(), flags=re.MULTILINE)
    for name in re.findall("`([a-z-]+)`", line)
}
"""All that checks can find, by their docstrings."""


def test_every_anomaly_that_breaks_a_word_is_one_that_a_check_finds() -> None:
    assert len(ANOMALIES) > 40
    assert {name for names in BREAKS.values() for name in names} <= ANOMALIES


def test_all_that_can_be_broken_can_be_declared() -> None:
    assert declared(ALL, 1.0).keys() == BREAKS.keys()


def test_the_bound_is_the_subjects_own_word() -> None:
    assert declared(ALL, 1.0)["reclaim"] == "reclaim automatic, an abandoned job back within 45 s"
    assert declared(Sane.describe, 2.0)["reclaim"] == "reclaim called, an abandoned job back within 3 s"


@pytest.mark.parametrize("field", ["ownership", "reclaim", "attempts"])
def test_what_it_does_not_have_it_does_not_declare(field: str) -> None:
    nothing = {"attempts": "never"}.get(field, "none")
    assert nothing in CHOICES[field]
    assert field not in declared({**ALL, field: nothing}, 1.0)


@pytest.mark.parametrize(
    ("anomaly", "fault", "words"),
    [
        ("stranded", "kill -9", ["reclaim automatic, an abandoned job back within 45 s"]),
        ("stranded", "poison", ["reclaim automatic, an abandoned job back within 45 s"]),
        ("stranded", "errors", []),  # nobody died, so there was nothing to reclaim
        ("stale-finish-accepted", "pause", ["fencing: it tells a worker whether its finish was taken"]),
        ("double-execution", "outlast", ["ownership lease-and-heartbeat, renewed by its runtime"]),
        ("unclean-exit", "SIGTERM", ["a drain by SIGTERM, with exit code 0"]),
        ("endless", "poison", ["the option max_attempts"]),
        ("lost", "kill -9", []),  # which no queue declares
    ],
)
def test_what_an_anomaly_breaks(anomaly: str, fault: str, words: list[str]) -> None:
    assert not_kept(ALL, 1.0, [anomaly], [fault]) == words


def test_what_was_never_declared_is_not_broken() -> None:
    bare = {**Sane.describe, "ownership": "none", "reclaim": "none", "attempts": "never"}
    anomalies = [name for names in BREAKS.values() for name in names]
    assert not_kept(bare, 1.0, anomalies, ["kill -9"]) == ["a drain by SIGTERM, with exit code 0"]


def test_a_subject_that_said_nothing() -> None:
    assert declared({}, 1.0) == {}
