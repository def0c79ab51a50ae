"""The job takes too long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.events import ending, running, starts
from bench.faults.base import Evidence, Fault, NoReceipt
from bench.history import Event

if TYPE_CHECKING:
    from bench.job import Job


class Outlast(Fault):
    """The job does not end by itself, and outlasts its lease. Receipt: the witness saw an execution that did.

    Or one that was cut short: there are queues that let no job last for longer than its lease.
    """

    kind = "outlast"

    def __init__(self, job: Job) -> None:
        self.job = job
        self.target = job.name

    def hindrance(self, events: Sequence[Event]) -> str:
        return "" if running(events, self.target) else f"{self.target} is not running"

    def inject(self) -> None:
        self.job.run.desk.plan([self.target])

    def confirm(self, events: Sequence[Event]) -> Evidence:
        lease = self.job.run.lease
        cut_short = None
        for start in starts(events, self.target):
            end = ending(events, start)
            lasted = end["t"] - start["t"]
            about = {"execution": start["execution"], "lasted": round(lasted, 3), "lease": lease}
            if lasted > lease:
                return about
            if end["event"] == "died":
                cut_short = about | {"ended": "died"}
        if cut_short:
            return cut_short
        raise NoReceipt(f"no execution of {self.target} lasted longer than the lease of {lease:g} s")
