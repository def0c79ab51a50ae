"""Whether promises hold at full speed: many workers, random kills and pauses, and books of all that came of it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from bench.postgres import sql
from bench.speed import shipped
from bench.speed.books import BOOKS, broken, read_books, read_logs, repeated, taken_back
from bench.speed.figures import Cell, Contender, Goal, Measure, PromiseBroken, Result, Table, alternate, spread
from bench.speed.ground import Ground
from bench.speed.handlers import LOGS
from bench.speed.shipped import Stuck, Workers

JOBS = 100_000
ATTEMPTS = 1000
"""Of each job: a kill spends one, and none shall fail for that."""

WITHIN = 1800.0
"""Seconds after which a storm has come to a stop."""

SHOWN = 10
"""Broken promises that are told in full."""


@dataclass(frozen=True)
class Weather:
    """How a storm is: a strike each `every` seconds, each `pause_each`th of them SIGSTOP for `pause` leases and then
    SIGCONT, all others kill -9 with another worker in its place."""

    workers: int = 8
    lease: float = 2.0
    slots: int = 4
    prefetch: int = 50
    every: float = 0.3
    pause_each: int = 4
    pause: float = 1.5
    kind: str = "logged"
    """Of the jobs."""
    command: Sequence[str] = shipped.COMMAND

    @property
    def held(self) -> int:
        """Jobs that a worker may hold."""
        return self.slots + self.prefetch

    @property
    def words(self) -> str:
        return (
            f"{self.workers} workers, slots {self.slots}, prefetch {self.prefetch}, lease {self.lease:g} s; each "
            f"{self.every:g} s one that is at work is struck: kill -9 and another in its place, or, each "
            f"{self.pause_each}th time, SIGSTOP for {self.pause:g} leases"
        )


def run(ground: Ground) -> Result:
    """Raises PromiseBroken, and Stuck where the jobs come to no end."""
    weather, jobs, seeds = Weather(), ground.amount(JOBS, 2000), count(1)
    contender = Contender("storm", weather.words, lambda: storm(ground, jobs, weather, next(seeds)))
    samples = alternate([contender], ground.rounds, ground.tell)
    columns = ("", "middle", "from", "to")
    rows: list[Sequence[Cell]] = []
    for figure in samples[0].figures:
        of = spread(samples, contender.name, figure)
        rows.append([figure, of.middle, of.low, of.high])
    note = (
        f"A strike can cost {weather.held} jobs another execution, what the worker may hold. What was taken back from "
        "workers that nobody had struck shows a machine that was too busy for their heartbeats."
    )
    return Result(
        "storm",
        {contender.name: weather.words, "jobs": f"{jobs} no-op jobs, put in before, {ATTEMPTS} attempts each"},
        [Table("A storm", columns, rows, note)],
        goals=[
            Goal("jobs lost in a storm", "at most", 0, 0.0),
            Goal("jobs doubled in a storm", "at most", 0, 0.0),
        ],
        raw={"jobs": jobs, "weather": asdict(weather), "samples": [asdict(sample) for sample in samples]},
    )


def storm(ground: Ground, jobs: int, weather: Weather, seed: int) -> Mapping[str, float]:
    """Have so many jobs done in a storm; its figures. Raises PromiseBroken, and Stuck as above."""
    logs = ground.run_dir.folder(f"storm-{time.monotonic_ns()}")
    with ground.database(synchronous_commit=False) as dsn, sql.session(dsn) as connection:
        shipped.install(ground, dsn)
        shipped.fill(connection, weather.kind, jobs, ATTEMPTS)
        connection.execute(BOOKS)
        with shipped.workers(ground, dsn, weather.command, {LOGS: str(logs)}) as crew:
            began = time.monotonic()
            strikes = Strikes(crew, weather, random.Random(seed), logs)
            strikes.until_done(connection)
            seconds = time.monotonic() - began
            strikes.over()  # and only then the books are complete: who was paused may still finish something
        return _judged(connection, logs, jobs, seconds, strikes)


@dataclass
class Strikes:
    """Strikes workers at random, of those that have run something by their `logs`: else none might come so far.

    `killed` and `paused` are their names.
    """

    crew: Workers
    weather: Weather
    dice: random.Random
    logs: Path
    killed: list[str] = field(default_factory=list)
    paused: list[str] = field(default_factory=list)
    _alive: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _asleep: dict[str, float] = field(default_factory=dict)
    """Until when."""

    def until_done(self, connection: psycopg.Connection) -> None:
        """Strike until nothing is left to do. Raises Stuck."""
        for _ in range(self.weather.workers):
            self._start()
        deadline, strike = time.monotonic() + WITHIN, 0.0  # the first comes as soon as one is at work
        while shipped.left(connection):
            now = time.monotonic()
            if now > deadline:
                raise Stuck(f"a storm was not over in {WITHIN:g} s: jobs are left")
            self._wake(now)
            if now >= strike and (at_work := list(filter(self._is_at_work, self._alive))):
                strike = now + self.weather.every
                self._strike(self.dice.choice(at_work), now)
            time.sleep(min(0.05, self.weather.every / 4))

    def over(self) -> None:
        """Wake all, and let them come to their ends. Raises Stuck where one ended that nobody killed."""
        self._wake(float("inf"))
        self.crew.stop()

    def _start(self) -> None:
        name = f"worker-{len(self.crew.processes) + len(self.killed) + 1}"
        weather = self.weather
        self._alive[name] = self.crew.start(
            *("--name", name, "--lease", f"{weather.lease}"),
            *("--slots", f"{weather.slots}", "--prefetch", f"{weather.prefetch}"),
        )

    def _is_at_work(self, name: str) -> bool:
        """Whether a worker has run something, and is not paused."""
        log = self.logs / str(self._alive[name].pid)
        return name not in self._asleep and log.exists() and log.stat().st_size > 0

    def _strike(self, name: str, now: float) -> None:
        self.crew.check()
        process = self._alive[name]
        if (len(self.killed) + len(self.paused) + 1) % self.weather.pause_each == 0:
            os.kill(process.pid, signal.SIGSTOP)
            self._asleep[name] = now + self.weather.pause * self.weather.lease
            self.paused.append(name)
            return
        process.kill()
        process.wait()
        self.killed.append(name)
        self.crew.processes.remove(process)
        del self._alive[name]
        self._start()

    def _wake(self, now: float) -> None:
        for name in [name for name, until in self._asleep.items() if now >= until]:
            del self._asleep[name]
            with suppress(ProcessLookupError):
                os.kill(self._alive[name].pid, signal.SIGCONT)


def _judged(
    connection: psycopg.Connection, logs: Path, jobs: int, seconds: float, strikes: Strikes
) -> Mapping[str, float]:
    executions, entries = read_logs(logs), read_books(connection)
    states: list[tuple[Any, ...]] = connection.execute("SELECT id, state FROM jobs").fetchall()
    found = broken([(job, state) for job, state in states], executions, entries)
    if len(states) != jobs:
        found.append(f"lost: {jobs} jobs were put in, and the table has {len(states)}")
    if found:
        shown = "".join(f"\n    {each}" for each in found[:SHOWN])
        raise PromiseBroken(f"a storm broke {len(found)} promises; the first are:{shown}")
    back = taken_back(entries)
    struck = {*strikes.killed, *strikes.paused}
    return {
        "jobs a second": jobs / seconds,
        "kills": len(strikes.killed),
        "pauses": len(strikes.paused),
        "jobs taken back": len(back),
        "of those, from workers that were not struck": sum(entry.worker not in struck for entry in back),
        "at most, by what strikes can cost": (len(strikes.killed) + len(strikes.paused)) * strikes.weather.held,
        "repeated executions": repeated(executions),
    }


ABOUT = """\
Eight workers of queue_core as shipped drain no-op jobs while one of them is killed or paused every moment. Their own
logs of what they ran, and the database's of what it was told, are held against each other: no job is lost, and none is
finished twice, run twice under one claim, or taken from a worker whose lease was alive. Else the measure fails."""

MEASURE = Measure("storm", ABOUT, run)
