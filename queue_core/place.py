"""Where claims begin to look, while a look from the head of the queue takes long.

A snapshot that is held open keeps the index entries of all jobs that were claimed since, and each look from the head
passes over them again. Whoever goes on where the last claim ended passes over none of them, but sees nothing that came
in before that place meanwhile: a better priority, a job put back, a late commit.
"""

import time
from collections.abc import Hashable, Mapping
from typing import Any, Final

HEAD: Final[Mapping[str, Any]] = {"turn": "-infinity", "id": 0}
"""Before all jobs: the parameters of a claim that looks from there."""

TIMES: Final = 10.0
"""For how long claims go on from a place, in multiples of what a look from the head takes: a tenth of it, at most."""

LONGEST: Final = 1.0
"""Seconds, at most."""


class Place:
    """The place of one claimer. It is given up after a while that is as long as the head is worth, and when used up."""

    def __init__(self) -> None:
        self._at = HEAD
        self._of: Hashable = None
        self._until = 0.0
        self._took = 0.0

    def begin(self, of: Hashable) -> Mapping[str, Any]:
        """Where a claim for a queue of this name begins: HEAD, or where the last one ended."""
        if of != self._of or time.monotonic() >= self._until:
            self._at = HEAD
        self._of = of
        return self._at

    def end(self, last: Mapping[str, Any] | None, began: float) -> None:
        """Note a claim that began at that moment: its `last` job's place, or None if it found too few."""
        if last is None:
            self._at = HEAD
            return
        if self._at is HEAD:
            now = time.monotonic()
            # The shorter of two in a row: what was long but once was no fault of the head's.
            took, self._took = min(now - began, self._took), now - began
            self._until = now + min(took * TIMES, LONGEST)
        self._at = last
