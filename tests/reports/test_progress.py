"""How far a run is: the line, the tally, and a time left that is told late and coarsely."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from reports.progress import Progress, about, parts, took
from reports.signs import signs

SIGN = signs(True)
SCENARIOS = [f"scenario-{n}" for n in range(20)]
Plan = list[tuple[str, str]]


def of(*subjects: str) -> Plan:
    return [(f"{who} {name}".strip(), arm) for who in subjects for name in SCENARIOS for arm in SIDES]


SIDES = ("sound-fault", "sound-sham")


def run(progress: Progress, arms: Plan, now: float, each: float, at_once: int = 4, verdict: str = "pass") -> float:
    """Run arms that take `each` seconds, a few at once; when the last is over."""
    for i in range(0, len(arms), at_once):
        for name, arm in arms[i : i + at_once]:
            progress.started(name, arm, list, now)
        now += each
        for name, arm in arms[i : i + at_once]:
            progress.ended(name, arm, verdict, verdict == "pass", now)
    return now


def in_vain(progress: Progress, arms: Plan, now: float, verdict: str) -> None:
    for name, arm in arms:
        progress.ended(name, arm, verdict, False, now)


@pytest.mark.parametrize(
    ("name", "is_of"),
    [
        ("heartbeat", ("", "", "heartbeat")),
        ("queue_core heartbeat", ("queue_core", "", "heartbeat")),
        ("pgmq tuned heartbeat", ("pgmq", "tuned", "heartbeat")),
        ("a b\x1b c tuned heartbeat", ("a b\x1b c", "tuned", "heartbeat")),
        ("", ("", "", "")),
    ],
)
def test_a_name_says_whose_arm_it_is(name: str, is_of: tuple[str, str, str]) -> None:
    assert parts(name) == is_of


def test_nothing_is_said_before_there_is_a_basis() -> None:
    plan = of("")
    progress = Progress(plan, 0.0)
    assert progress.left(5.0) is None
    now = run(progress, plan[:8], 0.0, 6.0)
    assert progress.left(now) is None  # twelve seconds, and eight arms
    now = run(progress, plan[8:12], now, 1.0)
    assert progress.left(now) is not None
    hasty = Progress(plan, 0.0)
    assert hasty.left(run(hasty, plan[:20], 0.0, 0.1)) is None  # twenty arms, and half a second


def test_what_is_left_follows_from_what_the_others_took_and_how_many_at_once() -> None:
    plan = of("")
    progress = Progress(plan, 0.0)
    now = run(progress, plan[:20], 0.0, 4.0)
    assert progress.left(now) == pytest.approx(20.0)


def test_arms_that_could_not_be_run_cost_nothing() -> None:
    plan = of("one tuned", "two tuned", "three tuned")
    progress = Progress(plan, 0.0)
    supported = [(name, arm) for name, arm in plan if int(name.rpartition("-")[2]) < 10]
    rest = [arm for arm in plan if arm not in supported]
    now = run(progress, supported[:20], 0.0, 4.0)
    in_vain(progress, rest[:20], now, "unsupported")
    assert progress.left(now) == pytest.approx(40.0)  # two more subjects, of which half costs nothing


def test_a_subject_on_which_nothing_can_be_run_does_not_spoil_the_estimate() -> None:
    plan = of("one tuned", "broken tuned", "three tuned")
    progress = Progress(plan, 0.0)
    now = run(progress, plan[:40], 0.0, 4.0)
    in_vain(progress, plan[40:80], now, "error")
    assert progress.left(now) == pytest.approx(40.0)


def test_of_a_profile_that_none_was_run_in_nothing_is_known() -> None:
    plan = of("one tuned", "one default")
    progress = Progress(plan, 0.0)
    now = run(progress, plan[:40], 0.0, 4.0)
    assert progress.left(now) is None
    now = run(progress, plan[40:44], now, 40.0)
    assert progress.left(now) == pytest.approx(360.0)


def test_long_arms_count_before_they_are_over() -> None:
    plan = of("")
    progress = Progress(plan, 0.0)
    now = run(progress, plan[:20], 0.0, 1.0)
    for name, arm in plan[20:24]:
        progress.started(name, arm, list, now)
    soon, late = progress.left(now + 10.0), progress.left(now + 60.0)
    assert soon is not None and late is not None  # noqa: PT018 - for the types
    assert late > soon


def test_fewer_at_once_take_longer() -> None:
    plan = of(*(f"{n} tuned" for n in range(10)))
    progress = Progress(plan, 0.0)
    now = run(progress, plan[:160], 0.0, 10.0, at_once=16)
    assert progress.left(now) == pytest.approx(150.0)
    now = run(progress, plan[160:220], now, 10.0, at_once=2)
    assert progress.left(now) == pytest.approx(900.0, rel=0.1)  # at two at once, and not at five as on average


def test_an_arm_that_is_tried_again_has_taken_all_its_tries() -> None:
    plan = of("")
    progress = Progress(plan, 0.0)
    progress.started(*plan[0], list, 0.0)
    progress.started(*plan[0], list, 30.0)
    assert progress.ended(*plan[0], "pass", True, 40.0).took == 10.0
    run(progress, plan[2:11], 40.0, 1.0, at_once=1)
    assert progress.left(49.0) == pytest.approx(40.0 + 1.0 + 28 * 4.9)  # its other side will take as long


def test_when_all_is_over_nothing_is_left() -> None:
    plan = of("")
    progress = Progress(plan, 0.0)
    assert progress.left(run(progress, plan, 0.0, 4.0)) == 0.0


def test_the_line() -> None:
    plan = of("")
    progress = Progress(plan, 0.0)
    now = run(progress, plan[:20], 0.0, 40.0)
    line = progress.line(120, now, SIGN).plain
    assert line == f"  20 of 40 arms   50 %   3 min 20 s   about 3 min left   {'=' * 20}{'-' * 20}"
    assert progress.line(60, now, SIGN).plain == "  20 of 40 arms   50 %   3 min 20 s   about 3 min left"
    assert progress.line(50, now, SIGN).plain == "  20 of 40 arms   50 %   about 3 min left"
    assert progress.line(40, now, SIGN).plain == "  20 of 40 arms   about 3 min left"


@pytest.mark.parametrize("width", [30, 40, 57, 58, 70, 200])
def test_the_line_is_never_too_long(width: int) -> None:
    plan = of("", "a tuned", "b tuned")
    progress = Progress(plan, 0.0)
    for now in (0.0, 7.0, run(progress, plan[:40], 0.0, 3000.0)):
        assert cell_len(progress.line(width, now, SIGN).plain) <= width
        assert all(cell_len(line.plain) <= width for line in progress.tally(width, SIGN, ["and more"]))


def test_the_tally_is_a_key_of_what_occurs() -> None:
    plan = of("")
    progress = Progress(plan, 0.0)
    run(progress, plan[:4], 0.0, 1.0)
    progress.ended(*plan[4], "fail", True, 1.0)
    progress.ended(*plan[5], "fail", False, 1.0)
    progress.ended(*plan[6], "unsupported", False, 1.0)
    progress.started(*plan[7], list, 1.0)
    (line,) = progress.tally(200, SIGN)
    assert line.plain == "  + 5 as expected   x 1 not as expected   - 1 unsupported   o 1 running   . 32 waiting"


def test_an_empty_plan() -> None:
    progress = Progress([], 0.0)
    assert progress.line(80, 1.0, SIGN).plain.startswith("  0 of 0 arms   0 %   1 s")


@pytest.mark.parametrize(
    ("passed", "words"), [(0.4, "0 s"), (59.9, "59 s"), (60, "1 min 0 s"), (3599, "59 min 59 s"), (7380, "2 h 3 min")]
)
def test_a_time_that_has_passed(passed: float, words: str) -> None:
    assert took(passed) == words


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (0, "10 s"),
        (44, "40 s"),
        (89, "90 s"),
        (95, "2 min"),
        (700, "12 min"),
        (5000, "83 min"),
        (5399, "1 h 30 min"),
        (7100, "2 h"),
        (8000, "2 h 10 min"),
    ],
)
def test_a_time_that_is_left_is_no_more_exact_than_it_can_be(left: float, words: str) -> None:
    assert about(left) == words
