"""The process stands still, and goes on."""

from collections.abc import Callable

import psutil

from bench.faults.base import Evidence, NoReceipt, OnWorker, wait_for


class Pause(OnWorker):
    """SIGSTOP of a worker's tree until the fault is lifted. Receipt: the state of each process, read back."""

    kind = "pause"

    def inject(self) -> Evidence:
        self.stopped = self.worker.tree()
        for process in self.stopped:
            process.suspend()
        return self._states("stopped", lambda state: state == psutil.STATUS_STOPPED)

    def lift(self) -> Evidence:
        for process in self.stopped:
            process.resume()
        return self._states("running again", lambda state: state != psutil.STATUS_STOPPED)

    def _states(self, name: str, right: Callable[[str], bool]) -> Evidence:
        if not wait_for(lambda: all(right(process.status()) for process in self.stopped)):
            raise NoReceipt(f"{self.target} is not {name}")
        return {"pids": [process.pid for process in self.stopped], "states": [p.status() for p in self.stopped]}
