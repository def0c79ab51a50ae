"""A worker loses a connection and gets no new one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench import backends
from bench.backends import Backend
from bench.faults.base import Evidence, Fault, NoReceipt, wait_for
from bench.history import Event

if TYPE_CHECKING:
    from bench.relay import Relay
    from bench.script import Run
    from bench.subject import Worker


class Refuse(Fault):
    """The relay cuts a worker's connections of one role, and refuses all new ones until the fault is lifted.

    Receipt: the pids of the backends, gone from pg_stat_activity, and the ports that were cut; at the end, how often a
    new connection was refused.
    """

    kind = "refuse"

    def __init__(self, relay: Relay, run: Run, worker: Worker, only: str = "listen") -> None:
        self.relay = relay
        self.run = run
        self.worker = worker
        self.target = worker.name
        self.only = only

    def victims(self) -> list[Backend]:
        """The backends that it is done to now: those that come through the relay."""
        ports = self.relay.ports()
        return [each for each in backends.of(self.run.dsn, self.target, self.only) if each.port in ports]

    def hindrance(self, events: Sequence[Event]) -> str:
        if not self.worker.tree():
            return f"{self.target} is not alive"
        return "" if self.victims() else f"{self.target} has no connection to cut"

    def inject(self) -> Evidence:
        victims = self.victims()
        self._before = self.relay.refused
        self.relay.refuse([victim.port for victim in victims])
        if not victims:
            raise NoReceipt(f"{self.target} had no connection to cut")
        if not wait_for(lambda: not set(victims) & set(backends.of(self.run.dsn, self.target))):
            raise NoReceipt(f"the server still has the connections of {self.target} that were to be cut")
        about = [(victim.pid, victim.role, victim.port) for victim in victims]
        pids, roles, ports = (list(each) for each in zip(*about, strict=True))
        return {"pids": pids, "roles": roles, "ports": ports}

    def lift(self) -> Evidence:
        self.relay.pass_on()
        return {"refused": self.relay.refused - self._before}
