"""The curve of the lease: how arms are counted, and which lease is enough."""

import subprocess
from typing import Any

import pytest

from bench.speed import lease
from bench.speed.figures import Sample
from bench.speed.ground import Ground


def arm(verdict: str, expected: bool = True, tries: int = 1) -> dict[str, Any]:
    return {"verdict": verdict, "as_expected": expected, "tries": tries}


def sample(lease: float = 1.0, number: int = 0, **figures: float) -> Sample:
    usual = {"refused": 0.0, "arms": 200.0, "wall": 9.0, "inconclusive": 0.0, "again": 0.0, "wrong": 0.0, "errors": 0.0}
    return Sample(f"{lease:g} s", number, {**usual, **figures})


def test_where_there_is_no_verdict_none_is_wrong() -> None:
    arms = [
        arm("pass"),
        arm("fail"),
        arm("pass", expected=False),
        arm("fail", expected=False, tries=2),
        arm("inconclusive", expected=False, tries=3),
        arm("error", expected=False),
        arm("unsupported", expected=False),
    ]
    assert lease.counted(arms) == {"inconclusive": 1, "again": 2, "wrong": 2, "errors": 1}


@pytest.mark.parametrize(
    ("samples", "enough"),
    [
        ([sample()], True),
        ([sample(inconclusive=4)], True),
        ([sample(inconclusive=5)], False),
        ([sample(inconclusive=5), sample(number=1)], True),  # of all arms of all runs
        ([sample(), sample(wrong=1)], False),
        ([sample(), Sample("1 s", 1, {"refused": 1.0})], False),
    ],
)
def test_a_lease_is_enough_with_none_wrong_and_few_inconclusive(samples: list[Sample], enough: bool) -> None:
    assert lease.is_enough(samples) == enough


def test_the_result_has_every_lease_and_the_goals_are_for_the_default() -> None:
    leases = sorted(lease.LEASES)
    bad = [Sample("0.25 s", 0, {"refused": 1.0}), sample(0.5, wrong=2, again=20)]
    result = lease.result(["matrix"], [*bad, *(sample(each, inconclusive=2) for each in leases[2:])], leases)
    table = result.tables[0]
    assert [row[0] for row in table.rows] == ["0.25 s", "0.5 s", "1 s", "1.5 s", "2 s"]
    assert [row[table.columns.index("refused")] for row in table.rows] == [1, 0, 0, 0, 0]
    assert [row[table.columns.index("wrong")] for row in table.rows] == [0, 2, 0, 0, 0]
    assert result.settings["shortest that is enough"] == "1 s"
    assert [goal.figure for goal in result.goals] == [0, 0.01]
    assert all(goal.met for goal in result.goals)
    shares = {words: [point.value.middle for point in points] for words, points in result.charts[0].series.items()}
    assert shares == {"inconclusive": [0, 1, 1, 1], "tried again": [10, 0, 0, 0], "wrong": [1, 0, 0, 0]}


def test_goals_have_no_figure_where_every_run_was_refused() -> None:
    result = lease.result(["matrix"], [Sample("1 s", 0, {"refused": 1.0})], [1.0])
    assert [goal.met for goal in result.goals] == [None, None]


def test_busy_loops_end_with_whatever_they_were_beside(tiny: Ground) -> None:
    def interrupted() -> None:
        with lease.busy(tiny, 2) as started:
            loops.extend(started)
            assert all(loop.poll() is None for loop in loops)
            raise KeyboardInterrupt

    loops: list[subprocess.Popen[bytes]] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [loop.returncode for loop in loops] == [-9, -9]
