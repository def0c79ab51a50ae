"""A worker loses a connection and gets no new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.backends import Backend
from bench.faults.base import Evidence
from bench.faults.cut import OnConnections

if TYPE_CHECKING:
    from bench.relay import Relay
    from bench.script import Run
    from bench.subject import Worker


class Refuse(OnConnections):
    """The relay cuts a worker's connections of one role, and refuses all new ones until the fault is lifted.

    Receipt: the pids of the backends, gone from pg_stat_activity, and the ports that were cut; at the end, how often a
    new connection was refused.
    """

    kind = "refuse"

    def __init__(self, relay: Relay, run: Run, worker: Worker, only: str = "listen") -> None:
        super().__init__(run, worker, only)
        self.relay = relay

    def victims(self) -> list[Backend]:
        """Those that come through the relay."""
        ports = self.relay.ports()
        return [backend for backend in super().victims() if backend.port in ports]

    def inject(self) -> Evidence:
        victims = self.victims()
        self._before = self.relay.refused
        self.relay.refuse([victim.port for victim in victims])
        return {**self.gone(victims), "ports": [victim.port for victim in victims]}

    def lift(self) -> Evidence:
        self.relay.pass_on()
        return {"refused": self.relay.refused - self._before}
