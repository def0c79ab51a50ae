"""Which lease is long enough: how often the matrix finds no verdict, or a wrong one, on a machine that is busy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any

from bench.speed.command import Refused, leaseproof, matrix
from bench.speed.figures import Cell, Chart, Contender, Goal, Measure, Point, Result, Sample, Table, alternate, spread
from bench.speed.ground import Ground

DEFAULT = 1.0
LEASES = (DEFAULT, 0.25, 0.5, 1.5, 2.0)
"""Seconds; at a smaller scale only the first of them."""

LOOPS = 2
"""Busy loops beside each run."""

INCONCLUSIVE = 0.02
"""The share of arms that may be so."""

SHARES = {"inconclusive": "inconclusive", "again": "tried again", "wrong": "wrong"}
"""Of all arms: the figures of a run, and what they are called."""


def run(ground: Ground) -> Result:
    """Raises CommandFailed where the bench itself fails."""
    leases = sorted(LEASES[: ground.amount(len(LEASES))])
    command = matrix(ground)
    contenders = [
        Contender(name(lease), f"--lease {lease:g}", partial(take, ground, command, lease)) for lease in leases
    ]
    return result(command, alternate(contenders, ground.rounds, ground.tell), leases)


def result(command: Sequence[str], samples: Sequence[Sample], leases: Sequence[float]) -> Result:
    """What the runs of a command have shown, of the shortest lease first."""
    enough = [lease for lease in leases if is_enough(_of(samples, lease))]
    return Result(
        "lease",
        {
            "command": " ".join(["leaseproof", *command]),
            "beside it": f"{LOOPS} busy loops",
            "shortest that is enough": f"{enough[0]:g} s" if enough else "none of these",
        },
        [_table(samples, leases)],
        [_chart(samples, leases)],
        _goals(samples),
        raw=[asdict(sample) for sample in samples],
    )


def name(lease: float) -> str:
    return f"{lease:g} s"


def take(ground: Ground, command: Sequence[str], lease: float) -> dict[str, float]:
    """One run with this lease beside the busy loops."""
    try:
        with busy(ground, LOOPS):
            ran = leaseproof(ground, *command, "--lease", f"{lease:g}")
    except Refused:
        return {"refused": 1.0}
    ran.discard()
    return {"refused": 0.0, "arms": len(ran.arms), "wall": ran.data["wall_seconds"], **counted(ran.arms)}


@contextmanager
def busy(ground: Ground, loops: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """So many processes that take all CPU that they get."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(loops):
            command = [sys.executable, "-c", "while True: pass"]
            processes.append(subprocess.Popen(command, env=ground.environment(), stdin=subprocess.DEVNULL))
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def counted(arms: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """How many arms were inconclusive, were tried again, came out wrong, or met with trouble of the bench's own.

    Wrong is a verdict that is not the one expected; where there is none, none is wrong.
    """
    verdicts = [(arm["verdict"], arm["as_expected"]) for arm in arms]
    return {
        "inconclusive": sum(verdict == "inconclusive" for verdict, _ in verdicts),
        "again": sum(arm["tries"] > 1 for arm in arms),
        "wrong": sum(verdict in ("pass", "fail") and not expected for verdict, expected in verdicts),
        "errors": sum(verdict == "error" for verdict, _ in verdicts),
    }


def is_enough(samples: Sequence[Sample]) -> bool:
    """Whether a lease kept its promise over all of its runs: taken up each time, none wrong, few inconclusive."""
    total = _total(samples)
    return not total["refused"] and not total["wrong"] and total["inconclusive"] <= INCONCLUSIVE * total["arms"]


def _of(samples: Sequence[Sample], lease: float) -> list[Sample]:
    return [sample for sample in samples if sample.contender == name(lease)]


def _total(samples: Sequence[Sample]) -> dict[str, float]:
    """Of all runs together."""
    keys = ("refused", "arms", "errors", *SHARES)
    return {key: sum(sample.figures.get(key, 0.0) for sample in samples) for key in keys}


def _ran(samples: Sequence[Sample]) -> list[Sample]:
    return [sample for sample in samples if not sample.figures["refused"]]


def _table(samples: Sequence[Sample], leases: Sequence[float]) -> Table:
    columns = (
        *("lease", "runs", "refused", "arms"),
        *("inconclusive", "share", "tried again", "share", "wrong", "share", "errors"),
        *("wall, s", "from", "to"),
    )
    rows: list[Sequence[Cell]] = []
    for lease in leases:
        mine = _of(samples, lease)
        total, ran = _total(mine), _ran(mine)
        wall = spread(ran, name(lease), "wall") if ran else None
        shares: list[Cell] = []
        for key in SHARES:
            shares += [int(total[key]), total[key] / total["arms"] if ran else None]
        rows.append(
            [
                *(name(lease), len(mine), int(total["refused"]), int(total["arms"])),
                *(*shares, int(total["errors"])),
                *((wall.middle, wall.low, wall.high) if wall else (None, None, None)),
            ]
        )
    note = (
        "An arm is inconclusive after its third try, each with a lease twice as long; a run is refused where the "
        "machine stalls for more than a tenth of the lease."
    )
    return Table("What comes of the matrix beside busy loops, by the lease", columns, rows, note)


def _chart(samples: Sequence[Sample], leases: Sequence[float]) -> Chart:
    series: dict[str, list[Point]] = {words: [] for words in SHARES.values()}
    for lease in leases:
        ran = _ran(_of(samples, lease))
        for key, words in SHARES.items():
            shares = [
                Sample(name(lease), each.round, {key: each.figures[key] / each.figures["arms"] * 100}) for each in ran
            ]
            if shares:
                series[words].append(Point(name(lease), spread(shares, name(lease), key)))
    title = "Arms with no verdict, or a wrong one, beside two busy loops, by the lease"
    return Chart("lease", title, "% of arms", "lines", series)


def _goals(samples: Sequence[Sample]) -> list[Goal]:
    mine = _of(samples, DEFAULT)
    total, ran = _total(mine), bool(_ran(mine))
    runs = f"{len(mine)} {'run' if len(mine) == 1 else 'runs'}"
    return [
        Goal(f"wrong verdicts with the default lease, {runs}", "at most", 0, total["wrong"] if ran else None),
        Goal(
            f"share of inconclusive arms with the default lease, {runs}",
            *("at most", INCONCLUSIVE, total["inconclusive"] / total["arms"] if ran else None),
        ),
    ]


ABOUT = """\
The whole matrix, beside two busy loops, with leases from a quarter of a second to two: how many arms came out wrong or
without a verdict, and how many had to be tried again. Thirty rounds make the curve by which the default was chosen."""

MEASURE = Measure("lease", ABOUT, run)
