"""How fast the bench itself is: the matrix against its longest arm and its CPU, a scenario against its leases."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from bench.speed import own_clone, own_cpu
from bench.speed.command import Ran, leaseproof, matrix
from bench.speed.figures import (
    Cell,
    Chart,
    Contender,
    Goal,
    Measure,
    Missing,
    Point,
    Result,
    Sample,
    Spread,
    Table,
    alternate,
    spread,
)
from bench.speed.ground import Ground

MATRIX = "matrix"
MATRIX_GOAL, SCENARIO_GOAL = 1.25, 1.3


@dataclass(frozen=True)
class Wait:
    """What a scenario must wait for: its longest `arm`, and for how many leases that waits, `why`, part by part."""

    arm: str
    parts: Mapping[str, float]

    @property
    def leases(self) -> float:
        return sum(self.parts.values())


MUST_WAIT = {
    "worker-death": Wait(
        "ReclaimFindsNothing-fault",
        {
            "the kill comes half a lease after the job's start": 1 / 2,
            "the lease runs out: the last renewal was at most a third of a lease before the kill": 2 / 3,
            "the reclaim gave nothing back, and a finish is waited for that does not come": 3.0,
        },
    ),
    "heartbeat": Wait("sound-fault", {"the job lasts for three leases": 3.0}),
    "sigterm-drain": Wait(
        "sound-sham",
        {
            "the job lasts for three leases": 3.0,
            "nobody told the worker to stop, and its exit is waited for that does not come": 2.0,
        },
    ),
    "claim-race": Wait(
        "sound-fault", {"the bench holds the row, and gives whoever would wait for it half a lease to do so": 1 / 2}
    ),
}
"""By scenario. All its arms run side by side, so the longest counts; what takes no lease's time is left out."""


def run(ground: Ground) -> Result:
    """Raises CommandFailed where the bench itself fails."""
    names = list(MUST_WAIT)[: ground.amount(len(MUST_WAIT))]
    runs: list[Ran] = []  # of the matrix, for what became of its CPU
    contenders = [
        Contender(MATRIX, " ".join(matrix(ground)), partial(_whole, ground, runs)),
        *(Contender(name, f"run {name}", partial(_scenario, ground, name)) for name in names),
    ]
    samples = alternate(contenders, ground.rounds, ground.tell)
    probes = own_cpu.measured(ground)
    missing = [] if is_full(ground) else ["the whole matrix, and a fresh clone: only at scale 1"]
    clones: list[Sample] = []
    if is_full(ground):
        try:
            clones = own_clone.measured(ground)
        except Missing as why:
            missing.append(f"a fresh clone: {why}")
    return Result(
        "own",
        {each.name: f"leaseproof {each.settings}" for each in contenders} | {"cores": f"{cores()}"},
        [
            _matrix_table(samples),
            _scenario_table(samples, names),
            _waits(names),
            *own_cpu.tables(runs[-1], probes),
            *([own_clone.table(clones)] if clones else []),
        ],
        [_chart(samples, names), *([own_clone.chart(clones)] if clones else [])],
        _goals(samples, names, is_full(ground)),
        missing,
        {
            "runs": [asdict(s) for s in samples],
            "probes": [asdict(s) for s in probes],
            "clones": list(map(asdict, clones)),
        },
    )


def is_full(ground: Ground) -> bool:
    """Whether the whole matrix is run."""
    return list(matrix(ground)) == [MATRIX]


def cores() -> int:
    return os.cpu_count() or 1


def _whole(ground: Ground, runs: list[Ran]) -> dict[str, float]:
    ran = leaseproof(ground, *matrix(ground))
    for earlier in runs:
        earlier.discard()
    runs[:] = [ran]
    return whole(ran, cores())


def whole(ran: Ran, cores: int) -> dict[str, float]:
    """How much longer a run of many arms took than it had to: as its longest arm, or as its CPU seconds need."""
    longest = max(arm["seconds"] for arm in ran.arms)
    wall, cpu = ran.data["wall_seconds"], ran.data["cpu_seconds"]
    figures = {"wall": wall, "longest": longest, "cpu": cpu, "process": ran.seconds}
    return figures | {"times": wall / max(longest, cpu / cores)}


def _scenario(ground: Ground, name: str) -> dict[str, float]:
    ran = leaseproof(ground, "run", name)
    ran.discard()
    return one(ran, MUST_WAIT[name])


def one(ran: Ran, wait: Wait) -> dict[str, float]:
    """How much longer a run of one scenario took than the leases that it must wait for."""
    wall, must = ran.data["wall_seconds"], wait.leases * ran.data["lease"]
    longest = max(arm["seconds"] for arm in ran.arms)
    return {"wall": wall, "must": must, "longest": longest, "cpu": ran.data["cpu_seconds"], "times": wall / must}


def _of(samples: Sequence[Sample], name: str, *figures: str) -> list[Cell]:
    """Middles of figures; and of `times`, which is last, the range as well."""
    times = spread(samples, name, "times")
    return [*(spread(samples, name, each).middle for each in figures), times.middle, times.low, times.high]


def _matrix_table(samples: Sequence[Sample]) -> Table:
    columns = ("", "wall, s", "longest arm, s", "CPU, s", "the process, s", "wall / what it needs", "from", "to")
    note = f"It needs as long as its longest arm, or its CPU seconds on {cores()} cores, whichever is more."
    row = [MATRIX, *_of(samples, MATRIX, "wall", "longest", "cpu", "process")]
    return Table("All scenarios", columns, [row], note)


def _scenario_table(samples: Sequence[Sample], names: Sequence[str]) -> Table:
    columns = ("scenario", "wall, s", "must wait, s", "longest arm, s", "CPU, s", "wall / must wait", "from", "to")
    rows = [[name, *_of(samples, name, "wall", "must", "longest", "cpu")] for name in names]
    return Table("One scenario, all its arms", columns, rows, "wall: the server's start and all ends included")


def _waits(names: Sequence[str]) -> Table:
    rows: list[Sequence[Cell]] = [
        [name, MUST_WAIT[name].arm, leases, why] for name in names for why, leases in MUST_WAIT[name].parts.items()
    ]
    return Table("What a scenario must wait for", ("scenario", "longest arm", "leases", "since"), rows)


def _chart(samples: Sequence[Sample], names: Sequence[str]) -> Chart:
    points: list[Point] = [Point(name, spread(samples, name, "times")) for name in (MATRIX, *names)]
    return Chart("own", "How much longer a run takes than it must", "times", "bars", {"wall / least": points})


def _goals(samples: Sequence[Sample], names: Sequence[str], full: bool) -> list[Goal]:
    def times(name: str) -> Spread:
        return spread(samples, name, "times")

    return [
        Goal(
            "full matrix: wall / max(longest arm, CPU seconds / cores)",
            *("at most", MATRIX_GOAL, times(MATRIX).middle if full else None),
        ),
        *(
            Goal(f"{name}: wall / the leases that it must wait for", "at most", SCENARIO_GOAL, times(name).middle)
            for name in names
        ),
    ]


ABOUT = """\
The bench's own command: the full matrix against its longest arm and its CPU seconds; one scenario against the leases
that it must wait for; where its CPU goes; and the time from `make scenario-worker-death` in a fresh clone to the first
observation."""

MEASURE = Measure("own", ABOUT, run)
