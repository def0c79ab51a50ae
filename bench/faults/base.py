"""What a fault is, and how the system is asked for its receipt."""

from __future__ import annotations

import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from bench.events import running
from bench.history import Event

if TYPE_CHECKING:
    from bench.job import Job
    from bench.subject import Worker

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


class OnWorker(Fault):
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

    def need_rival(self, events: Sequence[Event], before: float) -> None:
        """Raise NoReceipt where other workers came, and none was ready before that: nobody could have taken the job."""
        others = [e for e in events if e["event"] in ("spawned", "ready") and e["worker"] != self.target]
        if others and not any(e["event"] == "ready" and e["t"] <= before for e in others):
            raise NoReceipt(f"no other worker was ready in time to take {self.during} from {self.target}")


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


def wait_for(reached: Callable[[], bool]) -> bool:
    """Poll the system for a state that tells no event; False when it is not reached in RECEIPT_WITHIN seconds."""
    deadline = time.monotonic() + RECEIPT_WITHIN
    while not reached():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True
