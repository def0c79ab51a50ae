"""What a job costs: CPU of the worker and of the server, WAL, and what memory a worker ends up with."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Any

import psutil
import psycopg

from bench.postgres import sql
from bench.speed.figures import (
    AGAIN,
    Cell,
    Chart,
    Contender,
    Measure,
    Point,
    Result,
    Sample,
    Spread,
    Table,
    alternate,
    compared,
    noise,
    ratio,
    spread,
)
from bench.speed.ground import Ground
from bench.speed.handlers import MARKS
from bench.speed.shipped import fill, install, workers

BATCHES = (1, 10, 100)
JOBS = 100_000
WITHIN = 900.0
"""Seconds that the jobs of one round may take."""

COSTS = {"worker": "us", "server": "us", "WAL": "bytes"}
"""What a job costs, and in what."""

TOP = 6
"""Statements that are shown."""

STATEMENTS = """
    SELECT query, calls, rows, total_exec_time FROM pg_stat_statements
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    ORDER BY total_exec_time DESC LIMIT %s
"""

BACKENDS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


def run(ground: Ground) -> Result:
    """Raises Stuck where a worker does not get to its end."""
    jobs = ground.amount(JOBS, 500)
    contenders = [
        Contender(name(batch), f"slots 1, prefetch {2 * batch - 1}", partial(drain, ground, jobs, batch))
        for batch in BATCHES
    ]
    best = name(BATCHES[-1])
    again = Contender(best + AGAIN, contenders[-1].settings, contenders[-1].run)
    samples = alternate([*contenders, again], ground.rounds, ground.tell)
    ground.tell("once more, for the statements")
    settings = {each.name: each.settings for each in contenders}
    return result(jobs, samples, statements(ground, jobs, BATCHES[-1]), settings)


def result(jobs: int, samples: Sequence[Sample], statements: Table, settings: Mapping[str, str]) -> Result:
    """What the rounds, of so many jobs each, have shown."""
    every = {
        "all": f"{jobs} no-op jobs, put in before; synchronous_commit off; lease 30 s, all else as shipped",
        "server": "all its processes, autovacuum's and those that ended meanwhile included",
    }
    return Result(
        "cost",
        {**settings, **every},
        [_costs(samples), _compared(samples), _memory(samples, jobs), statements],
        [_chart(samples)],
        raw={"jobs": jobs, "samples": [asdict(sample) for sample in samples]},
    )


def name(batch: int) -> str:
    return f"batch {batch}"


def drain(ground: Ground, jobs: int, batch: int) -> dict[str, float]:
    """One worker does so many jobs: what one cost, and how much memory the worker had at which time, in bytes."""
    with ground.database(synchronous_commit=False) as dsn, sql.session(dsn) as connection:
        install(ground, dsn)
        fill(connection, "noop", jobs)
        before = _server(ground, connection)
        marks = _work(ground, dsn, connection, jobs, batch)
        after = _server(ground, connection)
    first, tenth, end = marks
    per = {key: (after[key] - before[key]) / jobs for key in before}
    memory = {
        "before": first["resident"],
        "tenth": tenth["resident"],
        "after": end["resident"],
    }
    worker = (end["cpu"] - first["cpu"]) / jobs
    costs = {"worker": worker * 1e6, "server": per["cpu"] * 1e6, "WAL": per["wal"]}
    return costs | {key: value for key, value in memory.items() if value is not None}


def _work(ground: Ground, dsn: str, connection: psycopg.Connection, jobs: int, batch: int) -> list[dict[str, Any]]:
    """Have all done by one worker: what it had used at its first job, after a tenth of them, and at its end."""
    with workers(ground, dsn, more={MARKS: f"0,{jobs // 10}"}) as crew:
        crew.start("--prefetch", str(2 * batch - 1))  # so claims are of `batch` jobs: half of what may be held
        crew.until_done(connection, WITHIN)
        crew.stop()
        while connection.execute(BACKENDS).fetchall() != [(0,)]:  # so that the server has counted them
            time.sleep(0.01)
        return [json.loads(line) for line in crew.said.read_text().splitlines()]


def _server(ground: Ground, connection: psycopg.Connection) -> dict[str, float]:
    """CPU seconds and bytes of WAL that the server has used so far, without this connection's own."""
    [[wal]] = connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchall()
    postmaster = ground.server.postmaster()
    assert postmaster is not None, "it is ours, and it just answered"
    return {"cpu": cpu_seconds(postmaster, but=connection.info.backend_pid), "wal": float(wal)}


def cpu_seconds(postmaster: int, but: int) -> float:
    """Of a server so far. What ended processes of it used is told with the postmaster's, which waited for them."""
    parent = psutil.Process(postmaster)
    used = sum(parent.cpu_times()[:4])  # user and system, its own and its dead children's
    for child in parent.children():
        with suppress(psutil.NoSuchProcess):
            used += 0.0 if child.pid == but else sum(child.cpu_times()[:2])
    return float(used)


def statements(ground: Ground, jobs: int, batch: int) -> Table:
    """The statements that took most of the server's time, by its own books."""
    with ground.database(synchronous_commit=False) as dsn, sql.session(dsn) as connection:
        install(ground, dsn)
        connection.execute("CREATE EXTENSION pg_stat_statements")
        fill(connection, "noop", jobs)
        connection.execute(f"ALTER DATABASE \"{connection.info.dbname}\" SET pg_stat_statements.track = 'top'")
        _work(ground, dsn, connection, jobs, batch)
        found = connection.execute(STATEMENTS, [TOP]).fetchall()
    rows: list[Sequence[Cell]] = [
        [_short(query), calls, rows, milliseconds, milliseconds / jobs * 1e3]
        for query, calls, rows, milliseconds in found
    ]
    columns = ("statement", "calls", "rows", "ms in all", "us a job")
    note = "by pg_stat_statements, in a round of its own that is not timed"
    return Table(f"What the server does with {name(batch)}", columns, rows, note)


def _short(query: str, most: int = 90) -> str:
    """A statement's beginning, on one line."""
    line = " ".join(query.split())
    return line if len(line) <= most else line[: most - 3] + "..."


def _costs(samples: Sequence[Sample]) -> Table:
    columns = ["", *(f"{cost}, {unit} a job{part}" for cost, unit in COSTS.items() for part in ("", ", from", ", to"))]
    rows: list[Sequence[Cell]] = []
    for contender in map(name, BATCHES):
        spreads = [spread(samples, contender, cost) for cost in COSTS]
        rows.append([contender, *(figure for each in spreads for figure in (each.middle, each.low, each.high))])
    return Table("What a job costs", columns, rows)


def _compared(samples: Sequence[Sample]) -> Table:
    """How much more the smaller claims cost."""
    best = name(BATCHES[-1])
    rows: list[Sequence[Cell]] = []
    for cost in COSTS:
        within = noise(samples, cost, best)
        for contender in map(name, BATCHES[:-1]):
            of = ratio(samples, cost, contender, best)
            rows.append([cost, contender, of.middle, of.low, of.high, within, compared(of, within)])
    columns = ("cost", "", "times", "from", "to", "noise, a factor of", "so")
    return Table(f"How many times what it costs with {best}", columns, rows)


def _memory(samples: Sequence[Sample], jobs: int) -> Table:
    columns = ("", "before the first job, MiB", f"after {jobs // 10}, MiB", f"after {jobs}, MiB", "growth, bytes a job")
    rows: list[Sequence[Cell]] = []
    for contender in map(name, BATCHES):
        mine = [sample.figures for sample in samples if sample.contender == contender]
        if not all("after" in figures for figures in mine):
            rows.append([contender, None, None, None, None])
            continue
        sizes: list[Cell] = [spread(samples, contender, when).middle / 2**20 for when in ("before", "tenth", "after")]
        growth = Spread.of((figures["after"] - figures["tenth"]) / (jobs - jobs // 10) for figures in mine)
        rows.append([contender, *sizes, growth.middle])
    note = f"growth: from {jobs // 10} jobs to {jobs}; a worker that kept something of each job would show it here"
    return Table("Resident memory of a worker", columns, rows, note)


def _chart(samples: Sequence[Sample]) -> Chart:
    series: Mapping[str, Sequence[Point]] = {
        side: [Point(str(batch), spread(samples, name(batch), side)) for batch in BATCHES]
        for side in ("worker", "server")
    }
    return Chart("cost", "CPU that a no-op job costs, by jobs a claim", "us a job", "bars", series)


ABOUT = """\
What one no-op job costs: CPU of one worker of queue_core as shipped and of the server, and WAL, with claims of 1, 10
and 100 jobs; the worker's memory before the first job, after a tenth of them and after all; and the statements that
take most of the server's time."""

MEASURE = Measure("cost", ABOUT, run)
