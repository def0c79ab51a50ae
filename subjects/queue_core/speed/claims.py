"""Claims of one job out of a table of a given size: how long they take, and how many pages they touch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, LiteralString

import psycopg
from psycopg.rows import scalar_row

from bench.postgres import sql
from queue_core import Job, Queue
from queue_core.place import HEAD

WORKER, LEASE = "speed", 30.0
LOOKS = 5
"""How many plans are asked for, of which the median is taken."""

State = Literal["queued", "done"]

FILL: LiteralString = """
    INSERT INTO jobs (kind, state, attempt, claim, run_at, turn, created_at, updated_at, finished_at)
    SELECT 'noop', %(state)s, ended, ended, due, due, due, due, CASE ended WHEN 1 THEN due END
    FROM (
        SELECT now() - interval '2 hours' + number * interval '100 microseconds' AS due,
               (%(state)s = 'done')::int AS ended
        FROM generate_series(1, %(rows)s) AS number
    ) AS rows
"""
"""Jobs as if they had been put in one after the other two hours ago; the done ones done by now."""

SIZES: LiteralString = """
    SELECT relname, pg_relation_size(oid) FROM pg_class
    WHERE oid = 'jobs'::regclass OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'jobs'::regclass)
    ORDER BY 1
"""


class GrowthError(Exception):
    """A queue did not give the jobs that are in it."""


@contextmanager
def opened(dsn: str) -> Iterator[Queue]:
    """A queue over a connection of its own, in autocommit mode."""
    with sql.connect(dsn) as connection:
        yield Queue(connection)


@contextmanager
def old_snapshot(dsn: str) -> Iterator[None]:
    """A transaction that has read, and keeps what it has seen from being cleaned up, until the end."""
    with sql.connect(dsn) as connection:
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT count(*) FROM jobs")
        yield


def fill(queue: Queue, state: State, rows: int) -> None:
    """A table of so many jobs and no others, vacuumed and analyzed."""
    connection = queue.connection
    connection.execute(queue.TABLE)
    connection.execute("TRUNCATE jobs")
    connection.execute(FILL, {"state": state, "rows": rows})
    queue.install()  # the indexes after the rows, where there are none yet: much quicker
    connection.execute("VACUUM ANALYZE jobs")


def claim(queue: Queue, limit: int = 1) -> tuple[list[Job], float]:
    """Claim jobs and finish them. Returns them, and the milliseconds of the claim. Raises GrowthError."""
    began = time.perf_counter()
    jobs = queue.claim(WORKER, limit, LEASE)
    took = (time.perf_counter() - began) * 1e3
    if not jobs or queue.complete(WORKER, jobs) != set(jobs):
        raise GrowthError(f"a claim of {limit} brought {len(jobs)} jobs, or they could not be finished")
    return jobs, took


def steady(queue: Queue, claims: int) -> list[float]:
    """Milliseconds of so many claims of one job, before each of which one is put in, so that as many stay."""
    taken = []
    for _ in range(claims):
        queue.enqueue("noop")
        taken.append(claim(queue)[1])
    return taken


def churn(queue: Queue, jobs: int, batch: int) -> None:
    """Claim and finish so many jobs, a batch at a time."""
    while jobs > 0:
        jobs -= len(claim(queue, min(batch, jobs))[0])


def plan(queue: Queue, place: Mapping[str, Any] = HEAD) -> dict[str, Any]:
    """How PostgreSQL carries out a claim of one job from a place on, with what it takes: EXPLAIN's tree.

    It leaves the job queued.
    """
    params = {"worker": WORKER, "limit": 1, "lease": LEASE, "queue": "default", "version": 1, **place}
    connection = queue.connection
    with connection.transaction(force_rollback=True), connection.cursor(row_factory=scalar_row) as cursor:
        queue.enqueue("noop")
        [[tree]] = cursor.execute("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + queue.CLAIM, params).fetchall()
    found: dict[str, Any] = tree["Plan"]
    return found


def buffers(tree: Mapping[str, Any]) -> int:
    """The pages that a plan touched, those of its parts included."""
    return int(tree["Shared Hit Blocks"]) + int(tree["Shared Read Blocks"])


def indexes(tree: Mapping[str, Any]) -> set[str]:
    """The indexes that a plan reads."""
    own = {tree["Index Name"]} if "Index Name" in tree else set()
    return own.union(*map(indexes, tree.get("Plans", ())))


def touched(queue: Queue, place: Mapping[str, Any] = HEAD) -> float:
    """The buffers of a claim of one job, from the head of the queue or from a place on."""
    return statistics.median(buffers(plan(queue, place)) for _ in range(LOOKS))


def figures(taken: Sequence[float], mark: str = "") -> dict[str, float]:
    """p50 and p99 of claims, in milliseconds, each name with a mark."""
    points = statistics.quantiles(taken, n=100, method="inclusive")
    return {f"p50{mark}": points[49], f"p99{mark}": points[98]}


def sizes(connection: psycopg.Connection) -> dict[str, int]:
    """Bytes of the table and of each of its indexes."""
    return dict(connection.execute(SIZES).fetchall())
