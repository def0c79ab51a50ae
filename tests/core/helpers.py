"""Workers on a thread or in a process of their own, and waits with a deadline."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

from psycopg.rows import dict_row

from queue_core import Context, Handler, Job, Observer, Queue, Worker

DEADLINE = 20.0
"""Seconds after which a wait has failed. Nothing waits that long unless it is broken."""


def eventually(condition: Callable[[], object], what: str = "condition") -> None:
    """Wait until something holds."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, f"not within {DEADLINE} s: {what}"
        time.sleep(0.005)


def row(q: Queue, job: int) -> dict[str, Any]:
    """A job's row as the database has it."""
    sql: LiteralString = "SELECT *, leased_until < now() AS expired FROM jobs WHERE id = %s"
    with q.connection.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute(sql, [job]).fetchone()
    assert found is not None
    return found


def expire(q: Queue, job: int) -> None:
    """Wait until a job's lease has expired, in the database's own time."""
    eventually(lambda: row(q, job)["expired"], f"the lease of job {job} expires")


class Recorder(Observer):
    """Keeps what a worker tells, in order."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def ready(self) -> None:
        self.events.append(("ready",))

    def claimed(self, jobs: list[Job]) -> None:
        self.events.append(("claimed", [job.id for job in jobs]))

    def renewed(self, kept: list[Job], lost: list[Job]) -> None:
        self.events.append(("renewed", [job.id for job in kept], [job.id for job in lost]))

    def outcome(self, job: Job, accepted: bool) -> None:
        self.events.append(("outcome", job.id, job.claim, accepted))

    def reclaimed(self, ids: list[int]) -> None:
        self.events.append(("reclaimed", ids))

    def stopping(self) -> None:
        self.events.append(("stopping",))

    def named(self, name: str) -> list[tuple[Any, ...]]:
        return [event for event in self.events if event[0] == name]


class Stage:
    """Handlers for a test to conduct: `hold` runs until it is let go, `quick` ends at once."""

    def __init__(self) -> None:
        self.started: queue.SimpleQueue[tuple[Job, Context]] = queue.SimpleQueue()
        self.starts: list[Job] = []
        self.go = threading.Event()

    @property
    def handlers(self) -> dict[str, Handler]:
        return {"hold": self._hold, "quick": self._quick}

    def next(self) -> tuple[Job, Context]:
        """Wait for the next start of a job."""
        return self.started.get(timeout=DEADLINE)

    def _quick(self, job: Job, context: Context) -> None:
        self.starts.append(job)
        self.started.put((job, context))

    def _hold(self, job: Job, context: Context) -> None:
        self._quick(job, context)
        assert self.go.wait(DEADLINE), "the test never let go"


class Running:
    """A worker that runs on a thread."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.code: int | None = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.code = self.worker.run()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            self.error = error

    def end(self) -> int | None:
        """Wait for the end, and return the exit code."""
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive(), "the worker does not end"
        return self.code


@contextmanager
def running(worker: Worker, stage: Stage | None = None) -> Iterator[Running]:
    """Run a worker meanwhile, and drain it afterwards."""
    run = Running(worker)
    try:
        yield run
    finally:
        if stage is not None:
            stage.go.set()
        if run.code is None and run.error is None:
            worker.stop()
        run.end()


class Process:
    """A worker in a process of its own (see worker_process.py); its events are lines."""

    def __init__(self, dsn: str, **options: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.core.worker_process", dsn, json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid
        self.seen: list[list[Any]] = []
        self._lines: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(json.loads(line))

    def until(self, name: str, *what: Any) -> list[Any]:
        """Wait for the next event that begins so."""
        end = time.monotonic() + DEADLINE
        while True:
            event = self._lines.get(timeout=max(0.0, end - time.monotonic()))
            self.seen.append(event)
            if event[: 1 + len(what)] == [name, *what]:
                return event

    def go(self) -> None:
        """Let held jobs end."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def end(self) -> int:
        """Wait for the end; the exit code, or minus the signal."""
        code = self._process.wait(DEADLINE)
        self._reader.join(DEADLINE)
        while not self._lines.empty():
            self.seen.append(self._lines.get())
        return code

    def close(self) -> None:
        """End it in any case."""
        self._process.kill()
        self.end()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


@contextmanager
def process(dsn: str, **options: Any) -> Iterator[Process]:
    """Run a worker process meanwhile; it is ready when this begins."""
    worker = Process(dsn, **options)
    try:
        worker.until("ready")
        yield worker
    finally:
        worker.close()
