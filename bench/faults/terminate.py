"""The process is told to stop."""

import signal

import psutil

from bench.events import exit_of
from bench.faults.base import Evidence, NoReceipt, OnWorker, signal_bit, wait_for


class Terminate(OnWorker):
    """SIGTERM to a worker. Receipt: the kernel held it pending while the worker was stopped for it, and then no more.

    That the worker ignores the signal, or does not catch it, is for the checks to judge; the kernel says which it is.
    """

    kind = "SIGTERM"

    def inject(self) -> Evidence:
        pid, process = self.worker.pid, psutil.Process(self.worker.pid)
        ignored = signal_bit(pid, "SigIgn", signal.SIGTERM)
        if ignored is None:  # No /proc: macOS. That it was sent to a living process is all that can be said.
            self.worker.signal(signal.SIGTERM)
            return {"pid": pid, "sent": True}
        if ignored:  # The kernel drops it at once, and nothing ever shows.
            self.worker.signal(signal.SIGTERM)
            return {"pid": pid, "ignored": True}
        caught = signal_bit(pid, "SigCgt", signal.SIGTERM)
        process.suspend()
        try:
            if not wait_for(lambda: process.status() == psutil.STATUS_STOPPED):
                raise NoReceipt(f"{self.target} could not be stopped to see SIGTERM arrive")
            self.worker.signal(signal.SIGTERM)
            if not signal_bit(pid, "ShdPnd", signal.SIGTERM):
                raise NoReceipt(f"SIGTERM did not arrive at {self.target}")
        finally:
            process.resume()

        def taken() -> bool:
            ended = exit_of(self.worker.history.events(), pid) is not None
            return ended or not signal_bit(pid, "ShdPnd", signal.SIGTERM)

        if not wait_for(taken):
            raise NoReceipt(f"SIGTERM is still pending at {self.target}")
        return {"pid": pid, "arrived": True, "caught": caught, "pending": False}
