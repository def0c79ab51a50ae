"""What is said of the growth that was measured: its tables, pictures and goals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from bench.speed.figures import (
    AGAIN,
    Cell,
    Chart,
    Goal,
    Point,
    Sample,
    Spread,
    Table,
    compared,
    noise,
    ratio,
    spread,
)
from queue_core import NewJob
from subjects.queue_core.speed.claims import State

NOOP = NewJob("noop")
EMPTY = "empty"
SNAPSHOT_FREE, OLD = "no old snapshot", "an old snapshot held open"
QUIET, RETAINED = "no retention", "retention running"
CLAIMERS = (1, 2, 4, 8, 16, 32, 64)
LIMIT = 10**6
"""Rows up to which a claim is meant to be flat."""
FLAT, FLAT_UNDER_OLD = 1.2, 2.0
STEPS = 10
"""Looks while jobs churn, besides the one before."""


@dataclass(frozen=True)
class Churned:
    """How many jobs churned, and what was seen on the way."""

    jobs: int
    samples: Sequence[Sample]

    @property
    def marks(self) -> list[int]:
        """After how many jobs there was a look."""
        return [number * (self.jobs // STEPS) for number in range(STEPS + 1)]


def depth(state: State, rows: int) -> str:
    """The name of a contender: so many rows in a state."""
    return f"{rows:,} {state}"


def at(jobs: int) -> str:
    """Marks a figure that was taken after so many jobs."""
    return f" after {jobs}"


def depth_table(samples: Sequence[Sample], depths: Sequence[int]) -> Table:
    names = [EMPTY, *(depth(state, rows) for state in get_args(State) for rows in depths), EMPTY + AGAIN]
    return _compared("Claims of one job by depth of the table", names, samples, EMPTY)


def crowd_table(samples: Sequence[Sample]) -> Table:
    columns = ("claimers", "jobs/s", "from", "to", "p50, ms", "p99, ms", "times the jobs/s of one", "beyond the noise?")
    within, one = noise(samples, "rate", str(CLAIMERS[0])), str(CLAIMERS[0])
    rows: list[list[Cell]] = []
    for name in _crowds(samples):
        rate, times = spread(samples, name, "rate"), ratio(samples, "rate", name, one)
        points = [spread(samples, name, point).middle for point in ("p50", "p99")]
        told = "" if name == one else compared(times, within)
        rows.append([name, rate.middle, rate.low, rate.high, *points, times.middle, told])
    return Table("Claimers at once, each a process that claims and finishes one job at a time", columns, rows)


def churn_table(churned: Churned) -> Table:
    keys = (*_KEYS, "head")
    words = ("p50, ms", "p99, ms", "buffers, onward", "buffers, from the head")
    columns = ("jobs churned", *(f"{word}: {name}" for name in (SNAPSHOT_FREE, OLD) for word in words))
    rows: list[list[Cell]] = []
    for mark in churned.marks:
        both = [spread(churned.samples, name, key + at(mark)).middle for name in (SNAPSHOT_FREE, OLD) for key in keys]
        times = ratio(churned.samples, "p50" + at(mark), OLD, SNAPSHOT_FREE)
        within = noise(churned.samples, "p50" + at(mark), SNAPSHOT_FREE)
        rows.append([f"{mark:,}", *both, times.middle, times.low, times.high, compared(times, within)])
    more = ("p50, times that without", "from", "to", "beyond the noise?")
    note = "Onward: from where the last claim ended, as claims go on while a look from the head takes long."
    return Table("Claims of one job while others churn", (*columns, *more), rows, note)


def purge_table(samples: Sequence[Sample]) -> Table:
    table = _compared("Claims of one job while old jobs are deleted", [QUIET, RETAINED, QUIET + AGAIN], samples, QUIET)
    deleted = spread(samples, RETAINED, "deleted").middle
    return Table(table.title, table.columns, table.rows, f"{table.note} Deleted in a round: {deleted:,.0f} jobs.")


def bloat_table(found: Mapping[str, Any]) -> Table:
    rows: list[list[Cell]] = []
    for name, after in found["after"].items():
        full = found["full"][name]
        rows.append([name, after / found["rows"], full / found["rows"], after / full if full else None])
    columns = ("", "bytes a row", "after VACUUM FULL", "times as much")
    return Table(f"Room taken by {found['rows']:,} jobs that have come and gone", columns, rows)


def depth_charts(samples: Sequence[Sample], depths: Sequence[int]) -> list[Chart]:
    def lines(figure: str) -> dict[str, list[Point]]:
        none = Point("0", spread(samples, EMPTY, figure))
        return {
            state: [none, *(Point(f"{rows:,}", spread(samples, depth(state, rows), figure)) for rows in depths)]
            for state in get_args(State)
        }

    return [
        Chart("growth-depth", "Claim of one job, p50, by rows in the table", "ms", "lines", lines("p50")),
        Chart(
            "growth-buffers", "Pages that a claim touches, by rows in the table", "buffers", "lines", lines("buffers")
        ),
    ]


def crowd_chart(samples: Sequence[Sample]) -> Chart:
    points = [Point(name, spread(samples, name, "rate")) for name in _crowds(samples)]
    title = "Jobs claimed and finished one by one, by claimers at once"
    return Chart("growth-claimers", title, "jobs/s", "lines", {"": points})


def churn_charts(churned: Churned) -> list[Chart]:
    def lines(figure: str) -> dict[str, list[Point]]:
        return {
            name: [Point(f"{mark:,}", spread(churned.samples, name, figure + at(mark))) for mark in churned.marks]
            for name in (SNAPSHOT_FREE, OLD)
        }

    charts = {
        "growth-snapshot": ("Claim of one job, p50, by jobs churned before", "ms", "p50"),
        "growth-snapshot-buffers": ("Pages that a claim touches, by jobs churned before", "buffers", "buffers"),
        "growth-snapshot-head": ("Pages that a look from the head touches, by jobs churned before", "buffers", "head"),
    }
    return [Chart(name, text, unit, "lines", lines(key), log=True) for name, (text, unit, key) in charts.items()]


def depth_goals(samples: Sequence[Sample], depths: Sequence[int]) -> list[Goal]:
    """The worst of all depths counts."""
    flat = [rows for rows in depths if rows <= LIMIT]
    found = []
    for figure, why in (("p50", _noise(samples, "p50", EMPTY)), ("buffers", _TREES)):
        worst, name = max(
            (ratio(samples, figure, name, EMPTY).middle, name)
            for name in (depth(state, rows) for state in get_args(State) for rows in flat)
        )
        text = f"{figure} of a claim with up to {flat[-1]:,} rows, done or queued: of that in an empty table"
        found.append(Goal(text, "at most", FLAT, worst, f"most with {name}; {why}"))
    return found


def churn_goals(churned: Churned) -> list[Goal]:
    end = at(churned.marks[-1])
    text = f"after {churned.jobs:,} jobs under an old snapshot: of that without one"
    times = {key: ratio(churned.samples, key + end, OLD, SNAPSHOT_FREE).middle for key in ("p50", "buffers", "head")}
    why = f"{_DEAD}; from the head a look touches {times['head']:.1f} times as many pages"
    return [
        Goal(f"p50 of a claim {text}", "at most", FLAT_UNDER_OLD, times["p50"], why),
        Goal(f"buffers of a claim, onward, {text}", "at most", FLAT_UNDER_OLD, times["buffers"], why),
    ]


_KEYS = ("p50", "p99", "buffers")
_FIGURES = ("p50, ms", "p99, ms", "buffers")
_TREES = "an index of more rows has more levels, and each is a page more, however flat the claim is"
_DEAD = "a look passes the entries of all jobs claimed since, which the snapshot keeps in the index"


def _crowds(samples: Sequence[Sample]) -> list[str]:
    there = {sample.contender for sample in samples}
    return [name for name in map(str, CLAIMERS) if name in there]


def _noise(samples: Sequence[Sample], figure: str, name: str) -> str:
    return f"two runs of the empty table in a round differ by a factor of {noise(samples, figure, name):.2f}"


def _compared(title: str, names: Sequence[str], samples: Sequence[Sample], base: str) -> Table:
    within = noise(samples, "p50", base)
    columns = ("", *_FIGURES, f"p50, times that of {base}", "from", "to", "beyond the noise?", "buffers, times")
    rows: list[list[Cell]] = []
    for name in names:
        times, pages = ratio(samples, "p50", name, base), ratio(samples, "buffers", name, base)
        points: list[Spread] = [spread(samples, name, figure) for figure in _KEYS]
        told = "" if name == base else compared(times, within)
        middles = [point.middle for point in points]
        rows.append([name, *middles, times.middle, times.low, times.high, told, pages.middle])
    return Table(
        title, columns, rows, f"Noise: p50 of two runs of {base} in a round differ by a factor of {within:.2f}."
    )
