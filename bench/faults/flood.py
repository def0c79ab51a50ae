"""More jobs come at once than all workers can take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from bench.faults.base import Evidence, Fault, NoReceipt

if TYPE_CHECKING:
    from bench.job import Job
    from bench.script import Run, Wishes


class Flood(Fault):
    """Jobs come in, NAME-1 and on, that hold until the fault is lifted. Receipt: the states that their queue tells."""

    kind = "flood"

    def __init__(self, run: Run, name: str, count: int, **wishes: Unpack[Wishes]) -> None:
        self.run = run
        self.target = name
        self.count = count
        self.wishes = wishes
        self.jobs: Sequence[Job] = []
        """In the order of the queue; none in a sham."""

    def inject(self) -> Evidence:
        self.jobs = self.run.load(self.count, self.target, orders=(), **self.wishes)
        # Some queues have no record of a job while it runs.
        rows = zip(self.jobs, self.run.rows(self.jobs), strict=True)
        states = Counter("running" if job.is_running else str(row["state"]) for job, row in rows)
        if states["queued"] + states["running"] < self.count:
            raise NoReceipt(f"the queue does not have all {self.count} of {self.target} to do: {dict(states)}")
        return {"put in": self.count, **states}

    def lift(self) -> None:
        for job in self.jobs:
            job.finish()
