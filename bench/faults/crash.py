"""The database goes down in the middle of a job, and comes back over the same data, at the same port.

For scenarios whose arms have a server of their own.
"""

from __future__ import annotations

import signal
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.events import running
from bench.faults.base import Evidence, Fault, NoReceipt, alive, wait_for
from bench.history import Event
from bench.postgres.halt import members
from bench.script import SERVER, Run

if TYPE_CHECKING:
    from bench.job import Job

RECOVERY = ("database system was not properly shut down", "automatic recovery in progress")
"""What a server's log says when it was not shut down properly, and starts."""


class _Outage(Fault):
    """A server is taken down without a chance to tidy up, and started again.

    Receipt: both postmasters, when each says that it was started, how the old one ended, the processes that are gone
    with it, and the line of the server's log that tells of the recovery.
    """

    target = SERVER
    status = 0
    """The wait status of a postmaster that was ended in this way."""

    def __init__(self, run: Run, during: Job) -> None:
        self.run = run
        self.server = run.server
        self.during = during.name

    def hindrance(self, events: Sequence[Event]) -> str:
        return "" if running(events, self.during) else f"{self.during} is not running"

    @abstractmethod
    def end(self) -> int | None:
        """Take the server down; its postmaster's wait status, None where that lives on."""

    def inject(self) -> Evidence:
        server, everyone = self.server, members(self.server.data)
        old, began, said = server.postmaster(), server.started(), server.log.stat().st_size
        since = self.run.history.now()
        status = self.end()
        if status is None or not wait_for(lambda: not any(alive(process) for process in everyone)):
            raise NoReceipt(f"processes of the server (postmaster {old}) outlived the {self.kind}")
        if status != self.status:
            raise NoReceipt(f"the postmaster ended with {status}, not with {self.status} as of the {self.kind}")
        server.launch()
        down = self.run.history.now() - since
        new, again = server.postmaster(), server.started()
        if new == old or again == began:
            raise NoReceipt(f"the postmaster is still {old}, started at {began}")
        log = server.log.read_bytes()[said:].decode(errors="replace").splitlines()
        recovery = next((line for line in log if all(words in line for words in RECOVERY)), "")
        if not recovery:
            raise NoReceipt("the log tells of no recovery: the server was shut down properly")
        return {
            "postmasters": [old, new],
            "started": [began.isoformat(), again.isoformat()],
            "status": status,
            "gone": sorted(process.pid for process in everyone),
            "log": recovery,
            "down": round(down, 3),
        }


class Restart(_Outage):
    """An immediate restart: SIGQUIT to the postmaster, and a new start once it is gone."""

    kind = "immediate restart"

    def end(self) -> int | None:
        return self.server.abort()


class Crash(_Outage):
    """kill -9 of the postmaster and of all its children in one moment, and a new start."""

    kind = "kill -9"
    status = -signal.SIGKILL

    def end(self) -> int | None:
        return self.server.crash()
