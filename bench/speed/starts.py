"""A worker's process that tells when it starts each job, and what puts the jobs in.

It is the program `latency.py` or `latency.js` in a subject's folder. It installs the schema in LEASEPROOF_POSTGRES,
prints one line of JSON, {"settings": words, "enqueue": SQL that puts one job in and returns its `id`}, and runs one
worker, whose handler prints its job's id and the monotonic clock at its start, in nanoseconds.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from psycopg.rows import dict_row

from bench.children import kill_tree
from bench.postgres import sql
from bench.speed.ground import Ground
from bench.speed.programs import program
from bench.subject import Subject

WITHIN = 60.0
"""Seconds within which a job must start: a bound for a loaded machine, not an expectation."""


class LatencyError(Exception):
    """A worker did not do its part: names the queue, and has its last words."""


class Line:
    """A worker's process, the connection that puts its jobs in, and when it started each."""

    def __init__(self, name: str, dsn: str, stdout: IO[str], log: Path) -> None:
        self.name = name
        self._log = log
        self._stdout = stdout
        self._starts: dict[str, int] = {}
        self._ended = False
        self._change = threading.Condition()
        first = stdout.readline()
        if not first.startswith("{"):
            raise LatencyError(f"a worker of {name} said {first!r} for its settings: {self._last_words()}")
        told = json.loads(first)
        self.settings: str = told["settings"]
        self._enqueue: bytes = told["enqueue"].encode()
        self.connection = sql.connect(dsn)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._stdout:
            if found := re.fullmatch(r"(\d+) (\d+)\n", line):
                with self._change:
                    self._starts.setdefault(found[1], int(found[2]))
                    self._change.notify_all()
        with self._change:
            self._ended = True
            self._change.notify_all()

    def enqueue(self) -> tuple[str, int]:
        """Put one job in; its id, and this machine's monotonic clock right after the commit, in nanoseconds."""
        with self.connection.cursor(row_factory=dict_row) as cursor:
            cursor.execute(self._enqueue)
            now = time.monotonic_ns()
            [row] = cursor.fetchall()
        return str(row["id"]), now

    def waits(self, jobs: Mapping[str, int]) -> list[float]:
        """Milliseconds from each commit to the start, once all have started. Raises LatencyError."""
        with self._change:
            self._change.wait_for(lambda: self._ended or jobs.keys() <= self._starts.keys(), WITHIN)
            if left := len(jobs.keys() - self._starts.keys()):
                why = "its worker has ended" if self._ended else f"not in {WITHIN:g} s"
                raise LatencyError(f"{self.name} did not start {left} jobs, {why}: {self._last_words()}")
            return [(self._starts[id] - committed) / 1e6 for id, committed in jobs.items()]

    def throughput(self, jobs: int) -> float:
        """Jobs a second that it starts, when they are put in as fast as they can be one by one."""
        ids = dict(self.enqueue() for _ in range(jobs))
        self.waits(ids)
        starts = [self._starts[id] for id in ids]
        return (jobs - 1) / (max(starts) - min(starts)) * 1e9

    def stream(self, jobs: int, rate: float) -> list[float]:
        """Put jobs in at a steady rate a second, and wait for them as waits() does."""
        began, ids = time.monotonic(), {}
        for number in range(jobs):
            time.sleep(max(0.0, began + number / rate - time.monotonic()))
            id, committed = self.enqueue()
            ids[id] = committed
        return self.waits(ids)

    def close(self) -> None:
        """After the worker's end: read what it has left."""
        self.connection.close()
        self._reader.join()

    def _last_words(self) -> str:
        return self._log.read_text(errors="replace").strip()[-2000:]


@contextmanager
def worker(ground: Ground, subject: Subject, name: str) -> Iterator[Line]:
    """A worker of a subject's over a database of its own. Raises Missing, LatencyError."""
    argv = program(subject, "latency")
    log = ground.run_dir.path / f"latency-{name.replace(' ', '-')}.log"
    with ExitStack() as stack:
        dsn = stack.enter_context(ground.database())
        env = ground.environment({"LEASEPROOF_POSTGRES": dsn})
        stderr = stack.enter_context(log.open("ab"))
        process = stack.enter_context(
            subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True)
        )
        line = None
        try:
            assert process.stdout  # it is a pipe
            line = Line(name, dsn, process.stdout, log)
            yield line
        finally:
            kill_tree(process.pid)
            if line is not None:
                line.close()
