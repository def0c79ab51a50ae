"""pgqueuer's worker, whose speed is measured: see docs/performance.md, "A queue of your own".

https://janbjorge.github.io/pgqueuer/guides/performance-tuning/ wants a larger `batch_size` for short jobs, one asyncpg
connection for the worker, and `pgq autovac` once; there is no `max_concurrent_tasks`, as by default, and tables are
durable. uvloop, as in `pgq run`. What is done is written in batches of the same size, and deleted and logged, as ever.
"""

import logging
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

import asyncpg
import pgqueuer
import uvloop
from pgqueuer.models import Job

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "kits" / "python"))
import leaseproof_tally as tally

BATCH = int(os.environ.get("LEASEPROOF_BATCH") or 500)
MANY = 10_000  # jobs in one statement


async def connect() -> asyncpg.Connection:
    return await asyncpg.connect(os.environ["LEASEPROOF_POSTGRES"])


async def queries() -> pgqueuer.Queries:
    return pgqueuer.Queries(pgqueuer.AsyncpgDriver(await connect()))


def settings() -> None:
    print(f"pgqueuer {version('pgqueuer')}, asyncpg, uvloop, async handler, batch_size {BATCH}, autovac")


async def fill(jobs: int) -> None:
    ask = await queries()
    await ask.install()
    await ask.optimize_autovacuum()
    for start in range(0, jobs, MANY):
        many = min(MANY, jobs - start)
        await ask.enqueue(["noop"] * many, [None] * many, [0] * many)


@asynccontextmanager
async def worker() -> AsyncIterator[pgqueuer.PgQueuer]:
    pgq = pgqueuer.PgQueuer.from_asyncpg_connection(await connect())

    @pgq.entrypoint("noop")
    async def noop(job: Job) -> None:
        tally.count()

    yield pgq


async def work() -> None:
    logging.basicConfig(level=logging.WARNING)
    tally.wait_for_go()
    await pgqueuer.run(worker, batch_size=BATCH)


async def left() -> None:
    print(sum(each.count for each in await (await queries()).queue_size()))  # a job that is done is deleted


COMMANDS: dict[str, Callable[..., object]] = {"settings": settings, "fill": fill, "work": work, "left": left}

if __name__ == "__main__":
    if coroutine := COMMANDS[sys.argv[1]](*map(int, sys.argv[2:])):
        uvloop.run(coroutine)
