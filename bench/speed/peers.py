"""How fast no-op jobs that wait are run by the core, and by queues that people use, each at its best settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from bench.speed.figures import (
    Cell,
    Chart,
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
from bench.speed.queues import Drain, Setting

CORE = "queue_core"

GOALS = {
    "pgmq": 1.0,
    "graphile-worker": 1.0,
    "pgqueuer": 2.5,
    "pg-boss": None,
    "awa": 7.0,
    "chancy": 9.0,
    "oban": 9.0,
    "absurd": None,
    "procrastinate": 60.0,
    "celery-redis": None,
    "rq": None,
}
"""The peers, and how many times as fast as each the core is meant to be; None: no more than the figure is asked for."""

SETTINGS = [Setting(workers) for workers in (1, 2)]


def run(ground: Ground) -> Result:
    """Peers that can't run here are left out, and named."""
    missing: list[str] = []
    drains = {CORE: Drain(ground, CORE)}
    for name in GOALS:
        try:
            drains[name] = Drain(ground, name)
        except Missing as error:
            missing.append(str(error))
    taken = {setting: _samples(ground, drains, setting) for setting in SETTINGS}
    first = taken[SETTINGS[0]]
    return Result(
        "peers",
        {name: drain.settings for name, drain in drains.items()},
        [_table(setting, samples, list(drains)) for setting, samples in taken.items()],
        [_chart(taken, list(drains))],
        [
            Goal(f"times as fast as {name}, {SETTINGS[0].words}", "at least", wanted, _times(first, name))
            for name, wanted in GOALS.items()
            if wanted is not None
        ],
        missing,
        [{"setting": asdict(setting), "samples": [asdict(s) for s in samples]} for setting, samples in taken.items()],
    )


def _samples(ground: Ground, drains: dict[str, Drain], setting: Setting) -> list[Sample]:
    amounts = {name: drain.amount(setting) for name, drain in drains.items()}
    contenders = [drain.contender(setting, amounts[name]) for name, drain in drains.items()]
    contenders.append(drains[CORE].contender(setting, amounts[CORE], again=True))
    return alternate(contenders, ground.rounds, lambda text: ground.tell(f"{setting.words}: {text}"))


def _times(samples: Sequence[Sample], name: str) -> float | None:
    if not any(sample.contender == name for sample in samples):
        return None
    return ratio(samples, "rate", CORE, name).middle


def _table(setting: Setting, samples: Sequence[Sample], names: Sequence[str]) -> Table:
    columns = ("", "jobs/s", "from", "to", "queue_core / it", "from", "to", "beyond the noise")
    factor = noise(samples, "rate", CORE)
    rows: list[list[Cell]] = []
    for name in sorted(names, key=lambda name: -spread(samples, name, "rate").middle):
        rate, times = spread(samples, name, "rate"), ratio(samples, "rate", CORE, name)
        said = "" if name == CORE else compared(times, factor)
        rows.append([name, rate.middle, rate.low, rate.high, times.middle, times.low, times.high, said])
    words = f"{setting.words[0].upper()}{setting.words[1:]}, each queue at its best settings"
    return Table(words, columns, rows, f"Two runs of queue_core in a round differ by a factor of {factor:.2f} at most.")


def _chart(taken: dict[Setting, list[Sample]], names: Sequence[str]) -> Chart:
    bars = {
        setting.words: [Point(name, spread(samples, name, "rate")) for name in names]
        for setting, samples in taken.items()
    }
    return Chart("peers", "Drain of no-op jobs", "jobs/s", "bars", bars, log=True)


ABOUT = """\
Pre-enqueued no-op jobs, run by queue_core as shipped and by queues that people use, each by a plain worker program at
its documented best settings (subjects/NAME/drain.py or drain.js), in turn, with one and with two worker processes.
synchronous_commit is off for those in PostgreSQL. Each round has as many jobs as the queue runs in two seconds."""

MEASURE = Measure("peers", ABOUT, run, services=("redis",))
