"""The worker is no longer alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.faults.base import Evidence, Fault, NoReceipt

if TYPE_CHECKING:
    from bench.script import Run
    from bench.subject import Worker


class Crowd(Fault):
    """More workers come to where one is, NAME-`first` and on. Receipt: the pid of each that is alive and takes jobs."""

    kind = "crowd"

    def __init__(self, run: Run, name: str, count: int, first: int) -> None:
        self.run = run
        self.target = name
        self.count = count
        self.first = first
        self.workers: Sequence[Worker] = []

    def inject(self) -> Evidence:
        self.workers = self.run.workers(self.target, self.count, self.first)
        pids = {worker.pid for worker in self.workers if worker.tree()}
        if len(pids) != self.count:
            raise NoReceipt(f"{len(pids)} of {self.count} workers came")
        return {"joined": self.count, "pids": sorted(pids)}
