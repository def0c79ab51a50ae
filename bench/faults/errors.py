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
    """Each job's handler raises what it is ordered to, in the attempt that runs now; if `always`, in all to come, too.

    Receipt: what each raised, as its puppet said.
    """

    kind = "errors"

    def __init__(self, errors: Mapping[Job, Order], always: bool = False) -> None:
        self.errors = errors
        self.always = always
        self.target = ", ".join(job.name for job in errors)

    def hindrance(self, events: Sequence[Event]) -> str:
        idle = [job.name for job in self.errors if not running(events, job.name)]
        return f"{', '.join(idle)} not running" if idle else ""

    def inject(self) -> Evidence:
        history = next(iter(self.errors)).run.history
        numbers = {}
        for job, order in self.errors.items():
            start = running(history.events(), job.name)
            assert start, "see hindrance"
            numbers[start["execution"]] = job.name
            job.order(order, execution=None if self.always else start["execution"])

        def raised(events: Sequence[Event]) -> dict[str, str]:
            mine = [event for event in events if event["event"] == "raised" and event["execution"] in numbers]
            return {numbers[event["execution"]]: event["error"] for event in mine}

        history.until(lambda events: len(raised(events)) == len(numbers), base.RECEIPT_WITHIN)
        evidence = raised(history.events())
        if len(evidence) < len(numbers):
            silent = ", ".join(job for job in numbers.values() if job not in evidence)
            raise NoReceipt(f"{silent} did not raise")
        return {"raised": evidence}
