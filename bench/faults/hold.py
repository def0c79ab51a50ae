"""The bench holds a lock that the queue needs."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from bench.faults.base import Evidence, Fault, NoReceipt

if TYPE_CHECKING:
    from bench.barrier import Barrier
    from bench.job import Job
    from bench.script import Run


class Hold(Fault):
    """A row lock on a job, as a claimer has it in the middle of its claim. Receipt: it is locked, says the server."""

    kind = "hold"

    def __init__(self, run: Run, job: Job) -> None:
        self.run = run
        self.job = job
        self.target = job.name
        self._held = ExitStack()

    def inject(self) -> Evidence:
        self.barrier: Barrier = self._held.enter_context(self.run.holding(self.job))
        if not self.barrier.is_held():
            self._held.close()
            raise NoReceipt(f"the row of {self.target} is not locked")
        return {"locked": True}

    def lift(self) -> Evidence:
        self._held.close()
        return {"locked": False}
