"""The server that has the jobs goes down in the middle of one, and comes back over the same data, at the same port.

For scenarios whose arms have a server of their own.
"""

from __future__ import annotations

import signal
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import psutil

from bench.events import running
from bench.faults.base import Evidence, Fault, NoReceipt, alive, wait_for
from bench.history import Event
from bench.script import SERVER, Run

if TYPE_CHECKING:
    from bench.job import Job
    from bench.postgres.cluster import Cluster
    from bench.services.daemon import Daemon

RECOVERY = ("database system was not properly shut down", "automatic recovery in progress")
"""What PostgreSQL's log says when it was not shut down properly, and starts."""

Proof = Callable[[], Evidence]
"""Evidence that a server that is up is another one than before. Raises NoReceipt."""


class _Outage(Fault):
    """A server is taken down without a chance to finish its work, and started again.

    Receipt: how it ended, the processes that are gone with it, how long it was down, and what shows that another one is
    up. Of PostgreSQL these are both postmasters, when each says that it was started, and the line of the log that tells
    of the recovery; of any other server, both pids.
    """

    target = SERVER

    def __init__(self, run: Run, during: Job) -> None:
        self.run = run
        self.server = run.server
        self.during = during.name

    def hindrance(self, events: Sequence[Event]) -> str:
        return "" if running(events, self.during) else f"{self.during} is not running"

    @abstractmethod
    def end(self) -> int | None:
        """Take the server down; its wait status, None where it lives on."""

    @abstractmethod
    def expected(self, status: int) -> bool:
        """Whether it ended as it was made to."""

    def inject(self) -> Evidence:
        server, (everyone, proof) = self.server, _look(self.server)
        since = self.run.history.now()
        status = self.end()
        if status is None or not wait_for(lambda: not any(alive(process) for process in everyone)):
            raise NoReceipt(f"processes of the server outlived the {self.kind}")
        if not self.expected(status):
            raise NoReceipt(f"the server ended with {status}, not as of the {self.kind}")
        server.launch()
        down = self.run.history.now() - since
        gone = sorted(process.pid for process in everyone)
        return {"status": status, "gone": gone, "down": round(down, 3), **proof()}


def _look(server: Cluster | Daemon) -> tuple[list[psutil.Process], Proof]:
    """All of a server's processes, and what will show that it was started again."""
    from bench.postgres.cluster import Cluster  # late: a twin's worker process loads this file

    return _cluster(server) if isinstance(server, Cluster) else _daemon(server)


def _cluster(server: Cluster) -> tuple[list[psutil.Process], Proof]:
    from bench.postgres.halt import members  # late, as above

    old, began, said = server.postmaster(), server.started(), server.log.stat().st_size

    def proof() -> Evidence:
        new, again = server.postmaster(), server.started()
        if new == old or again == began:
            raise NoReceipt(f"the postmaster is still {old}, started at {began}")
        log = server.log.read_bytes()[said:].decode(errors="replace").splitlines()
        recovery = next((line for line in log if all(words in line for words in RECOVERY)), "")
        if not recovery:
            raise NoReceipt("the log tells of no recovery: the server was shut down properly")
        times = [began.isoformat(), again.isoformat()]
        return {"postmasters": [old, new], "started": times, "log": recovery}

    return members(server.data), proof


def _daemon(server: Daemon) -> tuple[list[psutil.Process], Proof]:
    everyone = server.processes()

    def proof() -> Evidence:
        pids = [processes[0].pid for processes in (everyone, server.processes()) if processes]
        if len(set(pids)) < 2:
            raise NoReceipt(f"the server's process is still {pids}")
        return {"pids": pids}

    return everyone, proof


class Restart(_Outage):
    """An immediate restart: SIGQUIT to a postmaster, SIGTERM to any other server, and a new start once it is gone."""

    kind = "immediate restart"

    def end(self) -> int | None:
        return self.server.abort()

    def expected(self, status: int) -> bool:
        return status != -signal.SIGKILL


class Crash(_Outage):
    """kill -9 of all its processes in one moment, and a new start."""

    kind = "kill -9"

    def end(self) -> int | None:
        return self.server.crash()

    def expected(self, status: int) -> bool:
        return status == -signal.SIGKILL
