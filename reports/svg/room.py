"""Where things have room: the time axis, what stands on a line already, and labels that make way for one another."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from reports.story import Story

T = TypeVar("T")

APART = 64
"""Pixels between two ticks, at least."""


@dataclass(frozen=True)
class Axis:
    """Pixels `left` to `right` for `first` to `last`, in leases; one for all panels."""

    left: float
    right: float
    first: float
    last: float

    def at(self, units: float) -> float:
        share = (units - self.first) / (self.last - self.first)
        return self.left + min(max(share, 0.0), 1.0) * (self.right - self.left)

    def ticks(self) -> list[float]:
        least = APART * (self.last - self.first) / (self.right - self.left)
        ten = 10.0 ** math.floor(math.log10(least))
        step = next(m * ten for m in (1, 2, 5, 10) if m * ten >= least or m == 10)
        low, high = math.ceil(self.first / step - 1e-9), math.floor(self.last / step + 1e-9)
        return [k * step for k in range(low, high + 1)]


def axis(stories: Sequence[Story], left: float, right: float) -> Axis:
    """The axis that has room for all of them."""
    first = min((s.units(s.first) for s in stories), default=0.0)
    last = max((s.units(s.last) for s in stories), default=0.0)
    return Axis(left, right, first, max(last, first + 0.5))


@dataclass
class Line:
    """What stands on a line already, as stretches of it in pixels."""

    left: float
    right: float
    taken: list[tuple[float, float]] = field(default_factory=list)

    def take(self, x0: float, x1: float) -> None:
        self.taken.append((x0, x1))

    def free(self, x0: float, x1: float) -> bool:
        return x0 >= self.left and x1 <= self.right and all(x1 <= a or x0 >= b for a, b in self.taken)

    def place(self, width: float, *starts: float) -> float | None:
        """The first of the places that is free for something so wide; it is taken then."""
        for x in starts:
            if self.free(x, x + width):
                self.take(x, x + width)
                return x
        return None

    def gaps(self, x0: float, x1: float) -> list[tuple[float, float]]:
        """The free stretches between two places."""
        found, x = [], x0
        for a, b in sorted((a, b) for a, b in self.taken if b > x0 and a < x1):
            if a > x:
                found.append((x, a))
            x = max(x, b)
        if x < x1:
            found.append((x, x1))
        return found


def clusters(things: Sequence[T], x: Callable[[T], float], gap: float) -> list[list[T]]:
    """What stands closer together than can be told apart, as one."""
    found: list[list[T]] = []
    for thing in sorted(things, key=x):
        if found and x(thing) - x(found[-1][0]) < gap:
            found[-1].append(thing)
        else:
            found.append([thing])
    return found


def merged(spans: Sequence[tuple[float, float]], gap: float) -> list[tuple[float, float]]:
    """Stretches, with those as one that lie closer together than the gap."""
    found: list[tuple[float, float]] = []
    for a, b in sorted(spans):
        if found and a - found[-1][1] < gap:
            found[-1] = (found[-1][0], max(b, found[-1][1]))
        else:
            found.append((a, b))
    return found


def spread(wanted: Sequence[float], widths: Sequence[float], left: float, right: float) -> list[float]:
    """The middles of labels that want to stand at some places, in their order, moved as little as they must.

    Neighbours that collide are moved as one block round the mean of their wishes; the sum of widths must have room.
    """
    blocks: list[tuple[list[int], float]] = []  # members, and where the block begins

    def begin(members: list[int]) -> float:
        before, wishes = 0.0, 0.0
        for i in members:
            wishes += wanted[i] - widths[i] / 2 - before
            before += widths[i]
        return min(max(wishes / len(members), left), right - before)

    for i in range(len(wanted)):
        members = [i]
        start = begin(members)
        while blocks and blocks[-1][1] + sum(widths[k] for k in blocks[-1][0]) > start:
            members = blocks.pop()[0] + members
            start = begin(members)
        blocks.append((members, start))
    places = [0.0] * len(wanted)
    for members, x in blocks:
        for i in members:
            places[i] = x + widths[i] / 2
            x += widths[i]
    return places
