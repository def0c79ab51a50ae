"""The stall meter: how long this machine kept the bench from running when it wanted to run.

A thread sleeps for 5 ms again and again, and measures by how much it oversleeps. No verdict comes from an arm in which
that ate into the arm's margin.
"""

import math
import threading
import time
from typing import Self

TICK = 0.005
"""Seconds of one sleep."""

WORTH_KEEPING = 0.002
"""Seconds of overshoot below which a stall is not kept."""


class StallMeter:
    """Measures from `__enter__` to `__exit__`; all times are time.monotonic()."""

    def __init__(self) -> None:
        self._stalls: list[tuple[float, float]] = []
        self._awake = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._measure, name="stalls", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._awake = math.inf  # what passes from now on is no stall

    def _measure(self) -> None:
        self._awake = time.monotonic()
        while not self._stop.is_set():
            time.sleep(TICK)
            now = time.monotonic()
            if now - self._awake - TICK > WORTH_KEEPING:
                self._stalls.append((now, now - self._awake - TICK))
            self._awake = now

    def longest(self, since: float = 0.0) -> tuple[float, float]:
        """The longest stall that went on after `since`, in seconds, and when it ended; (0, since) for none."""
        now = time.monotonic()
        under_way = now - self._awake - TICK
        worst, at = (under_way, now) if under_way > WORTH_KEEPING else (0.0, since)
        # From the end: an arm asks for its own few seconds of what may be minutes.
        for moment, stall in reversed(self._stalls):
            if moment < since:
                break
            if stall > worst:
                worst, at = stall, moment
        return worst, at


def measure(seconds: float) -> float:
    """The longest stall in seconds, measured for `seconds`."""
    with StallMeter() as meter:
        threading.Event().wait(seconds)
        return meter.longest()[0]
