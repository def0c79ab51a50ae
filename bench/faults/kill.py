"""The process dies at once."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from bench.events import exit_of
from bench.faults import base
from bench.faults.base import Evidence, NoReceipt, OnWorker, alive, wait_for

if TYPE_CHECKING:
    from bench.producer import Producer
    from bench.subject import Worker


class Kill(OnWorker):
    """kill -9 of a worker's whole tree. Receipt: the wait status of each pid that can be waited for, and all gone."""

    kind = "kill -9"

    def inject(self) -> Evidence:
        return kill(self.worker)


def kill(process: Worker | Producer) -> Evidence:
    """kill -9 of a process's whole tree. Raises NoReceipt."""
    tree = process.tree()
    for each in tree:
        each.kill()
    exited = process.history.until(lambda events: exit_of(events, process.pid), base.RECEIPT_WITHIN)
    if not exited:
        raise NoReceipt(f"{process.name} (pid {process.pid}) was not reaped after kill -9")
    if exited["status"] != -signal.SIGKILL:
        raise NoReceipt(f"{process.name} ended with {exited['status']}, not by kill -9")
    if not wait_for(lambda: not any(alive(each) for each in tree)):
        raise NoReceipt(f"children of {process.name} outlived kill -9")
    return {"pids": [each.pid for each in tree], "status": exited["status"]}
