"""What a measurement is made of: contenders that run in turn, their figures, and what may be said of two of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from bench.speed.ground import Ground

Cell = str | float | int | None
"""Of a table; None is what could not be measured."""


@dataclass(frozen=True)
class Contender:
    """Something that is measured: each call of `run` is one round, and returns its figures by name.

    `settings` says in words how it is set, for the reader. One that can't run here raises Missing.
    """

    name: str
    settings: str
    run: Callable[[], Mapping[str, float]]


class Missing(Exception):
    """A contender can't run on this machine: says what is missing, and how to get it."""


class PromiseBroken(Exception):
    """A queue broke a promise while it was measured, lost or doubled a job: a finding, and no figure. Says how."""


@dataclass(frozen=True)
class Sample:
    """What one contender showed in one round (from 0)."""

    contender: str
    round: int
    figures: Mapping[str, float]


@dataclass(frozen=True)
class Spread:
    """A median, and the range that it comes from."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Raises ValueError where there is no value."""
        ordered = sorted(values)
        if not ordered:
            raise ValueError("no value was measured")
        return cls(median(ordered), ordered[0], ordered[-1])


def alternate(contenders: Sequence[Contender], rounds: int, tell: Callable[[str], None]) -> list[Sample]:
    """Run all of them in each round, every other round in the opposite order, so that a drift falls on all alike."""
    samples = []
    for number in range(rounds):
        for contender in contenders if number % 2 == 0 else reversed(contenders):
            tell(f"round {number + 1} of {rounds}: {contender.name}")
            samples.append(Sample(contender.name, number, dict(contender.run())))
    return samples


def spread(samples: Iterable[Sample], contender: str, figure: str) -> Spread:
    """A contender's figure over its rounds."""
    return Spread.of(each.figures[figure] for each in samples if each.contender == contender)


def ratio(samples: Sequence[Sample], figure: str, one: str, other: str) -> Spread:
    """How many times as much of a figure one contender shows as another: round by round, since only that holds."""
    by = {(each.contender, each.round): each.figures[figure] for each in samples if figure in each.figures}
    rounds = [number for name, number in by if name == one and (other, number) in by]
    return Spread.of(by[one, number] / by[other, number] for number in rounds)


AGAIN = " again"
"""Ends the name of a contender that is measured twice in each round: the two differ by noise alone."""


def noise(samples: Sequence[Sample], figure: str, contender: str) -> float:
    """By what factor (1 or more) two runs of the same contender differ within a round, at the most."""
    of = ratio(samples, figure, contender, contender + AGAIN)
    return math.exp(max(abs(math.log(of.low)), abs(math.log(of.high))))


def compared(of: Spread, noise: float) -> Literal["more", "less", "not told apart"]:
    """What may be said of a ratio: nothing, unless its whole range lies beyond the noise."""
    if of.low > noise:
        return "more"
    return "less" if of.high < 1 / noise else "not told apart"


@dataclass(frozen=True)
class Goal:
    """What was meant to be reached: a `figure` of at least, or at most, so much. None: it could not be measured."""

    text: str
    kind: Literal["at least", "at most"]
    wanted: float
    figure: float | None
    why: str = ""
    """Where it is not met: why."""

    @property
    def met(self) -> bool | None:
        """None where there is no figure."""
        if self.figure is None:
            return None
        return self.figure >= self.wanted if self.kind == "at least" else self.figure <= self.wanted


@dataclass(frozen=True)
class Table:
    """One table: a title, the names of its columns, rows of as many cells, and a note under it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


@dataclass(frozen=True)
class Point:
    """One bar, or one point of a line: at `label`, with its range."""

    label: str
    value: Spread


@dataclass(frozen=True)
class Chart:
    """One picture. `bars`: one bar a point; `lines`: one line a series over the same labels."""

    name: str
    """Of its file: letters and hyphens."""
    title: str
    unit: str
    kind: Literal["bars", "lines"]
    series: Mapping[str, Sequence[Point]]
    log: bool = False
    """Whether the axis of the figures is logarithmic."""


@dataclass(frozen=True)
class Result:
    """What a measure brought: `settings` in words, and all single figures in `raw`, as JSON can hold them."""

    measure: str
    settings: Mapping[str, str]
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    goals: Sequence[Goal] = ()
    missing: Sequence[str] = ()
    """What could not be measured, and why."""
    raw: Any = field(default_factory=dict)


@dataclass(frozen=True)
class Measure:
    """One question about speed. `about` is a sentence or two of what is measured, and how."""

    name: str
    about: str
    run: Callable[[Ground], Result]
    services: tuple[str, ...] = ()
    """What its contenders need beside PostgreSQL, where it can be had."""
