"""A handler that keeps a CPU to itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.faults.base import Evidence, NoReceipt, OnWorker
from bench.history import Event
from bench.orders import spin

if TYPE_CHECKING:
    from bench.job import Job
    from bench.subject import Worker


class Spin(OnWorker):
    """The running job burns CPU for so many seconds and yields to nobody. Receipt: the CPU time of the worker."""

    kind = "spin"

    def __init__(self, worker: Worker, during: Job, seconds: float) -> None:
        super().__init__(worker, during)
        self.job = during
        self.seconds = seconds

    def inject(self) -> None:
        self._before = self.worker.cpu_seconds()
        self.job.run.desk.tell(self.during, spin(self.seconds), worker=self.target)

    def confirm(self, events: Sequence[Event]) -> Evidence:
        burnt = self.worker.cpu_seconds() - self._before
        # On a busy machine it gets its share only; a worker that merely waits burns next to nothing.
        if burnt < self.seconds / 10:
            raise NoReceipt(f"{self.target} burnt {burnt:.3f} s of CPU and was told to burn for {self.seconds:g} s")
        return {"burnt": round(burnt, 3)}
