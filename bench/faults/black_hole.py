"""What a worker and its database send each other gets lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.faults.base import Evidence, NoReceipt, OnWorker
from bench.history import Event

if TYPE_CHECKING:
    from bench.job import Job
    from bench.relay import Relay
    from bench.subject import Worker


class BlackHole(OnWorker):
    """The relay that a worker has for itself swallows all, and refuses nothing, until the fault is lifted.

    Receipt: how many bytes it has swallowed. There is none before somebody speaks, so it is had at the end; and how
    many connections were lost with them, which can't be used any more and are cut then.
    """

    kind = "black hole"

    def __init__(self, relay: Relay, worker: Worker, during: Job) -> None:
        super().__init__(worker, during)
        self.relay = relay

    def hindrance(self, events: Sequence[Event]) -> str:
        apart = "" if self.relay.ports() else f"{self.target} is not connected through the relay"
        return super().hindrance(events) or apart

    def inject(self) -> None:
        self._before = self.relay.swallowed, self.relay.cut
        self.relay.swallow()

    def lift(self) -> Evidence:
        self.relay.pass_on()
        return self.confirm([])

    def confirm(self, events: Sequence[Event]) -> Evidence:
        swallowed, cut = self.relay.swallowed - self._before[0], self.relay.cut - self._before[1]
        if not swallowed:
            raise NoReceipt(f"nothing was sent to or by {self.target} that the relay could have swallowed")
        return {"swallowed": swallowed, "cut": cut}
