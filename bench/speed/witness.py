"""The bench's own witness: how many events a second it takes, and what it adds to a job."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from typing import Literal

from bench.history import History
from bench.orders import FINISH
from bench.postgres import sql
from bench.speed.figures import (
    AGAIN,
    Cell,
    Chart,
    Contender,
    Measure,
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
from bench.speed.handlers import EVERY_JOB, MARKS
from bench.speed.shipped import Stuck, fill, install, workers
from bench.witness import Desk, Witness

EVENTS = 40_000
"""Of all clients together."""

JOBS = 10_000
CLIENTS = (1, 4)
PREFETCH = 199
WITHIN = 600.0
"""Seconds that one round may take."""

KINDS: Mapping[Literal["executions", "lines"], tuple[int, str]] = {
    "executions": (3, "a connection each: started, the order to finish, finished"),
    "lines": (1, "one connection a client: what a worker tells, which nobody answers"),
}
"""What clients do, how many events of the history that makes each time, and what it is in words."""

WITHOUT, WITH = "without", "with"


def run(ground: Ground) -> Result:
    """Raises Stuck where a client or a worker fails."""
    jobs, events = ground.amount(JOBS, 100), ground.amount(EVENTS, 200)
    takes = alternate(_takers(ground, events), ground.rounds, ground.tell)
    adds = alternate(_drains(ground, jobs), ground.rounds, ground.tell)
    return Result(
        "witness",
        {
            "witness": "one thread of the measure's own process, as in a run",
            "clients": "processes with the Python kit",
            "drain": f"one worker, slots 1, prefetch {PREFETCH}, {jobs} no-op jobs, synchronous_commit off",
        },
        [_taken(takes), _added(adds)],
        [_chart(takes)],
        raw={"takes": [asdict(sample) for sample in takes], "adds": [asdict(sample) for sample in adds]},
    )


def _takers(ground: Ground, events: int) -> list[Contender]:
    return [
        Contender(_taker(kind, clients), about, partial(take, ground, kind, clients, max(1, events // each // clients)))
        for kind, (each, about) in KINDS.items()
        for clients in CLIENTS
    ]


def _taker(kind: str, clients: int) -> str:
    return f"{kind}, {clients} at once"


def _drains(ground: Ground, jobs: int) -> list[Contender]:
    return [
        Contender(WITHOUT, "a handler that does nothing", partial(drain, ground, jobs, "noop")),
        Contender(WITH, "a handler that does what the puppet does", partial(drain, ground, jobs, "told")),
        Contender(WITH + AGAIN, "the same", partial(drain, ground, jobs, "told")),
    ]


def take(ground: Ground, kind: Literal["executions", "lines"], clients: int, times: int) -> dict[str, float]:
    """So many clients at once, each with so much to say: how many events a second the witness wrote down."""
    with _desk() as (witness, desk), ExitStack() as stack:
        desk.plan([EVERY_JOB], [FINISH])
        command = [sys.executable, "-m", "bench.speed.handlers", kind, str(times)]
        processes = []
        for number in range(clients):
            environment = ground.environment(_told(witness, desk, f"client-{number}"))
            process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE)
            stack.callback(_end, process)
            processes.append(process)
        _until(desk.history, clients, processes)
        began = time.monotonic()
        for process in processes:
            assert process.stdin  # it is a pipe
            process.stdin.write(b"go\n")
            process.stdin.flush()
        events = clients * times * KINDS[kind][0]
        _until(desk.history, clients + events, processes)
        return {"rate": events / (time.monotonic() - began)}


def _until(history: History, events: int, processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Wait until so many events are in a history. It is looked at seldom: a look is work for the witness's process."""
    deadline = time.monotonic() + WITHIN
    while len(history.events()) < events:
        failed = [process.args for process in processes if process.poll()]
        if failed or time.monotonic() > deadline:
            raise Stuck(f"the witness has {len(history.events())} of {events} events; clients that failed: {failed}")
        time.sleep(0.02)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def drain(ground: Ground, jobs: int, handler: Literal["noop", "told"]) -> dict[str, float]:
    """One worker does so many jobs, its handler being one or the other: us a job, from the first start to the last."""
    with ground.database(synchronous_commit=False) as dsn, sql.session(dsn) as connection, _desk() as (witness, desk):
        install(ground, dsn)
        fill(connection, handler, jobs)
        ids = [str(id) for (id,) in connection.execute("SELECT id FROM jobs")]
        desk.plan(ids, [FINISH])
        more = {MARKS: f"0,{jobs - 1}", **_told(witness, desk, "worker")}
        with workers(ground, dsn, more=more) as crew:
            crew.start("--prefetch", str(PREFETCH))
            crew.until_done(connection, WITHIN)
            crew.stop()
            first, last, _ = map(json.loads, crew.said.read_text().splitlines())
        written = sum(event["event"] == "finished" for event in desk.history.events())
    if handler == "told" and written != jobs:
        raise Stuck(f"the witness was told of the end of {written} jobs, and {jobs} have ended")
    per = 1e6 / (jobs - 1)
    return {"us": (last["at"] - first["at"]) * per, "worker CPU": (last["cpu"] - first["cpu"]) * per}


@contextmanager
def _desk() -> Iterator[tuple[Witness, Desk]]:
    with Witness() as witness:
        yield witness, witness.desk(History())


def _told(witness: Witness, desk: Desk, name: str) -> dict[str, str]:
    """The environment of whoever speaks to a witness."""
    return {"LEASEPROOF_WITNESS": witness.address, "LEASEPROOF_TOKEN": desk.token, "LEASEPROOF_WORKER": name}


def _taken(samples: Sequence[Sample]) -> Table:
    rows: list[Sequence[Cell]] = []
    for kind, (_, about) in KINDS.items():
        for clients in CLIENTS:
            of = spread(samples, _taker(kind, clients), "rate")
            rows.append([kind, clients, of.middle, of.low, of.high, about])
    columns = ("what", "clients at once", "events a second", "from", "to", "each")
    return Table("What the witness takes", columns, rows, "events as the history counts them")


def _added(samples: Sequence[Sample]) -> Table:
    rows: list[Sequence[Cell]] = []
    for figure, what in (("us", "from one start to the next"), ("worker CPU", "CPU of the worker")):
        without, with_, times = (
            spread(samples, WITHOUT, figure),
            spread(samples, WITH, figure),
            ratio(samples, figure, WITH, WITHOUT),
        )
        within = noise(samples, figure, WITH)
        rows.append(
            [
                what,
                without.middle,
                with_.middle,
                with_.middle - without.middle,
                *(times.middle, times.low, times.high),
                within,
                compared(times, within),
            ]
        )
    columns = (
        *("a job, us", "without", "with", "the witness adds"),
        *("times", "from", "to", "noise, a factor of", "so"),
    )
    return Table("What the witness adds to a job", columns, rows)


def _chart(samples: Sequence[Sample]) -> Chart:
    series: dict[str, Sequence[Point]] = {
        kind: [Point(f"{clients}", spread(samples, _taker(kind, clients), "rate")) for clients in CLIENTS]
        for kind in KINDS
    }
    return Chart("witness", "Events that the witness takes, by clients at once", "a second", "bars", series)


ABOUT = """\
How many events a second the bench's witness writes down, from one and from several clients of the Python kit; and what
it adds to a job: a worker of queue_core drains no-op jobs, and jobs that tell the witness of their start and their end
as a puppet does."""

MEASURE = Measure("witness", ABOUT, run)
