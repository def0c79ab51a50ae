"""How soon a job starts once its enqueue has committed: queue_core's worker and its peers', idle and under load."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from bench import discover
from bench.speed.figures import (
    AGAIN,
    Cell,
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
from bench.speed.starts import Line, worker

CORE = "queue_core"
PEERS = ("pgqueuer", "graphile-worker")
PAUSE = (0.02, 0.06)
"""Seconds, drawn anew each time, that an idle queue is left alone for after its last job has started."""
POINTS = {"p50": 50, "p95": 95, "p99": 99}
IDLE, LOAD = "idle queue", "under load"


def idle(lines: Sequence[Line], jobs: int) -> dict[str, list[float]]:
    """So many jobs for each, one at a time on the whole machine, the queues in turn: none sees another's drift."""
    waits: dict[str, list[float]] = {line.name: [] for line in lines}
    for number in range(jobs):
        for line in lines if number % 2 == 0 else reversed(lines):
            time.sleep(random.uniform(*PAUSE) / len(lines))
            waits[line.name] += line.waits(dict([line.enqueue()]))
    return waits


def run(ground: Ground) -> Result:
    """Raises LatencyError."""
    few, many = ground.amount(500, 10), ground.amount(1000, 20)
    raw: list[dict[str, Any]] = []

    def taken(condition: str, name: str, waits: Sequence[float]) -> dict[str, float]:
        raw.append({"condition": condition, "contender": name, "ms": [round(wait, 3) for wait in waits]})
        points = statistics.quantiles(waits, n=100, method="inclusive")
        return {point: points[percent - 1] for point, percent in POINTS.items()} | {"jobs": len(waits)}

    def under_load(line: Line) -> dict[str, float]:
        return taken(LOAD, line.name, line.stream(many, rate))

    with ExitStack() as stack:
        lines, missing = _lines(ground, stack)
        ground.tell("warming up")
        idle(lines, ground.amount(50, 5))
        rates = {line.name: line.throughput(ground.amount(500, 20)) for line in lines}
        rate = min(rates.values()) / 2

        samples: dict[str, list[Sample]] = {IDLE: []}
        for number in range(ground.rounds):
            ground.tell(f"{IDLE}: round {number + 1} of {ground.rounds}")
            waits = idle(lines if number % 2 == 0 else lines[::-1], few)
            samples[IDLE] += [Sample(name, number, taken(IDLE, name, each)) for name, each in waits.items()]
        contenders = [Contender(line.name, line.settings, partial(under_load, line)) for line in lines]
        samples[LOAD] = alternate(contenders, ground.rounds, lambda text: ground.tell(f"{LOAD}: {text}"))
    peers = [line.name for line in lines if line.name.removesuffix(AGAIN) != CORE]
    load = f"{rate:.0f} jobs a second, half of what the slowest starts of a burst"
    return Result(
        "latency",
        {line.name: line.settings for line in lines} | {"synchronous_commit": "on", LOAD: load},
        [_table(condition, lines, each) for condition, each in samples.items()],
        [_chart(condition, lines, each) for condition, each in samples.items()],
        [_goal(condition, peers, each) for condition, each in samples.items()],
        missing,
        {"throughput": rates, "rate": rate, "waits": raw},
    )


def _lines(ground: Ground, stack: ExitStack) -> tuple[list[Line], list[str]]:
    lines, missing = [], []
    for name in (CORE, *PEERS, CORE + AGAIN):
        ground.tell(f"starting a worker of {name}")
        try:
            lines.append(stack.enter_context(worker(ground, discover.subject(name.removesuffix(AGAIN)), name)))
        except Missing as why:
            missing.append(str(why))
    return lines, missing


def _table(condition: str, lines: Sequence[Line], samples: Sequence[Sample]) -> Table:
    within = noise(samples, "p99", CORE)
    columns = ("", *(f"{point}, ms" for point in POINTS), "p99 from", "to", f"p99 / {CORE}'s", "from", "to")
    rows: list[list[Cell]] = []
    for line in lines:
        last, times = spread(samples, line.name, "p99"), ratio(samples, "p99", line.name, CORE)
        told = "" if line.name == CORE else compared(times, within)
        points = [spread(samples, line.name, point).middle for point in POINTS]
        rows.append([line.name, *points, last.low, last.high, times.middle, times.low, times.high, told])
    note = f"Noise: p99 of two workers of {CORE} in a round differ by a factor of {within:.2f}. Below 0: it had started\
 before who put it in was told of its commit."
    return Table(f"From commit to start, {condition}", (*columns, "beyond the noise?"), rows, note)


def _chart(condition: str, lines: Sequence[Line], samples: Sequence[Sample]) -> Chart:
    series = {
        line.name: [Point(point, spread(samples, line.name, point)) for point in POINTS]
        for line in lines
        if not line.name.endswith(AGAIN)
    }
    title = f"From commit of the enqueue to start of the handler, {condition}"
    return Chart(f"latency-{condition.replace(' ', '-')}", title, "ms", "lines", series)


def _goal(condition: str, peers: Sequence[str], samples: Sequence[Sample]) -> Goal:
    if not peers:
        return Goal(f"p99, {condition}: of the best peer's", "at most", 1.0, None, "no peer has its environment here")
    best = min(peers, key=lambda name: spread(samples, name, "p99").middle)
    of, within = ratio(samples, "p99", CORE, best), noise(samples, "p99", CORE)
    why = f"by the noise, a factor of {within:.2f}, {CORE}'s is {compared(of, within)}"
    return Goal(f"p99, {condition}: of the best peer's, {best}'s", "at most", 1.0, of.middle, why)


ABOUT = """\
One worker process of each queue, over a database of its own; from when the commit of an enqueue has returned until the
handler has started. Idle: one job at a time, each queue's next one 20 to 60 ms after its last one. Under load: a steady
stream at half of the rate at which the slowest starts jobs of a burst."""

MEASURE = Measure("latency", ABOUT, run)
