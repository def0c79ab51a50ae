"""The clock of a worker's machine is wrong."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.faults import base
from bench.faults.base import Evidence, NoReceipt, OnWorker
from bench.history import Event
from bench.orders import CLOCK

if TYPE_CHECKING:
    from bench.clock import Clock
    from bench.job import Job
    from bench.subject import Worker

PRECISION = 0.01
"""Seconds within which two looks at one clock are the same."""


class Skew(OnWorker):
    """A worker's wall clock is so many seconds ahead (or, negative, behind) until the fault is lifted.

    Receipt: what that clock says, told by the job that runs there, between two looks at the bench's own.
    """

    kind = "skew"

    def __init__(self, worker: Worker, during: Job, clock: Clock, seconds: float) -> None:
        super().__init__(worker, during)
        self.clock = clock
        self.seconds = seconds
        self._desk = during.run.desk

    def inject(self) -> Evidence:
        self.clock.set(self.seconds)
        before, asked = len(self._told(self.worker.history.events())), time.time()
        self._desk.tell(self.during, CLOCK, worker=self.target)
        told = self.worker.history.until(lambda events: self._told(events)[before:], base.RECEIPT_WITHIN)
        if not told:
            raise NoReceipt(f"{self.target} did not say what its clock says")
        wall, heard = told[0]["wall"], told[0]["ours"]
        if heard - asked > abs(self.seconds) / 2:
            raise NoReceipt(f"{self.target} took {heard - asked:.3f} s to say what its clock says")
        if not wall - heard - PRECISION <= self.seconds <= wall - asked + PRECISION:
            raise NoReceipt(f"the clock of {self.target} is {wall - heard:+.3f} s off, not {self.seconds:+.3f} s")
        return {"wall": wall, "ours": [asked, heard], "skew": round(wall - heard, 3)}

    def lift(self) -> None:
        self.clock.set(0)

    def _told(self, events: Sequence[Event]) -> list[Event]:
        """What the job has told of the clock so far."""
        return [e for e in events if e["event"] == "clock" and (e["job"], e["worker"]) == (self.during, self.target)]
