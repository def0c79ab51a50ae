"""The faults. Each has a precondition that must have been witnessed, and leaves a receipt that it was really done.

A receipt is read back from the system, never from what the fault believes that it did: a fault that does nothing leaves
none, and the arm is then inconclusive.
"""

from __future__ import annotations

import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from bench.events import ending, exit_of, running, starts
from bench.history import Event
from bench.subject import Worker

if TYPE_CHECKING:
    from bench.job import Job
    from bench.script import Run

Evidence = dict[str, Any]

RECEIPT_WITHIN = 10.0
"""Seconds within which the system must show that a fault was done."""


class NoReceipt(Exception):
    """The fault left no evidence; says what was looked for."""


class Fault(ABC):
    """One thing done to the subject. `kind` names it for people, `target` is the worker or job that it is done to."""

    kind = ""
    target = ""

    def hindrance(self, events: Sequence[Event]) -> str:
        """Why it would mean nothing if it were injected now; empty when its precondition was witnessed."""
        return ""

    @abstractmethod
    def inject(self) -> Evidence | None:
        """Do it and return the evidence; None when that can only be had at the end. Raises NoReceipt."""

    def lift(self) -> Evidence | None:
        """End a fault that lasts; evidence of the end. Raises NoReceipt."""
        return None

    def confirm(self, events: Sequence[Event]) -> Evidence | None:
        """Evidence that only the whole history has, for a fault whose `inject` returned none. Raises NoReceipt."""
        return None


class _OnWorker(Fault):
    """A fault that is done to a worker in the middle of a job."""

    def __init__(self, worker: Worker, during: Job) -> None:
        self.worker = worker
        self.during = during.name
        self.target = worker.name

    def hindrance(self, events: Sequence[Event]) -> str:
        if not self.worker.tree():
            return f"{self.target} is not alive"
        if not running(events, self.during, self.target):
            return f"{self.target} is not in the middle of {self.during}"
        return ""


class Kill(_OnWorker):
    """kill -9 of a worker's whole tree. Receipt: the wait status of each pid that can be waited for, and all gone."""

    kind = "kill -9"

    def inject(self) -> Evidence:
        tree = self.worker.tree()
        for process in tree:
            process.kill()
        exited = self.worker.history.until(lambda events: exit_of(events, self.worker.pid), RECEIPT_WITHIN)
        if not exited:
            raise NoReceipt(f"{self.target} (pid {self.worker.pid}) was not reaped after kill -9")
        if exited["status"] != -signal.SIGKILL:
            raise NoReceipt(f"{self.target} ended with {exited['status']}, not by kill -9")
        if not _wait(lambda: not any(alive(process) for process in tree)):
            raise NoReceipt(f"children of {self.target} outlived kill -9")
        return {"pids": [process.pid for process in tree], "status": exited["status"]}


class Pause(_OnWorker):
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
        if not _wait(lambda: all(right(process.status()) for process in self.stopped)):
            raise NoReceipt(f"{self.target} is not {name}")
        return {"pids": [process.pid for process in self.stopped], "states": [p.status() for p in self.stopped]}


class Terminate(_OnWorker):
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
            if not _wait(lambda: process.status() == psutil.STATUS_STOPPED):
                raise NoReceipt(f"{self.target} could not be stopped to see SIGTERM arrive")
            self.worker.signal(signal.SIGTERM)
            if not signal_bit(pid, "ShdPnd", signal.SIGTERM):
                raise NoReceipt(f"SIGTERM did not arrive at {self.target}")
        finally:
            process.resume()

        def taken() -> bool:
            ended = exit_of(self.worker.history.events(), pid) is not None
            return ended or not signal_bit(pid, "ShdPnd", signal.SIGTERM)

        if not _wait(taken):
            raise NoReceipt(f"SIGTERM is still pending at {self.target}")
        return {"pid": pid, "arrived": True, "caught": caught, "pending": False}


class Outlast(Fault):
    """The job does not end by itself, and outlasts its lease. Receipt: the witness saw an execution that did."""

    kind = "outlast"

    def __init__(self, job: Job) -> None:
        self.job = job
        self.target = job.name

    def hindrance(self, events: Sequence[Event]) -> str:
        return "" if running(events, self.target) else f"{self.target} is not running"

    def inject(self) -> None:
        self.job.run.desk.plan(self.target)

    def confirm(self, events: Sequence[Event]) -> Evidence:
        lease = self.job.run.lease
        for start in starts(events, self.target):
            lasted = ending(events, start)["t"] - start["t"]
            if lasted > lease:
                return {"execution": start["execution"], "lasted": round(lasted, 3), "lease": lease}
        raise NoReceipt(f"no execution of {self.target} lasted longer than the lease of {lease:g} s")


class Crowd(Fault):
    """More workers come to where one is, NAME-`first` and on. Receipt: the pid of each that is alive and takes jobs."""

    kind = "crowd"

    def __init__(self, run: Run, name: str, count: int, first: int) -> None:
        self.run = run
        self.target = name
        self.count = count
        self.first = first
        self.workers: Sequence[Worker] = []

    def inject(self) -> Evidence:
        self.workers = self.run.workers(self.target, self.count, self.first)
        pids = {worker.pid for worker in self.workers if worker.tree()}
        if len(pids) != self.count:
            raise NoReceipt(f"{len(pids)} of {self.count} workers came")
        return {"joined": self.count, "pids": sorted(pids)}


class Write(Fault):
    """Rows are written behind the queue's back. Receipt: what the database answered to each statement."""

    kind = "write"

    def __init__(self, target: str, write: Callable[[], Evidence], attempts: int) -> None:
        self.target = target
        self.write = write
        self.attempts = attempts

    def inject(self) -> Evidence:
        evidence = self.write()
        if evidence["answered"] != self.attempts:
            raise NoReceipt(f"{evidence['answered']} of {self.attempts} writes were taken or refused as they should be")
        return evidence


def alive(process: psutil.Process) -> bool:
    """Whether a process is there and not a zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def signal_bit(pid: int, field: str, number: signal.Signals) -> bool | None:
    """A signal's bit in a field of /proc/PID/status (`SigCgt`, `ShdPnd`: proc(5)); None where it cannot be read."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    mask = next((line.split()[1] for line in text.splitlines() if line.startswith(field + ":")), None)
    return None if mask is None else bool(int(mask, 16) >> (number - 1) & 1)


def _wait(reached: Callable[[], bool]) -> bool:
    """Poll the system for a state that tells no event; False when it is not reached in RECEIPT_WITHIN seconds."""
    deadline = time.monotonic() + RECEIPT_WITHIN
    while not reached():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True
