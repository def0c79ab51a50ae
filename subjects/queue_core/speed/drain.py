"""How fast no-op jobs that wait are run, against the same statements in pgbench: what the worker itself costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from bench.speed.figures import (
    Cell,
    Chart,
    Goal,
    Measure,
    Point,
    Result,
    Sample,
    Spread,
    Table,
    alternate,
    noise,
    ratio,
    spread,
)
from bench.speed.ground import Ground
from bench.speed.queues import Drain, Setting
from subjects.queue_core.speed.limit import Limit

CORE, LIMIT = "queue_core", "pgbench"
GOAL = 0.75
BATCHES = (1, 10, 100)
SIDES = [Setting(workers, None, durable) for durable in (False, True) for workers in (1, 2)]

Taken = Mapping[Setting, Sequence[Sample]]


def run(ground: Ground) -> Result:
    """Raises Missing where there is no pgbench."""
    core, limit = Drain(ground, CORE), Limit(ground)
    taken = {
        setting: _samples(ground, core, limit, setting)
        for setting in (replace(side, batch=batch) for side in SIDES for batch in BATCHES)
    }
    shares = {setting: ratio(samples, "rate", CORE, LIMIT) for setting, samples in taken.items()}
    return Result(
        "drain",
        {CORE: core.settings, LIMIT: "-n -M prepared, the core's own CLAIM and COMPLETE"},
        [_table(side, taken) for side in SIDES],
        [_chart(shares)],
        [
            Goal(f"of pgbench with the same statements, {setting.words}", "at least", GOAL, share.middle)
            for setting, share in shares.items()
            if setting.batch == BATCHES[-1]
        ],
        raw=[
            {"setting": asdict(setting), "samples": [asdict(sample) for sample in samples]}
            for setting, samples in taken.items()
        ],
    )


def _samples(ground: Ground, core: Drain, limit: Limit, setting: Setting) -> list[Sample]:
    jobs = core.amount(setting)
    contenders = [
        core.contender(setting, jobs),
        limit.contender(setting, jobs),
        core.contender(setting, jobs, again=True),
    ]
    return alternate(contenders, ground.rounds, lambda text: ground.tell(f"{setting.words}: {text}"))


def _table(side: Setting, taken: Taken) -> Table:
    columns = ("batch", "jobs/s", "from", "to", "pgbench, jobs/s", "share of it", "from", "to", "noise, factor")
    rows: list[list[Cell]] = []
    for batch in BATCHES:
        samples = taken[replace(side, batch=batch)]
        most = spread(samples, LIMIT, "rate").middle
        own, share = spread(samples, CORE, "rate"), ratio(samples, "rate", CORE, LIMIT)
        rows.append([str(batch), *_cells(own), most, *_cells(share), noise(samples, "rate", CORE)])
    return Table(f"{side.words[0].upper()}{side.words[1:]}", columns, rows)


def _cells(of: Spread) -> tuple[float, float, float]:
    return of.middle, of.low, of.high


def _chart(shares: Mapping[Setting, Spread]) -> Chart:
    lines = {side.words: [Point(str(batch), shares[replace(side, batch=batch)]) for batch in BATCHES] for side in SIDES}
    title = "Drain of no-op jobs, as a share of what pgbench does with the same statements, by jobs a claim"
    return Chart("drain", title, "of pgbench", "lines", lines)


ABOUT = """\
Pre-enqueued no-op jobs, run by queue_core as shipped and by pgbench with its very statements, in turn: one or two
worker processes (clients), 1, 10 or 100 jobs a claim, with and without synchronous_commit. A queue's rate goes from the
start of its first handler to the end of its last one."""

MEASURE = Measure("drain", ABOUT, run)
