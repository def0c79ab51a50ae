"""The job kills whoever runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil

from bench.events import exit_of, running
from bench.faults import base
from bench.faults.base import Evidence, NoReceipt, OnWorker, alive, wait_for
from bench.orders import leave

if TYPE_CHECKING:
    from bench.job import Job
    from bench.subject import Worker

STATUS = 9


class Poison(OnWorker):
    """The job ends the process that runs it from inside, now and each time that it is run.

    Receipt: how that ended; of a process that is not the worker itself but one of its own, that it is gone.
    """

    kind = "poison"

    def __init__(self, worker: Worker, during: Job) -> None:
        super().__init__(worker, during)
        self.job = during

    def inject(self) -> Evidence:
        start = running(self.worker.history.events(), self.during, self.target)
        assert start is not None, "see hindrance"
        process = psutil.Process(start["pid"])
        self.job.order(leave(STATUS))
        if process.pid != self.worker.pid:
            if not wait_for(lambda: not alive(process)):
                raise NoReceipt(f"{self.target}'s process {process.pid} outlived {self.during}")
            return {"pid": process.pid, "of": self.worker.pid}
        exited = self.worker.history.until(lambda events: exit_of(events, self.worker.pid), base.RECEIPT_WITHIN)
        if not exited:
            raise NoReceipt(f"{self.target} (pid {self.worker.pid}) outlived {self.during}")
        if exited["status"] != STATUS:
            raise NoReceipt(f"{self.target} ended with {exited['status']}, and {self.during} ends it with {STATUS}")
        return {"pid": self.worker.pid, "status": exited["status"]}
