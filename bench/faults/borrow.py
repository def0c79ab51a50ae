"""The handlers take all the connections that there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench import backends
from bench.events import running
from bench.faults.base import Evidence, Fault, NoReceipt, wait_for
from bench.history import Event
from bench.orders import BORROW

if TYPE_CHECKING:
    from bench.job import Job
    from bench.script import Run
    from bench.subject import Worker


class Borrow(Fault):
    """Every running job takes a connection of the handlers' pool and keeps it. Receipt: their backends."""

    kind = "borrow"

    def __init__(self, run: Run, worker: Worker, jobs: Sequence[Job]) -> None:
        self.run = run
        self.jobs = jobs
        self.target = worker.name

    def hindrance(self, events: Sequence[Event]) -> str:
        idle = [job.name for job in self.jobs if not running(events, job.name, self.target)]
        return f"{self.target} does not run {', '.join(idle)}" if idle else ""

    def inject(self) -> Evidence:
        for job in self.jobs:
            self.run.desk.tell(job.name, BORROW, worker=self.target)

        def taken() -> int:
            return len(backends.of(self.run.dsn, self.target, "handler"))

        if not wait_for(lambda: taken() == len(self.jobs)):
            raise NoReceipt(f"{taken()} connections of {len(self.jobs)} were taken by the handlers of {self.target}")
        return {"taken": taken()}
