"""A small queue in a file of SQLite, which is called as docs/protocol.md's smallest adapter calls one."""

from __future__ import annotations

import json
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any

__version__ = "1.0"

CLAIM = """UPDATE jobs SET state = 'taken', until = :now + :lease, attempt = attempt + 1 WHERE id = (
    SELECT min(id) FROM jobs WHERE state = 'new' OR state = 'taken' AND until < :now
) RETURNING id, payload, attempt"""


class Queue:
    def __init__(self, path: str) -> None:
        self._database = sqlite3.connect(path, isolation_level=None, timeout=60)

    def create(self) -> None:
        columns = (
            "id INTEGER PRIMARY KEY, payload TEXT, state TEXT DEFAULT 'new', until REAL, attempt INTEGER DEFAULT 0"
        )
        self._database.execute(f"CREATE TABLE jobs ({columns})")

    def put(self, payload: dict[str, Any]) -> int:
        (id,) = self.ask("INSERT INTO jobs (payload) VALUES (:payload) RETURNING id", payload=json.dumps(payload))
        return int(id)

    def state(self, id: int) -> str | None:
        return next(iter(self.ask("SELECT state FROM jobs WHERE id = :id", id=id)), None)

    def ask(self, statement: str, **values: Any) -> tuple[Any, ...]:
        """The first row, empty when there is none."""
        return next(iter(self._database.execute(statement, values).fetchall()), ())


def connect(path: str) -> Queue:
    return Queue(path)


class Worker:
    def __init__(self, queue: Queue, handler: Callable[[dict[str, Any], int], None], lease: float) -> None:
        self._queue, self._handler, self._lease = queue, handler, lease
        self._stopping = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: self._stopping.set())

    def run(self) -> None:
        while not self._stopping.is_set():
            job = self._queue.ask(CLAIM, now=time.time(), lease=self._lease)
            if job:
                self._work(*job)
            else:
                self._stopping.wait(0.02)

    def _work(self, id: int, payload: str, attempt: int) -> None:
        try:
            self._handler(json.loads(payload), attempt)
            state = "ok"
        except Exception as error:  # noqa: BLE001 - whatever it is, the job has failed
            print(error, flush=True)
            state = "dead"
        self._queue.ask("UPDATE jobs SET state = :state WHERE id = :id", state=state, id=id)
