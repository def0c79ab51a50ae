"""An axis of figures: where a figure stands, and which ones are named along it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Pixels `start` to `end` for `low` to `high`; `step` is between two ticks, where it is not logarithmic."""

    start: float
    end: float
    low: float
    high: float
    step: float
    log: bool

    def at(self, value: float) -> float:
        """The place of a figure; what a logarithm cannot have stands at the lower end."""
        if self.log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    @property
    def base(self) -> float:
        """Where bars begin: at nothing, or where a logarithmic axis begins."""
        return self.at(self.low if self.log else 0.0)

    def ticks(self) -> list[float]:
        """The figures that are named, from low to high."""
        if not self.log:
            first, last = round(self.low / self.step), round(self.high / self.step)
            return [n * self.step for n in range(first, last + 1)]
        decades = round(math.log10(self.high / self.low))
        each = max(1, math.ceil(decades * self.step / abs(self.end - self.start)))
        inner = (1, 2, 5) if decades * 3 * self.step <= abs(self.end - self.start) else (1,)
        found = [m * self.low * 10.0**n for n in range(0, decades + 1, each) for m in inner]
        return [tick for tick in found if tick <= self.high * 1.001]


def scale(values: Iterable[float], start: float, end: float, apart: float, log: bool) -> Scale:
    """The axis that has room for all values, and for ticks that are at least so many pixels `apart`.

    It begins at 0, so that a length is a share, unless it is logarithmic; without a value above 0 it can't be that.
    """
    known = list(values)
    above = [value for value in known if value > 0]
    if log and above:
        low = 10.0 ** math.floor(math.log10(min(above)) + 1e-9)
        high = 10.0 ** math.ceil(math.log10(max(above)) - 1e-9)
        return Scale(start, end, low, high if high > low else low * 10, apart, True)
    low, high = min([0.0, *known]), max([0.0, *known])
    high = high if high > low else low + 1
    step = _round_step((high - low) * apart / abs(end - start))
    return Scale(start, end, _floor(low / step) * step, -_floor(-high / step) * step, step, False)


def _floor(value: float) -> int:
    return math.floor(value + 1e-9)


def _round_step(least: float) -> float:
    ten = 10.0 ** math.floor(math.log10(least))
    return next(m * ten for m in (1, 2, 5, 10) if m * ten >= least or m == 10)
