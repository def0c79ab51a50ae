"""A new release comes beside the old one, as in a rolling deploy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.events import first_start
from bench.faults.base import Evidence, Fault, NoReceipt

if TYPE_CHECKING:
    from bench.job import Job
    from bench.script import Run


class NewRelease(Fault):
    """A job with a payload of the newer form comes in, and then a worker that can read it, NAME.

    Receipt: the pid of the worker, and the first job that the witness saw it begin.
    """

    kind = "new release"

    def __init__(self, run: Run, name: str, version: int, backoff: tuple[float, float], max_attempts: int) -> None:
        self.run = run
        self.target = name
        self.version = version
        self.backoff = backoff
        self.max_attempts = max_attempts
        self.jobs: list[Job] = []
        """The job of the newer form; none in a sham."""

    def inject(self) -> Evidence:
        form = f"{self.target}-form"
        self.jobs = [self.run.enqueue(form, version=self.version, max_attempts=self.max_attempts)]
        worker = self.run.worker(self.target, version=self.version, backoff=self.backoff)
        self.run.need(f"{self.target} began a job", lambda events: first_start(events, self.target))
        began = first_start(self.run.history.events(), self.target)
        if not began or worker.pid not in [process.pid for process in worker.tree()]:
            raise NoReceipt(f"{self.target} is not there, or not at work")
        return {"pid": worker.pid, "version": self.version, "began": began["job"]}
