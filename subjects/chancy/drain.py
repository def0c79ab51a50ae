"""chancy's worker, whose speed is measured: see docs/performance.md, "A queue of your own".

The asyncio executor, of which https://tkte.ch/chancy/chancy.executors.html says "thousands of jobs can be executed
concurrently with limited resources"; `eager_polling`, for a queue where jobs are continuously available
(https://tkte.ch/chancy/chancy.queue.html). A claim is of as many jobs as `concurrency` leaves room for. The default
plugins; what is done is written in batches of up to 1000, each second, by default.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from chancy import Chancy, Job, Queue, Worker

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "kits" / "python"))
import leaseproof_tally as tally

BATCH = int(os.environ.get("LEASEPROOF_BATCH") or 500)
QUEUE = Queue("default", concurrency=BATCH, executor=Chancy.Executor.Async, eager_polling=True)
NOOP = Job(func="drain.noop", kwargs={})  # by name: chancy imports it
LEFT = "SELECT count(*) FROM chancy_jobs WHERE state NOT IN ('succeeded', 'failed')"


async def noop() -> None:
    tally.count()


def application() -> Chancy:
    logging.basicConfig(level=logging.WARNING)
    return Chancy(os.environ["LEASEPROOF_POSTGRES"], log=logging.getLogger("drain"))


async def settings() -> None:
    print(f"chancy {version('chancy')}, asyncio executor, concurrency {BATCH}, eager_polling")


async def fill(jobs: int) -> None:
    async with application() as chancy:
        await chancy.migrate()
        await chancy.declare(QUEUE)
        async for _ in chancy.push_many([NOOP] * jobs):
            pass


async def work() -> None:
    tally.wait_for_go()
    async with application() as chancy:
        await chancy.declare(QUEUE, upsert=True)
        async with Worker(chancy) as worker:
            await worker.wait_for_shutdown()


async def left() -> None:
    async with application() as chancy, chancy.pool.connection() as connection:
        print(*await (await connection.execute(LEFT)).fetchone() or ())


COMMANDS: dict[str, Callable[..., Any]] = {"settings": settings, "fill": fill, "work": work, "left": left}

if __name__ == "__main__":
    asyncio.run(COMMANDS[sys.argv[1]](*map(int, sys.argv[2:])))
