"""The process dies at once."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.events import ENDINGS, exit_of, running, runs_alive
from bench.faults import base
from bench.faults.base import Evidence, NoReceipt, OnWorker, alive, wait_for
from bench.history import Event

if TYPE_CHECKING:
    from bench.producer import Producer
    from bench.subject import Worker


class Kill(OnWorker):
    """kill -9 of a worker's whole tree. Receipt: the wait status of each pid that can be waited for, and all gone."""

    kind = "kill -9"

    def inject(self) -> Evidence:
        evidence = kill(self.worker)
        # Of a child's death the witness hears by its connection, a moment later.
        self.worker.history.until(lambda events: not runs_alive(events, self.during, self.target), base.RECEIPT_WITHIN)
        return evidence


class KillChild(OnWorker):
    """kill -9 of the one process that runs the job, and of nothing else: the worker itself, or one of its own.

    Receipt: the wait status if it is the worker itself, or else that it is gone; that the witness has lost it; and
    which of the worker's processes live on.
    """

    kind = "kill -9 of the child"

    def hindrance(self, events: Sequence[Event]) -> str:
        found = super().hindrance(events)
        if found:
            return found
        pid = self._runs(events)["pid"]
        mine = pid in [process.pid for process in self.worker.tree()]
        return "" if mine else f"{self.during} runs in process {pid}, which is none of {self.target}'s"

    def inject(self) -> Evidence:
        start = self._runs(self.worker.history.events())
        pid, tree = start["pid"], self.worker.tree()
        child = next(process for process in tree if process.pid == pid)
        others = [process for process in tree if process is not child]
        self.worker.orphans += others  # should the worker itself die of it
        child.kill()
        status = _reaped(self.worker) if pid == self.worker.pid else None
        if not wait_for(lambda: not alive(child)):
            raise NoReceipt(f"process {pid} of {self.target} outlived kill -9")
        lost = self.worker.history.until(lambda events: _over(events, start["execution"]), base.RECEIPT_WITHIN)
        if not lost:
            raise NoReceipt(f"process {pid} of {self.target} is gone, and somebody still holds its line to the witness")
        rest = [process.pid for process in others if alive(process)]
        return {"pid": pid, "of": self.worker.pid, "status": status, "alive": rest or "none"}

    def _runs(self, events: Sequence[Event]) -> Event:
        """The execution that is under way."""
        start = running(events, self.during, self.target)
        assert start is not None, "see hindrance"
        return start


class KillParent(OnWorker):
    """kill -9 of the worker's main process, and of nothing else. Receipt: the wait status, and which children live on.

    Those are the worker's to end when it is closed.
    """

    kind = "kill -9 of the parent"

    def inject(self) -> Evidence:
        children = self.worker.tree()[1:]
        self.worker.orphans += children
        self.worker.signal(signal.SIGKILL)
        status = _reaped(self.worker)
        rest = [child.pid for child in children if alive(child)]
        return {"pid": self.worker.pid, "status": status, "alive": rest or "none"}


def kill(process: Worker | Producer) -> Evidence:
    """kill -9 of a process's whole tree. Raises NoReceipt."""
    tree = process.tree()
    for each in tree:
        each.kill()
    status = _reaped(process)
    if not wait_for(lambda: not any(alive(each) for each in tree)):
        raise NoReceipt(f"children of {process.name} outlived kill -9")
    return {"pids": [each.pid for each in tree], "status": status}


def _reaped(process: Worker | Producer) -> int:
    """The wait status of a process that was killed. Raises NoReceipt."""
    exited = process.history.until(lambda events: exit_of(events, process.pid), base.RECEIPT_WITHIN)
    if not exited:
        raise NoReceipt(f"{process.name} (pid {process.pid}) was not reaped after kill -9")
    if exited["status"] != -signal.SIGKILL:
        raise NoReceipt(f"{process.name} ended with {exited['status']}, not by kill -9")
    return -signal.SIGKILL


def _over(events: Sequence[Event], execution: int) -> bool:
    """Whether an execution has ended, as the witness saw it."""
    return any(event["event"] in ENDINGS and event["execution"] == execution for event in events)
