"""The job kills whoever runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.events import exit_of
from bench.faults import base
from bench.faults.base import Evidence, NoReceipt, OnWorker
from bench.orders import leave

if TYPE_CHECKING:
    from bench.job import Job
    from bench.subject import Worker

STATUS = 9


class Poison(OnWorker):
    """The job ends its worker's process from inside, now and each time that it is run. Receipt: how that ended."""

    kind = "poison"

    def __init__(self, worker: Worker, during: Job) -> None:
        super().__init__(worker, during)
        self.job = during

    def inject(self) -> Evidence:
        self.job.order(leave(STATUS))
        exited = self.worker.history.until(lambda events: exit_of(events, self.worker.pid), base.RECEIPT_WITHIN)
        if not exited:
            raise NoReceipt(f"{self.target} (pid {self.worker.pid}) outlived {self.during}")
        if exited["status"] != STATUS:
            raise NoReceipt(f"{self.target} ended with {exited['status']}, and {self.during} ends it with {STATUS}")
        return {"pid": self.worker.pid, "status": exited["status"]}
