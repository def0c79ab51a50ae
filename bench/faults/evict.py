"""The process is told to stop, and killed if it does not in time, as an orchestrator does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.events import exit_of
from bench.faults import base
from bench.faults.base import Evidence, NoReceipt
from bench.faults.terminate import Terminate

if TYPE_CHECKING:
    from bench.job import Job
    from bench.subject import Worker


class Evict(Terminate):
    """SIGTERM to a worker; when the fault is lifted, it is waited for until `within` leases are over, and then killed.

    The queue's own slack is added.

    Receipt: that of the SIGTERM, and then how the process ended.
    """

    def __init__(self, worker: Worker, during: Job, within: float) -> None:
        super().__init__(worker, during)
        self.history = worker.history
        self.deadline = within * during.run.lease + during.run.terms.slack

    def inject(self) -> Evidence:
        self.deadline += self.history.now()
        return super().inject()

    def lift(self) -> Evidence:
        exited = self._exited(self.deadline - self.history.now())
        if not exited:
            for process in self.worker.tree():
                process.kill()
            exited = self._exited(base.RECEIPT_WITHIN)
        if not exited:
            raise NoReceipt(f"{self.target} (pid {self.worker.pid}) was not reaped after SIGKILL")
        return {"status": exited["status"]}

    def _exited(self, within: float) -> Evidence | None:
        found: Evidence | None = self.history.until(lambda events: exit_of(events, self.worker.pid), within)
        return found
