"""A job comes that is for later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.faults.base import Evidence, Fault, NoReceipt

if TYPE_CHECKING:
    from bench.job import Job
    from bench.script import Run


class Later(Fault):
    """A job is put in that is not due for `delay` leases. Receipt: the queue says that it is not due."""

    kind = "job for later"

    def __init__(self, run: Run, job: str, delay: float) -> None:
        self.run = run
        self.target = job
        self.delay = delay
        self.jobs: list[Job] = []
        self.asked = 0.0

    def inject(self) -> Evidence:
        self.asked = self.run.history.now()
        job = self.run.enqueue(self.target, lasts=0, delay=self.delay)
        due = self.run.rows([job])[0]["due"]
        if due != "f":
            raise NoReceipt(f"{self.target} is due at once")
        self.jobs = [job]
        return {"due": due}
