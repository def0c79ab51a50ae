"""The ways to put jobs in that are compared: the core's calls, its statement elsewhere, and COPY."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg

from bench.postgres import sql
from bench.speed.ground import Ground
from queue_core import NewJob, Queue

WITHIN = 300.0
"""Seconds that one contender may take for a round before it counts as hung."""

JOB = NewJob("noop", {"order": 17})
COPY: LiteralString = """
    COPY jobs (id, kind, payload, version, key, queue, priority, run_at, turn, max_attempts) FROM STDIN
"""
DRAWN: LiteralString = """
    SELECT nextval(sequence), now() FROM pg_get_serial_sequence('jobs', 'id') AS sequence, generate_series(1, %(jobs)s)
"""
"""The ids of jobs that are copied, and when they are due: COPY itself tells neither."""


class EnqueueError(Exception):
    """A contender did not put in what it was asked to: names it, and has its last words."""


@dataclass(frozen=True)
class Lot:
    """So many calls, each a transaction of its own, of so many jobs."""

    words: str
    calls: int
    size: int


@dataclass(frozen=True)
class Place:
    """Where a lot is put in: an empty table each time."""

    ground: Ground
    dsn: str
    lot: Lot

    def calls(self, call: Callable[[Queue], object]) -> dict[str, float]:
        """From this process, by a call of its own for each transaction."""
        with sql.connect(self.dsn) as connection:
            connection.execute("TRUNCATE jobs")
            queue = Queue(connection)
            began = time.perf_counter()
            for _ in range(self.lot.calls):
                call(queue)
            return self._figures(connection, time.perf_counter() - began)

    def pgbench(self, mode: str) -> dict[str, float]:
        """The core's statement in pgbench, with the same parameters, by one client; what it takes by its own clock."""
        defined = [f"-D{name}={value}" for name, value in parameters(self.lot.size).items()]
        script = re.sub(r"%\((\w+)\)s", r":\1", Queue.ENQUEUE.strip()) + ";\n"
        argv = [self.ground.pgbench, "-n", "-M", mode, "-t", str(self.lot.calls), "-f", "-", *defined, self.dsn]
        with sql.connect(self.dsn) as connection:
            connection.execute("TRUNCATE jobs")
            told = self._told(argv, script)
            found = re.search(r"^tps = ([\d.]+) \(without", told, re.MULTILINE)
            if not found:
                raise EnqueueError(f"pgbench told no rate: {told[-2000:]}")
            return self._figures(connection, self.lot.calls / float(found[1]))

    def psql(self) -> dict[str, float]:
        """The same rows by COPY in psql: what PostgreSQL does at most. By the server's clock, after the connecting."""
        now = "SELECT extract(epoch FROM clock_timestamp());\n"
        with sql.connect(self.dsn) as connection:
            connection.execute("TRUNCATE jobs")
            lots = [f"{COPY.strip()};\n{self._rows(connection)}\\.\n" for _ in range(self.lot.calls)]
            argv = [self.ground.psql, "-XqAt", "-v", "ON_ERROR_STOP=1", "-f", "-", self.dsn]
            began, ended = self._told(argv, "".join([now, *lots, now])).split()
            return self._figures(connection, float(ended) - float(began))

    def _rows(self, connection: psycopg.Connection) -> str:
        rows = copied(connection, self.lot.size)
        return "".join("\t".join("\\N" if value is None else str(value) for value in row) + "\n" for row in rows)

    def _told(self, argv: Sequence[Any], script: str) -> str:
        env = self.ground.environment()
        done = subprocess.run(argv, env=env, input=script, capture_output=True, text=True, timeout=WITHIN)
        if done.returncode:
            raise EnqueueError(f"{argv[0]} failed: {done.stderr.strip()[-2000:]}")
        return done.stdout

    def _figures(self, connection: psycopg.Connection, seconds: float) -> dict[str, float]:
        jobs = self.lot.calls * self.lot.size
        [(found,)] = connection.execute("SELECT count(*) FROM jobs WHERE state = 'queued'").fetchall()
        if found != jobs:
            raise EnqueueError(f"{found} jobs were put in, not {jobs}")
        return {"rate": jobs / seconds, "jobs": jobs}


def parameters(jobs: int) -> dict[str, str]:
    """Of Queue.ENQUEUE, for so many jobs: what the core gives it, arrays as PostgreSQL reads them."""
    one = {
        "kinds": JOB.kind,
        "payloads": json.dumps(JOB.payload),
        "versions": JOB.version,
        "keys": JOB.key,
        "queues": JOB.queue,
        "priorities": JOB.priority,
        "delays": JOB.delay,
        "max_attempts": JOB.max_attempts,
    }
    return {name: _array(value, jobs) for name, value in one.items()} | {"aging": "60"}


def _array(value: object, times: int) -> str:
    element = "NULL" if value is None else json.dumps(str(value))
    return "{" + ",".join([element] * times) + "}"


def copied(connection: psycopg.Connection, jobs: int) -> list[tuple[Any, ...]]:
    """So many rows for COPY, their ids drawn beforehand."""
    drawn = connection.execute(DRAWN, {"jobs": jobs}).fetchall()
    body = json.dumps(JOB.payload)
    same = (JOB.kind, body, JOB.version, JOB.key, JOB.queue, JOB.priority)
    return [(id, *same, due, due, JOB.max_attempts) for id, due in drawn]


def copy(queue: Queue, jobs: int) -> list[int]:
    """What the core might do for many jobs without a key: ids drawn, rows copied, the queue announced."""
    with queue.connection.transaction(), queue.connection.cursor() as cursor:
        rows = copied(queue.connection, jobs)
        with cursor.copy(COPY) as lines:
            for row in rows:
                lines.write_row(row)
        cursor.execute("SELECT pg_notify('queue_core', %s)", [JOB.queue])
    return [row[0] for row in rows]
