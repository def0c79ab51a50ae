"""How a claim of one job fares as the table grows, as claimers come in, and while others keep old rows alive."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import asdict
from functools import partial
from typing import Any, get_args

from bench.speed.figures import AGAIN, Contender, Measure, Result, Sample, alternate
from bench.speed.ground import Ground
from queue_core import Queue, Retention
from subjects.queue_core.speed import claims, grown
from subjects.queue_core.speed.claims import State
from subjects.queue_core.speed.grown import (
    CLAIMERS,
    EMPTY,
    LIMIT,
    OLD,
    QUIET,
    RETAINED,
    SNAPSHOT_FREE,
    Churned,
    at,
    depth,
)

DEPTHS = (10**4, 10**5, LIMIT)
DEEPEST = 10**7
"""Only at full scale, where the disk has room."""
BYTES, WAL = 500, 8 * 2**30
"""What a row takes with its indexes, and what the server keeps of its log, roughly."""
CHURN, BLOAT = 10**5, 10**6
BATCH = 100
"""Jobs a claim, where many are got through."""
ROUNDS_OF_CHURN = 3
"""More would take too long."""
WITHIN = 300.0
"""Seconds that claimers may take for a round before they count as hung."""


def run(ground: Ground) -> Result:
    """Raises GrowthError where a queue does not give its jobs."""
    depths, missing = _depths(ground)
    deep = _grow(ground, depths)
    crowd = _crowd(ground)
    churned = Churned(ground.amount(CHURN, 200), _churn(ground))
    purged = _purge(ground)
    bloat = _bloat(ground)
    parts = {"depth": deep, "claimers": crowd, "old snapshot": churned.samples, "retention": purged}
    return Result(
        "growth",
        {
            "claims": "Queue.claim of one job on one connection, each finished after",
            "synchronous_commit": "off, so that no wait for the disk hides what grows",
            "buffers": f"hit and read, in EXPLAIN (ANALYZE, BUFFERS) of Queue.CLAIM, median of {claims.LOOKS}; from the\
 head of the queue, where nothing else is said",
            "old snapshot": f"at most {ROUNDS_OF_CHURN} rounds; bloat: one",
        },
        [
            grown.depth_table(deep, depths),
            grown.crowd_table(crowd),
            grown.churn_table(churned),
            grown.purge_table(purged),
            grown.bloat_table(bloat),
        ],
        [*grown.depth_charts(deep, depths), grown.crowd_chart(crowd), *grown.churn_charts(churned)],
        [*grown.depth_goals(deep, depths), *grown.churn_goals(churned)],
        missing,
        {part: [asdict(each) for each in samples] for part, samples in parts.items()} | {"bloat": bloat},
    )


def _depths(ground: Ground) -> tuple[list[int], list[str]]:
    depths = sorted({ground.amount(depth, 10) for depth in DEPTHS})
    free, need = shutil.disk_usage(ground.server.data).free, len(get_args(State)) * DEEPEST * BYTES + WAL
    if ground.scale < 1:
        return depths, [f"{DEEPEST:,} rows: only at scale 1"]
    if free < need:
        text = f"{DEEPEST:,} rows: the disk has {free / 2**30:.0f} GiB free, and {need / 2**30:.0f} are needed"
        return depths, [text]
    return [*depths, DEEPEST], []


def _taken(ground: Ground, what: str, contenders: Sequence[Contender], rounds: int | None = None) -> list[Sample]:
    return alternate(contenders, rounds or ground.rounds, lambda text: ground.tell(f"{what}: {text}"))


def _grow(ground: Ground, depths: Sequence[int]) -> list[Sample]:
    """Tables of all depths side by side, each filled once."""
    amount = ground.amount(500, 20)

    def measured(queue: Queue) -> dict[str, float]:
        queue.connection.execute("VACUUM jobs")  # what the round before has left
        found = claims.figures(claims.steady(queue, amount))
        return found | {"buffers": claims.touched(queue), "claims": amount}

    with ExitStack() as stack:

        def filled(name: str, state: State, rows: int) -> Contender:
            ground.tell(f"filling: {name}")
            queue = stack.enter_context(claims.opened(stack.enter_context(ground.database(synchronous_commit=False))))
            claims.fill(queue, state, rows)
            return Contender(name, "", partial(measured, queue))

        empty = filled(EMPTY, "done", 0)
        contenders = [empty, *(filled(depth(state, n), state, n) for state in get_args(State) for n in depths)]
        return _taken(ground, "depth", [*contenders, Contender(EMPTY + AGAIN, "", empty.run)])


def _crowd(ground: Ground) -> list[Sample]:
    amount = ground.amount(2000, 64)

    def crowd(dsn: str, queue: Queue, claimers: int) -> dict[str, float]:
        each = -(-amount // claimers)
        claims.fill(queue, "queued", each * claimers + 1000)
        done = subprocess.run(
            [sys.executable, "-m", "subjects.queue_core.speed.claimers", str(claimers), str(each)],
            env=ground.environment({"LEASEPROOF_POSTGRES": dsn}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WITHIN,
        )
        if done.returncode:
            raise claims.GrowthError(f"{claimers} claimers failed: {done.stderr.strip()[-2000:]}")
        told = json.loads(done.stdout)
        jobs = len(told["ms"])
        return claims.figures(told["ms"]) | {"rate": jobs / told["seconds"], "claims": jobs}

    with ground.database(synchronous_commit=False) as dsn, claims.opened(dsn) as queue:
        those = [claimers for claimers in CLAIMERS if claimers <= ground.amount(CLAIMERS[-1], 4)]
        contenders = [Contender(str(claimers), "", partial(crowd, dsn, queue, claimers)) for claimers in those]
        again = Contender(str(CLAIMERS[0]) + AGAIN, "", contenders[0].run)
        return _taken(ground, "claimers", [*contenders, again])


def _churn(ground: Ground) -> list[Sample]:
    jobs, looks = ground.amount(CHURN, 200), ground.amount(100, 5)
    step = jobs // grown.STEPS

    def churned(dsn: str, queue: Queue, old: bool) -> dict[str, float]:
        claims.fill(queue, "queued", jobs + (grown.STEPS + 1) * looks)
        found: dict[str, float] = {}
        with claims.old_snapshot(dsn) if old else nullcontext():
            for number in range(grown.STEPS + 1):
                if number:
                    claims.churn(queue, step, BATCH)
                mark = at(number * step)
                last, taken = zip(*(claims.claim(queue) for _ in range(looks)), strict=True)
                place = {"turn": last[-1][-1].turn, "id": last[-1][-1].id}
                found |= claims.figures(taken, mark)
                found |= {f"buffers{mark}": claims.touched(queue, place), f"head{mark}": claims.touched(queue)}
        return found

    with ground.database(synchronous_commit=False) as dsn, claims.opened(dsn) as queue:
        free = partial(churned, dsn, queue, False)
        contenders = [
            Contender(SNAPSHOT_FREE, "", free),
            Contender(OLD, "", partial(churned, dsn, queue, True)),
            Contender(SNAPSHOT_FREE + AGAIN, "", free),
        ]
        return _taken(ground, "old snapshot", contenders, min(ground.rounds, ROUNDS_OF_CHURN))


def _purge(ground: Ground) -> list[Sample]:
    """Done rows that are old enough are deleted by a thread that mostly waits for the server, or are not."""
    amount, rows = ground.amount(500, 20), ground.amount(10**5, 500)

    def quiet(queue: Queue) -> dict[str, float]:
        claims.fill(queue, "done", rows)
        found = claims.figures(claims.steady(queue, amount))
        return found | {"buffers": claims.touched(queue), "deleted": 0}

    def retained(dsn: str, queue: Queue) -> dict[str, float]:
        claims.fill(queue, "done", rows)
        with claims.opened(dsn) as other:
            # Of what was done two hours ago; not of what is done here.
            retention = Retention(other.connection, done_after=3600.0)
            thread = threading.Thread(target=retention.purge)
            thread.start()
            taken: list[float] = []
            try:
                while not taken or (thread.is_alive() and len(taken) < 100 * amount):
                    taken += claims.steady(queue, 10)
            finally:
                thread.join()
        left = queue.connection.execute("SELECT count(*) FROM jobs").fetchall()[0][0]
        deleted = rows + len(taken) - left
        return claims.figures(taken) | {"buffers": claims.touched(queue), "deleted": deleted}

    with ground.database(synchronous_commit=False) as dsn, claims.opened(dsn) as queue:
        without = partial(quiet, queue)
        contenders = [
            Contender(QUIET, "", without),
            Contender(RETAINED, "", partial(retained, dsn, queue)),
            Contender(QUIET + AGAIN, "", without),
        ]
        return _taken(ground, "retention", contenders)


def _bloat(ground: Ground) -> dict[str, Any]:
    """Bytes of the table and its indexes after many jobs, with autovacuum as it comes, and right after VACUUM FULL."""
    jobs, batch = ground.amount(BLOAT, 1000), 1000
    ground.tell(f"bloat: {jobs:,} jobs come and go")
    with ground.database(synchronous_commit=False) as dsn, claims.opened(dsn) as queue:
        claims.fill(queue, "queued", batch)
        for _ in range(jobs // batch):
            queue.enqueue_many([grown.NOOP] * batch)
            claims.churn(queue, batch, BATCH)
        after = claims.sizes(queue.connection)
        queue.connection.execute("VACUUM FULL jobs")
        full = claims.sizes(queue.connection)
        [(rows,)] = queue.connection.execute("SELECT count(*) FROM jobs").fetchall()
    return {"rows": rows, "after": after, "full": full}


ABOUT = """\
A claim of one job while the table grows to ten million rows, done or queued; by 1 to 64 claimers at once; while a
transaction that has read stays open and jobs churn; while old jobs are deleted. And how much room a million jobs leave
taken. p50 and p99 of the claim, and the pages that it touches."""

MEASURE = Measure("growth", ABOUT, run)
