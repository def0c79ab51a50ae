"""Jobs come in steadily, and one is always waiting."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Unpack

from bench.faults.base import Evidence, Fault, NoReceipt

if TYPE_CHECKING:
    from bench.job import Job
    from bench.script import Run, Wishes


class Flow(Fault):
    """Jobs, NAME-1 and on, of which each comes before the last one is told to end: a worker never finds none of them.

    So it is the script that keeps the flow up, and no clock: the first comes at the beginning, the others by `go_on`.
    Receipt: the states that their queue tells at the end, when all have been begun.
    """

    kind = "flow"

    def __init__(self, run: Run, name: str, every: float, **wishes: Unpack[Wishes]) -> None:
        self.run = run
        self.target = name
        self.every = every
        self.wishes = wishes
        self.jobs: list[Job] = []
        """In the order in which they came; none in a sham."""

    def inject(self) -> None:
        self._come()

    def go_on(self, count: int) -> None:
        """Let so many more come, one each `every` leases, and wait until all have been begun. None come in a sham."""
        if not self.jobs:
            return
        for _ in range(count):
            last = self.jobs[-1]
            last.until_started()
            self.run.let_pass(self.every)
            self._come()
            last.finish()
        self.jobs[-1].until_started()

    def lift(self) -> Evidence:
        self.jobs[-1].finish()
        states = Counter(str(row["state"]) for row in self.run.rows(self.jobs))
        if len(self.jobs) < 2 or states["running"] + states["done"] < len(self.jobs):
            raise NoReceipt(f"{self.target} was no flow: {len(self.jobs)} jobs came, {dict(states)}")
        return {"came": len(self.jobs), **states}

    def _come(self) -> None:
        self.jobs.append(self.run.enqueue(f"{self.target}-{len(self.jobs) + 1}", **self.wishes))
