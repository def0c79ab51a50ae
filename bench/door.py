"""A door that lets one in at a time, and only while the processors have room: for the arms of strangers.

What they cost is not known: some mostly wait, and some start ten workers of a second of CPU each. By number alone,
either few are under way and nothing happens, or their starts crowd out everything that is timed.
"""

import threading
import time
from typing import Any

import psutil

ROOM = 0.2
"""The share of all processors that has to be free; what runs at a lower priority does not count as work."""

LOOK = 0.3
"""Seconds of one look: about as long as it takes until the one who was let in before shows."""

PATIENCE = 15.0
"""Seconds after which the next one is let in whatever the machine does, since others may keep it busy for ever."""


class Door:
    """Safe to use from many threads; whoever opens it for good lets all in."""

    def __init__(self) -> None:
        self._one = threading.Lock()
        self._open = threading.Event()

    def pass_through(self) -> None:
        """Wait for the turn, and for room."""
        with self._one:
            until = time.monotonic() + PATIENCE
            before = psutil.cpu_times()
            while not self._open.wait(LOOK):
                now = psutil.cpu_times()
                if room(before, now) >= ROOM or time.monotonic() >= until:
                    return
                before = now

    def open(self) -> None:
        """Nobody waits any more."""
        self._open.set()


def room(before: Any, after: Any) -> float:
    """The share of the processors' time between two looks (psutil.cpu_times) that was free, or of a lower priority."""
    spent = {name: getattr(after, name) - getattr(before, name) for name in ("user", "system", "idle", "nice")}
    return float((spent["idle"] + spent["nice"]) / max(sum(spent.values()), 1e-9))
