"""The server ends connections of a worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench import backends
from bench.backends import Backend
from bench.events import running
from bench.faults.base import Evidence, Fault, NoReceipt, wait_for
from bench.history import Event

if TYPE_CHECKING:
    from bench.job import Job
    from bench.script import Run
    from bench.subject import Worker


class OnConnections(Fault):
    """A fault that is done to the connections of a worker, or to those of one role: `only` its heartbeat's."""

    def __init__(self, run: Run, worker: Worker, only: str) -> None:
        self.run = run
        self.worker = worker
        self.target = worker.name
        self.only = only

    def victims(self) -> list[Backend]:
        """The backends that it is done to now."""
        return backends.of(self.run.dsn, self.target, self.only)

    def hindrance(self, events: Sequence[Event]) -> str:
        if not self.worker.tree():
            return f"{self.target} is not alive"
        return "" if self.victims() else f"{self.target} has no connection to cut"

    def gone(self, victims: Sequence[Backend]) -> Evidence:
        """Wait until the server has none of them any more. Raises NoReceipt."""
        if not victims:
            raise NoReceipt(f"{self.target} had no connection to cut")
        if not wait_for(lambda: not set(victims) & set(backends.of(self.run.dsn, self.target))):
            raise NoReceipt(f"the server still has the connections of {self.target} that were to be cut")
        return {"pids": [victim.pid for victim in victims], "roles": [victim.role for victim in victims]}


class Cut(OnConnections):
    """pg_terminate_backend on a worker's backends. Receipt: their pids, gone from pg_stat_activity."""

    kind = "cut"

    def __init__(self, run: Run, worker: Worker, during: Job | None = None, only: str = "") -> None:
        super().__init__(run, worker, only)
        self.during = during and during.name

    def hindrance(self, events: Sequence[Event]) -> str:
        if self.during and not running(events, self.during, self.target):
            return f"{self.target} is not in the middle of {self.during}"
        return super().hindrance(events)

    def inject(self) -> Evidence:
        victims = self.victims()
        backends.terminate(self.run.dsn, victims)
        return self.gone(victims)
