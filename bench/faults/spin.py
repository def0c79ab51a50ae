"""A handler that keeps a CPU to itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.events import ending, running
from bench.faults.base import Evidence, NoReceipt, OnWorker
from bench.history import Event
from bench.orders import spin

if TYPE_CHECKING:
    from bench.job import Job
    from bench.subject import Worker


class Spin(OnWorker):
    """The running job burns CPU for so many seconds and yields to nobody. Receipt: the CPU time of the worker.

    A rival must have had the time to take the job meanwhile.
    """

    kind = "spin"

    def __init__(self, worker: Worker, during: Job, seconds: float) -> None:
        super().__init__(worker, during)
        self.job = during
        self.seconds = seconds

    def inject(self) -> None:
        start = running(self.worker.history.events(), self.during, self.target)
        assert start is not None, "see hindrance"
        self._start = start
        self._before, self._waited = self.worker.cpu_seconds(), self.worker.waited()
        self.job.run.desk.tell(self.during, spin(self.seconds), worker=self.target)

    def confirm(self, events: Sequence[Event]) -> Evidence:
        burnt = self.worker.cpu_seconds() - self._before
        waited = max(
            (each - self._waited.get(thread, 0.0) for thread, each in self.worker.waited().items()), default=0.0
        )
        # On a busy machine it gets its share only; a worker that merely waits burns next to nothing.
        if burnt < max(self.seconds / 50, (self.seconds - waited) / 10):
            raise NoReceipt(
                f"{self.target} burnt {burnt:.3f} s of CPU, waited {waited:.3f} s for one, and was told to burn for "
                f"{self.seconds:g} s"
            )
        self.need_rival(events, before=ending(events, self._start)["t"] - self.job.run.terms.interval)
        return {"burnt": round(burnt, 3), "waited": round(waited, 3)}
