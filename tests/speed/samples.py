"""Measurements without a server: made up, in turn, of contenders that count."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from bench.measured import FORMAT
from bench.speed.figures import (
    AGAIN,
    Chart,
    Contender,
    Goal,
    Measure,
    Missing,
    Point,
    Result,
    Sample,
    Table,
    alternate,
    compared,
    noise,
    ratio,
    spread,
)
from bench.speed.ground import Ground


def counting(name: str, *figures: float) -> Contender:
    """Shows these figures, one a round, as what it does a second."""
    left = iter(figures)
    return Contender(name, "counts", lambda: {"jobs/s": next(left)})


def told(one: str, other: str, samples: list[Sample]) -> Result:
    """What a measure of two contenders says, of which the first is run again in each round."""
    found = {name: spread(samples, name, "jobs/s") for name in (one, other)}
    of, by = ratio(samples, "jobs/s", one, other), noise(samples, "jobs/s", one)
    rows = [(name, each.middle, f"{each.low:.0f} to {each.high:.0f}") for name, each in found.items()]
    points = {name: [Point("batch 1", each), Point("batch 10", each)] for name, each in found.items()}
    return Result(
        "tiny",
        {"synchronous_commit": "on", "batch": "1, and 10"},
        tables=[
            Table("Jobs a second", ("contender", "jobs/s", "range"), rows, "The more the better."),
            Table(
                "Ratios",
                ("of", "median", "noise", "", "jobs"),
                [("one | other", of.middle, by, compared(of, by), 100_003), ("none", None, None, "", 0)],
            ),
        ],
        charts=[
            Chart("tiny-bars", "Jobs a second", "jobs/s", "bars", {"": [Point(n, s) for n, s in found.items()]}),
            Chart("tiny-lines", "By batch", "jobs/s", "lines", points, log=True),
        ],
        goals=[
            Goal("one against the other", "at least", 1.5, of.middle),
            Goal("the noise", "at most", 1.01, by, "the contenders only count"),
        ],
        raw={"samples": samples},
    )


def result() -> Result:
    """Of contenders that are told apart."""
    contenders = [
        counting("one", 32_000, 34_567, 33_000),
        counting("one" + AGAIN, 32_600, 34_000, 33_000),
        counting("the other", 16_000, 17_100, 16_400),
    ]
    return told("one", "the other", alternate(contenders, 3, lambda words: None))


def record(**changed: Any) -> dict[str, Any]:
    """A record as it is read from its file."""
    found = result()
    about: Mapping[str, Any] = {
        "format": FORMAT,
        "about": "Two contenders that count, and nothing else.",
        "leaseproof": "0.1.0",
        "command": "leaseproof bench tiny --out x",
        "started": "2026-12-01T12:00:00+00:00",
        "seconds": 1.5,
        "rounds": 3,
        "scale": 1.0,
        "machine": {"processor": "2 x a processor", "postgres": "18.6 (embedded)"},
    }
    goals = [{**asdict(goal), "met": goal.met} for goal in found.goals]
    read: dict[str, Any] = json.loads(json.dumps({**about, **asdict(found), "goals": goals, **changed}))
    return read


def tiny(ground: Ground) -> Result:
    """A measure that asks its server something, and counts."""
    with ground.database():
        n = float(ground.amount(1000))
        one, again, other = (counting(name, *[n] * ground.rounds) for name in ("one", "one" + AGAIN, "the other"))
        return told("one", "the other", alternate([one, again, other], ground.rounds, ground.tell))


def lacking(ground: Ground) -> Result:
    raise Missing("counter is not installed: apt-get install counter")


def broken(ground: Ground) -> Result:
    raise ZeroDivisionError(ground.rounds)


MEASURES = {run.__name__: Measure(run.__name__, f"It is {run.__name__}.", run) for run in (tiny, lacking, broken)}
