"""From two arms to a cell, and from all cells to the verdict of a run."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from bench.cells import EXIT_CODES, cell, unproven, verdict
from bench.history import Event
from bench.verdict import Verdict
from tests.bench.histories import END, history, injected, receipt, stalled
from tests.bench.test_result import DOUBT, ERROR, PASS, SOUND_FAULT, SOUND_SHAM, UNSUPPORTED, fail, outcome
from tests.fakes.sane import Sane

KILLED = history({**injected(), "kind": "kill -9"}, receipt(), stalled(0.004), END)

FAIL = fail("stranded")

VERDICTS = {"pass": PASS, "fail": FAIL, "inconclusive": DOUBT, "unsupported": UNSUPPORTED, "error": ERROR}


def made(fault: Verdict, sham: Verdict, events: list[Event] = KILLED) -> dict[str, Any]:
    arms = [outcome(SOUND_FAULT, fault, events), outcome(SOUND_SHAM, sham, events)]
    return cell("made-up", Sane.describe, arms)


CELLS: list[tuple[str, str, str]] = [
    ("pass", "pass", "pass"),
    ("fail", "pass", "fail"),
    ("fail", "fail", "fail"),
    ("pass", "fail", "fail"),
    ("fail", "inconclusive", "fail"),
    ("inconclusive", "fail", "fail"),
    ("inconclusive", "pass", "inconclusive"),
    ("pass", "inconclusive", "inconclusive"),
    ("unsupported", "unsupported", "unsupported"),
    ("pass", "unsupported", "unsupported"),
    ("inconclusive", "unsupported", "inconclusive"),
]


@pytest.mark.parametrize(("fault", "sham", "word"), CELLS)
def test_a_cell_of_two_arms(fault: str, sham: str, word: str) -> None:
    assert made(VERDICTS[fault], VERDICTS[sham])["verdict"] == word


@pytest.mark.parametrize("other", VERDICTS)
def test_what_an_adapter_broke_is_never_the_queues_fail(other: str) -> None:
    assert made(ERROR, VERDICTS[other])["verdict"] == "error"
    assert made(VERDICTS[other], ERROR)["verdict"] == "error"


def test_a_fail_says_which_word_was_not_kept_and_whether_it_takes_a_fault() -> None:
    failed = made(FAIL, PASS)
    assert failed["not_kept"] == ["reclaim called, an abandoned job back within 1.5 s"]
    assert not failed["without_fault"]
    assert [arm["id"] for arm in failed["arms"]] == ["sound-fault", "sound-sham"]
    assert failed["arms"][0]["anomalies"] == [{"name": "stranded", "text": "stranded was seen", "events": [1, 2]}]
    assert made(FAIL, fail("disturbed"))["without_fault"]


def test_no_verdict_has_a_reason() -> None:
    assert made(PASS, DOUBT)["reason"] == "the machine stalled"
    assert made(UNSUPPORTED, UNSUPPORTED)["reason"] == "no hold"
    assert made(FAIL, DOUBT)["reason"] == ""


def test_an_arm_that_was_not_run_is_not_shown() -> None:
    arms = [replace(outcome(arm, UNSUPPORTED, []), history="") for arm in (SOUND_FAULT, SOUND_SHAM)]
    assert cell("made-up", {}, arms)["arms"] == []


def test_an_unproven_scenario_shows_nothing() -> None:
    assert unproven("made-up", "inconclusive", "sound-fault: the machine stalled") == {
        "scenario": "made-up",
        "verdict": "unproven",
        "reason": "inconclusive here: sound-fault: the machine stalled",
        "without_fault": False,
        "not_kept": [],
        "arms": [],
    }


RUNS: list[tuple[str, list[str], list[str]]] = [
    ("clean", ["proven"], ["pass", "unsupported"]),
    ("clean", ["partial"], ["unproven"]),  # such as a scenario that this machine cannot run
    ("finding", ["proven"], ["pass", "fail", "error", "inconclusive"]),
    ("finding", ["unproven"], ["unproven"]),
    ("error", ["proven"], ["inconclusive", "error"]),
    ("error", ["error"], ["unproven"]),
    ("inconclusive", ["proven"], ["pass", "inconclusive"]),
    ("inconclusive", ["inconclusive"], ["unproven"]),
    ("clean", [], []),
]


@pytest.mark.parametrize(("word", "statuses", "verdicts"), RUNS)
def test_the_worst_is_the_verdict_of_a_run(word: str, statuses: list[str], verdicts: list[str]) -> None:
    for order in itertools.permutations(verdicts):
        assert verdict(statuses, [{"verdict": each} for each in order]) == word


def test_every_verdict_has_its_exit_code() -> None:
    assert EXIT_CODES == {"clean": 0, "finding": 1, "inconclusive": 3, "error": 4}
