"""Handlers raise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bench.events import running
from bench.faults import base
from bench.faults.base import Evidence, Fault, NoReceipt
from bench.history import Event
from bench.orders import Order

if TYPE_CHECKING:
    from bench.job import Job


class Errors(Fault):
    """Each job's handler raises as it is ordered to, in the attempt that runs now; if `always`, in all to come, too.

    With `times`, in as many attempts in a row, this one included.

    Receipt: what each raised, in its puppet's words.
    """

    kind = "errors"

    def __init__(self, errors: Mapping[Job, Order], always: bool = False, times: int = 1) -> None:
        self.errors = errors
        self.always = always
        self.times = times
        self.target = ", ".join(job.name for job in errors)

    def hindrance(self, events: Sequence[Event]) -> str:
        idle = [job.name for job in self.errors if not running(events, job.name)]
        return f"{', '.join(idle)} not running" if idle else ""

    def inject(self) -> Evidence:
        history = next(iter(self.errors)).run.history
        told = {start["execution"]: job for job in self.errors if (start := running(history.events(), job.name))}
        for execution, job in told.items():
            job.run.desk.tell_next(job.name, self.errors[job], self.times - 1)
            job.order(self.errors[job], execution=None if self.always else execution)

        def raised(events: Sequence[Event]) -> dict[str, str]:
            return {e["job"]: e["error"] for e in events if e["event"] == "raised" and e["execution"] in told}

        history.until(lambda events: len(raised(events)) == len(self.errors), base.RECEIPT_WITHIN)
        found = raised(history.events())
        silent = [job.name for job in self.errors if job.name not in found]
        if silent:
            raise NoReceipt(f"{', '.join(silent)} did not raise")
        return {"raised": found}
