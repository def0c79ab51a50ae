"""The table of a cross: who fails where, why it may, and what came out otherwise."""

from __future__ import annotations

import pytest

from reports.cross import cross_table
from tests.reports.drawing import drawn
from tests.reports.results import Result, anomaly, arm, envelope, scenario, twin

NUMBERS = {"by-name": 7, "by-number": 9, "by-state": 10}
TWINS = {"by-name": ("NoName", "stolen"), "by-number": ("NoNumber", "stale"), "by-state": ("NoState", "undone")}
REASON = "a name that nobody asks for has no number either"


def crossed() -> Result:
    """Three scenarios and their twins: each fails in its own, and NoName in by-number as well."""
    scenarios = []
    for name, (own, own_anomaly) in TWINS.items():
        arms = [arm(name, "sound-fault", "pass")]
        for foreign, _ in TWINS.values():
            fails = foreign == own or (name, foreign) == ("by-number", "NoName")
            found = [anomaly(own_anomaly, f"{own_anomaly} was seen", 3, 5)] if fails else []
            verdict = ("fail", own_anomaly) if fails else ("pass", "pass")
            arms.append(arm(name, f"{foreign}-fault", *verdict, anomalies=found))
        about = twin(own, "Queue.COMPLETE", "One guard less.", own_anomaly)
        if own == "NoName":
            about["fails_in"] = {"by-number": REASON}
        why = "2 of 4 arms were run"
        scenarios.append(scenario(name, "It holds.", "partial", [about], arms, row=NUMBERS[name], why=why))
    return envelope(scenarios, "partial", 0)


def broken() -> Result:
    """The same, but NoState fails where it must pass."""
    result = crossed()
    cell = result["scenarios"][0]["arms"][3]
    found = [anomaly("stolen", "job was stolen from A", 4, 9)]
    cell |= {"verdict": "fail", "as_expected": False, "anomalies": found}
    why = "NoState-fault: it must pass, and it came out as stolen"
    result["scenarios"][0] |= {"status": "unproven", "why": why}
    return result | {"verdict": "unproven", "exit_code": 1}


TABLE = """\
  twin      7        9        10       shows
  --------------------------------------------------
  sound     + pass   + pass   + pass
  NoName    + fails  + fails  + pass   stolen, stale
  NoNumber  + pass   + fails  + pass   stale
  NoState   + pass   + pass   + fails  undone

  7 by-name   9 by-number   10 by-state

  NoName fails in by-number, too: a name that nobody asks for has no number either
"""


def test_a_line_a_twin_and_a_column_a_scenario() -> None:
    text = drawn(cross_table(crossed(), 100, ascii_only=True, where="runs/1"), 100)
    assert text.startswith(TABLE)
    assert "3 twins in 3 scenarios: 4 of 9 fail, all as they must; 12 arms in 41 s" in text
    assert "results in runs/1" in text
    assert "unproven" not in text
    assert "partial" not in text


def test_where_the_table_does_not_fit_the_twins_come_one_by_one() -> None:
    text = drawn(cross_table(crossed(), 40, ascii_only=True), 40)
    assert "NoName\n  7 + fails   9 + fails   10 + pass\n  shows stolen, stale\n" in text
    assert "sound\n  7 + pass   9 + pass   10 + pass\n\n" in text


def test_a_twin_that_fails_where_it_must_pass_is_told_with_the_command_that_repeats_it() -> None:
    text = drawn(cross_table(broken(), 100, ascii_only=True, where="runs/1"), 100)
    assert "  NoState   x fails  + pass   + fails  stolen, undone\n" in text
    assert "by-name: unproven, NoState-fault: it must pass, and it came out as stolen" in text
    assert "stolen: job was stolen from A (events 4, 9)" in text
    assert "runs/1/by-name/NoState-fault.jsonl" in text
    assert "leaseproof cross by-name by-state --arms NoState-fault" in text
    assert "and 1 arm came out otherwise than due" in text
    assert "by-number: " not in text


def test_a_cell_that_was_not_run_is_empty() -> None:
    result = crossed()
    del result["scenarios"][2]["arms"][1]
    text = drawn(cross_table(result, 100, ascii_only=True), 100)
    assert "  NoName    + fails  + fails  .        stolen, stale\n" in text


@pytest.mark.parametrize("width", [30, 40, 60, 100])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("result", [crossed(), broken(), envelope([], "partial", 0)])
def test_no_line_is_too_long(result: Result, ascii_only: bool, width: int) -> None:
    text = drawn(cross_table(result, width, ascii_only, "runs/1"), width)
    assert max(map(len, text.splitlines())) <= width
    assert not ascii_only or text.isascii()
