"""Connections of a worker are ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.faults.base import Evidence, NoReceipt, OnWorker, wait_for
from bench.history import Event

if TYPE_CHECKING:
    from bench.job import Job
    from bench.relay import Relay
    from bench.subject import Worker


class Cut(OnWorker):
    """The relay that a worker has for itself resets all of its connections, and goes on.

    Receipt: the ports that they had, which the relay has no more.
    """

    kind = "cut"

    def __init__(self, relay: Relay, worker: Worker, during: Job) -> None:
        super().__init__(worker, during)
        self.relay = relay

    def hindrance(self, events: Sequence[Event]) -> str:
        apart = "" if self.relay.ports() else f"{self.target} is not connected through the relay"
        return super().hindrance(events) or apart

    def inject(self) -> Evidence:
        ports = self.relay.ports()
        self.relay.reset()
        if not wait_for(lambda: set(ports).isdisjoint(self.relay.ports())):
            raise NoReceipt(f"the relay still has the connections of {self.target} that were to be cut")
        return {"ports": ports}
