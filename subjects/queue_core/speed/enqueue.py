"""How fast jobs are put in: the core's calls against the very same statement in pgbench, and what lies between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from bench.postgres import sql
from bench.speed.figures import (
    AGAIN,
    Cell,
    Chart,
    Contender,
    Goal,
    Measure,
    Point,
    Result,
    Sample,
    Table,
    alternate,
    compared,
    noise,
    ratio,
    spread,
)
from bench.speed.ground import Ground
from queue_core import Queue
from subjects.queue_core.speed.puts import JOB, Lot, Place, copy, parameters

CORE, DRIVER, COPIED, LIMIT = "queue_core", "psycopg", "psycopg, COPY with ids", "psql, COPY"
MODES = ("prepared", "extended")
GOAL = 0.9


def run(ground: Ground) -> Result:
    """Raises Missing where there is no pgbench or psql."""
    single = Lot("One job a call", ground.amount(2000, 20), 1)
    many = Lot("1000 jobs a call, their ids returned", ground.amount(50, 2), 1000)
    with ground.database() as dsn:
        with sql.connect(dsn) as connection:
            Queue(connection).install()
        those = {lot: contenders(Place(ground, dsn, lot)) for lot in (single, many)}
        taken = {lot: _taken(ground, lot, each) for lot, each in those.items()}
    return Result(
        "enqueue",
        {each.name: each.settings for each in those[many]} | {"synchronous_commit": "on"},
        [_table(lot, those[lot], samples) for lot, samples in taken.items()],
        [
            _chart("enqueue", those[single], taken[single], single),
            _chart("enqueue-many", those[many], taken[many], many),
        ],
        [*(_goal(lot, samples) for lot, samples in taken.items()), _copy_goal(taken[many])],
        raw=[{"lot": asdict(lot), "samples": [asdict(each) for each in samples]} for lot, samples in taken.items()],
    )


def _taken(ground: Ground, lot: Lot, those: Sequence[Contender]) -> list[Sample]:
    return alternate(those, ground.rounds, lambda text: ground.tell(f"{lot.words}: {text}"))


def contenders(place: Place) -> list[Contender]:
    """All that put a lot in there."""
    size = place.lot.size
    given = parameters(size)
    if size == 1:
        core = partial(place.calls, lambda queue: queue.enqueue(JOB.kind, JOB.payload))
    else:
        core = partial(place.calls, lambda queue: queue.enqueue_many([JOB] * size))
    driver = partial(place.calls, lambda queue: queue.connection.execute(queue.ENQUEUE, given).fetchall())
    found = [
        Contender(CORE, "Queue.enqueue and Queue.enqueue_many, in autocommit mode", core),
        Contender(DRIVER, "the same statement and parameters by execute() and fetchall()", driver),
        *(Contender(_bench(mode), f"the same, 1 client, -n -M {mode}", partial(place.pgbench, mode)) for mode in MODES),
        Contender(CORE + AGAIN, "the first once more, from which noise is told", core),
    ]
    if size > 1:
        drawn = partial(place.calls, lambda queue: copy(queue, size))
        found += [
            Contender(COPIED, "ids drawn, rows copied, the queue announced: which the core does not do yet", drawn),
            Contender(LIMIT, "the same rows, ids included, copied and no more", place.psql),
        ]
    return found


def _bench(mode: str) -> str:
    return f"pgbench, {mode}"


def _reference(samples: Sequence[Sample]) -> str:
    """pgbench in the mode in which it is the faster one."""
    return max(map(_bench, MODES), key=lambda name: spread(samples, name, "rate").middle)


def _table(lot: Lot, those: Sequence[Contender], samples: Sequence[Sample]) -> Table:
    reference, within = _reference(samples), noise(samples, "rate", CORE)
    columns = ("", "jobs/s", "from", "to", f"share of {reference}", "from", "to", "beyond the noise?")
    rows: list[list[Cell]] = []
    for name in (each.name for each in those):
        rate, share = spread(samples, name, "rate"), ratio(samples, "rate", name, reference)
        told = "" if name == reference else compared(share, within)
        rows.append([name, rate.middle, rate.low, rate.high, share.middle, share.low, share.high, told])
    return Table(lot.words, columns, rows, f"Noise: two runs of {CORE} in a round differ by a factor of {within:.2f}.")


def _chart(name: str, those: Sequence[Contender], samples: Sequence[Sample], lot: Lot) -> Chart:
    points = [Point(each.name, spread(samples, each.name, "rate")) for each in those if AGAIN not in each.name]
    return Chart(name, f"Jobs put in: {lot.words[0].lower()}{lot.words[1:]}", "jobs/s", "bars", {"": points})


def _goal(lot: Lot, samples: Sequence[Sample]) -> Goal:
    reference = _reference(samples)
    floor = ratio(samples, "rate", DRIVER, reference).middle
    why = f"the driver alone, with the same statement and parameters, comes to {floor:.2f}"
    text = f"{lot.words}: of the same statement in {reference}"
    return Goal(text, "at least", GOAL, ratio(samples, "rate", CORE, reference).middle, why)


def _copy_goal(samples: Sequence[Sample]) -> Goal:
    might = ratio(samples, "rate", COPIED, LIMIT).middle
    why = f"the core has no COPY yet; one that draws ids and announces, from Python, would come to {might:.2f}"
    return Goal("COPY, 1000 jobs a call: of a bare COPY in psql", "at least", GOAL, None, why)


ABOUT = """\
Jobs put in by one connection, each call a transaction of its own that is on disk before it returns: by queue_core, by
psycopg with the very same statement and parameters, and by pgbench with them; and the same rows by COPY, in turn."""

MEASURE = Measure("enqueue", ABOUT, run)
