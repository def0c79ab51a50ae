"""The process dies at once."""

import signal

from bench.events import exit_of
from bench.faults import base
from bench.faults.base import Evidence, NoReceipt, OnWorker, alive, wait_for


class Kill(OnWorker):
    """kill -9 of a worker's whole tree. Receipt: the wait status of each pid that can be waited for, and all gone."""

    kind = "kill -9"

    def inject(self) -> Evidence:
        tree = self.worker.tree()
        for process in tree:
            process.kill()
        exited = self.worker.history.until(lambda events: exit_of(events, self.worker.pid), base.RECEIPT_WITHIN)
        if not exited:
            raise NoReceipt(f"{self.target} (pid {self.worker.pid}) was not reaped after kill -9")
        if exited["status"] != -signal.SIGKILL:
            raise NoReceipt(f"{self.target} ended with {exited['status']}, not by kill -9")
        if not wait_for(lambda: not any(alive(process) for process in tree)):
            raise NoReceipt(f"children of {self.target} outlived kill -9")
        return {"pids": [process.pid for process in tree], "status": exited["status"]}
