"""Where the bench's CPU goes: what each kind of process costs by itself, and how many of them a run has."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from bench import discover
from bench.history import load
from bench.janitor import MARK
from bench.nursery import Nursery
from bench.postgres import cluster
from bench.speed.command import Ran
from bench.speed.figures import Cell, Contender, Sample, Spread, Table, alternate, spread
from bench.speed.ground import Ground

FORKS, DATABASES = 20, 10
"""Of which the cost is measured together, against none."""

BARE, DRIVER, COMMAND = "a bare interpreter", "an interpreter with psycopg", "the command's own imports"
SERVER, WITH_DATABASES = "a server, started and stopped", f"a server with {DATABASES} databases"
NURSERY, WITH_FORKS = "the nursery", f"the nursery with {FORKS} forks"


def measured(ground: Ground) -> list[Sample]:
    """Each kind of process once a round: `cpu` and `wall`, in seconds."""
    kinds: Mapping[str, Callable[[], None]] = {
        BARE: lambda: _python("pass"),
        DRIVER: lambda: _python("import psycopg"),
        COMMAND: lambda: _python("import bench.cli"),
        SERVER: lambda: _server(ground, 0),
        WITH_DATABASES: lambda: _server(ground, DATABASES),
        NURSERY: lambda: _nursery(ground, 0),
        WITH_FORKS: lambda: _nursery(ground, FORKS),
    }
    contenders = [Contender(name, "", lambda body=body: _used(body)) for name, body in kinds.items()]  # type: ignore[misc]
    return alternate(contenders, ground.rounds, ground.tell)


def _used(body: Callable[[], None]) -> dict[str, float]:
    """What this process, and all its children that have ended meanwhile, used."""
    before, began = _cpu(), time.monotonic()
    body()
    return {"cpu": _cpu() - before, "wall": time.monotonic() - began}


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _python(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True)


def _server(ground: Ground, databases: int) -> None:
    """One as a run has it, with its settings."""
    server = cluster.start(ground.programs, ground.run_dir.path)
    try:
        for number in range(databases):
            server.drop(server.create_database(f"probe_{number}"))
    finally:
        server.stop()


def _nursery(ground: Ground, forks: int) -> None:
    """One as a run has it; its forks are control processes that are asked for nothing."""
    subject, extra = discover.subject("queue_core"), {MARK: ground.run_dir.id}
    with Nursery(subject.warm, [], extra) as nursery, ExitStack() as stack:
        nothing = os.open(os.devnull, os.O_RDWR)
        stack.callback(os.close, nothing)
        for _ in range(forks):
            nursery.spawn("control", extra, (nothing, nothing, nothing)).wait()


def counted(ran: Ran) -> dict[str, int]:
    """How many processes of which kind a run had, by its histories: the tries that were not the last included."""
    private = {scenario.name for scenario in discover.scenarios() if scenario.private}
    histories = [(path.parent.name, load(path)) for path in ran.out.glob("*/*.jsonl")]
    spawned = sum(event["event"] == "spawned" for _, events in histories for event in events)
    return {
        "control processes": len(histories),
        "workers and other processes of the subject": spawned,
        "servers": 1 + sum(name in private for name, _ in histories),
        "databases": len(histories),
    }


def tables(ran: Ran, samples: Sequence[Sample]) -> list[Table]:
    """What each kind costs, and what that comes to in a run."""
    cost = {name: spread(samples, name, "cpu") for name in (BARE, DRIVER, COMMAND, SERVER, NURSERY)}
    fork, database = _each(samples, WITH_FORKS, NURSERY, FORKS), _each(samples, WITH_DATABASES, SERVER, DATABASES)
    each: Mapping[str, Spread] = {**cost, "a fork of the nursery": fork, "a database, made and dropped": database}
    rows: list[Sequence[Cell]] = [[name, of.middle * 1e3, of.low * 1e3, of.high * 1e3] for name, of in each.items()]
    prices = Table("What it costs to start something", ("", "CPU, ms", "from", "to"), rows)
    return [prices, _bill(ran, each, fork, database)]


def _bill(ran: Ran, cost: Mapping[str, Spread], fork: Spread, database: Spread) -> Table:
    number, whole = counted(ran), ran.data["cpu_seconds"]
    forked = number["control processes"] + number["workers and other processes of the subject"]
    bill = [
        ("the command's own imports", 1, cost[COMMAND]),
        ("the nursery", 1, cost[NURSERY]),
        ("control processes", number["control processes"], fork),
        ("workers, producers, schedulers", number["workers and other processes of the subject"], fork),
        ("servers", number["servers"], cost[SERVER]),
        ("databases", number["databases"], database),
    ]
    rows: list[Sequence[Cell]] = [
        [what, times, of.middle * 1e3, of.middle * times, of.middle * times / whole] for what, times, of in bill
    ]
    rest = whole - sum(of.middle * times for _, times, of in bill)
    rows.append(["the rest: what they then do, and the bench itself", None, None, rest, rest / whole])
    note = (
        f"Were each of the {forked} forked processes an interpreter with a database driver, they would cost "
        f"{forked * cost[DRIVER].middle:.1f} s, where they cost {forked * fork.middle:.1f} s. A few are "
        "started afresh; they are counted as forks here."
    )
    columns = ("", "how many", "CPU each, ms", "CPU, s", "share of the run's")
    return Table(f"Where a run's {whole:.1f} CPU seconds go", columns, rows, note)


def _each(samples: Sequence[Sample], many: str, none: str, times: int) -> Spread:
    """What one of several costs, round by round."""
    by = {(sample.contender, sample.round): sample.figures["cpu"] for sample in samples}
    rounds = {number for _, number in by}
    return Spread.of((by[many, number] - by[none, number]) / times for number in rounds)
