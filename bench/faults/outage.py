"""The provider that the handlers call is down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from bench.faults.base import Evidence, Fault, NoReceipt
from bench.orders import FINISH, Order, fail

if TYPE_CHECKING:
    from bench.job import Job
    from bench.script import Run, Wishes

UNAVAILABLE: Order = fail("503 Service Unavailable")


class Provider:
    """An outside service that handlers call. The witness answers for it: a puppet's first order is the answer."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.answers: Sequence[Order] = [FINISH]
        self.callers: list[str] = []

    def load(self, count: int, name: str, **wishes: Unpack[Wishes]) -> list[Job]:
        """Enqueue jobs, each of which is one call."""
        jobs = self.run.load(count, name, self.answers, **wishes)
        self.callers += [job.name for job in jobs]
        return jobs

    def turn(self, answers: Sequence[Order]) -> None:
        """Answer every call so from now on."""
        self.answers = answers
        self.run.desk.plan(self.callers, answers)

    def refusals(self) -> int:
        """How many calls were answered 503."""
        return sum(e["event"] == "ordered" and e["order"] == UNAVAILABLE for e in self.run.history.events())


class Outage(Fault):
    """Every call of a provider is answered 503 until the fault is lifted. Receipt: how many were."""

    kind = "outage"
    target = "the provider"

    def __init__(self, provider: Provider) -> None:
        self.provider = provider

    def inject(self) -> None:
        self.provider.turn([UNAVAILABLE])

    def lift(self) -> Evidence:
        self.provider.turn([FINISH])
        refusals = self.provider.refusals()
        if not refusals:
            raise NoReceipt("nobody called the provider while it was down")
        return {"answered 503": refusals}
