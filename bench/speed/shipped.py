"""queue_core as shipped, from outside: its own command line, and its table."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg

from bench.children import how, last_words
from bench.speed.ground import Ground

COMMAND = (sys.executable, "-m", "queue_core", "worker", "--handlers", "bench.speed.handlers")
"""A worker, with the handlers of measures."""

LEFT = """
    SELECT EXISTS (SELECT FROM jobs WHERE state = 'queued' ORDER BY queue, turn, id LIMIT 1)
        OR EXISTS (SELECT FROM jobs WHERE state = 'running')
"""
"""Whether anything is left to do. By its order it reads the queue's own index, and not all that is done."""

STOPPED_WITHIN = 60.0
"""Seconds that a worker has to end after SIGTERM, when all jobs are done."""


class Stuck(Exception):
    """Workers made no end of what they had to do: says which, and has their last words."""


def install(ground: Ground, dsn: str) -> None:
    """Make the queue's schema. Raises CalledProcessError."""
    install = [sys.executable, "-m", "queue_core", "install"]
    subprocess.run(install, env=_environment(ground, dsn), check=True, capture_output=True)


def fill(connection: psycopg.Connection, kind: str, jobs: int, max_attempts: int = 3) -> None:
    """Put so many due jobs in, at once, and have the table vacuumed, so that nothing of that falls into a measure."""
    connection.execute(
        "INSERT INTO jobs (kind, max_attempts) SELECT %s, %s FROM generate_series(1, %s)", (kind, max_attempts, jobs)
    )
    connection.execute("VACUUM ANALYZE jobs")


class Workers:
    """Worker processes on one database, all ended at the end: `with workers(...) as crew: crew.start()`.

    What they print is in `said`, what they log in `log`.
    """

    def __init__(self, ground: Ground, dsn: str, command: Sequence[str], more: Mapping[str, str] | None = None) -> None:
        self._command = command
        self._environment = _environment(ground, dsn, more)
        folder = ground.run_dir.folder(f"workers-{time.monotonic_ns()}")
        self.log, self.said = folder / "log", folder / "said"
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        """Start one more."""
        with self.log.open("ab") as log, self.said.open("ab") as said:
            process = subprocess.Popen(
                [*self._command, *options],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=log,
                start_new_session=True,  # a Ctrl-C is the bench's to hear, which then ends them
            )
        self.processes.append(process)
        return process

    def check(self) -> None:
        """Raises Stuck where one has ended that nobody killed."""
        for process in self.processes:
            if (status := process.poll()) and status != -signal.SIGTERM:  # as one that had hardly begun ends on it
                raise Stuck(f"a worker ended {how(status)}{last_words(self.log)}")

    def until_done(self, connection: psycopg.Connection, within: float, every: float = 0.05) -> None:
        """Wait until nothing is left to do, `within` so many seconds. Raises Stuck."""
        deadline = time.monotonic() + within
        while left(connection):
            self.check()
            if time.monotonic() > deadline:
                raise Stuck(f"jobs were left after {within:g} s{last_words(self.log)}")
            time.sleep(every)

    def stop(self) -> None:
        """SIGTERM to all, and wait for their ends. Raises Stuck."""
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(STOPPED_WITHIN)
            except subprocess.TimeoutExpired:
                raise Stuck(f"a worker did not end in {STOPPED_WITHIN:g} s{last_words(self.log)}") from None
        self.check()


@contextmanager
def workers(
    ground: Ground, dsn: str, command: Sequence[str] = COMMAND, more: Mapping[str, str] | None = None
) -> Iterator[Workers]:
    """None is left at the end, whatever happens."""
    crew = Workers(ground, dsn, command, more)
    try:
        yield crew
    finally:
        for process in crew.processes:
            process.kill()
            process.wait()


def left(connection: psycopg.Connection) -> bool:
    """Whether anything is left to do."""
    [[any_left]] = connection.execute(LEFT).fetchall()
    return bool(any_left)


def _environment(ground: Ground, dsn: str, more: Mapping[str, str] | None = None) -> dict[str, str]:
    root = str(Path(__file__).resolve().parents[2])
    return ground.environment({"DATABASE_URL": dsn, "PYTHONPATH": root, "PYTHONSAFEPATH": "1", **(more or {})})
