"""oban's worker, whose speed is measured: see docs/performance.md, "A queue of your own".

Embedded in a program (https://github.com/oban-bg/oban-py/blob/main/docs/production.md), where no log of each job is
attached; a queue's `limit` is how many jobs run at a time, and so how many a claim takes
(https://github.com/oban-bg/oban-py/blob/main/docs/defining_queues.md). The pool of 10 connections that is "comfortable
for most deployments", and all else as by default.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from oban import Job, Oban, worker
from oban.schema import install

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "kits" / "python"))
import leaseproof_tally as tally

BATCH = int(os.environ.get("LEASEPROOF_BATCH") or 100)
LEFT = "SELECT count(*) FROM oban_jobs WHERE state NOT IN ('completed', 'discarded', 'cancelled')"


@worker(queue="default")
class Noop:
    async def process(self, job: Job) -> None:
        tally.count()


def pool() -> Any:
    return Oban.create_pool(dsn=os.environ["LEASEPROOF_POSTGRES"])


async def settings() -> None:
    print(f"oban {version('oban')}, async worker, limit {BATCH}")


async def fill(jobs: int) -> None:
    async with await pool() as opened:
        await install(opened)
        await Oban(pool=opened).enqueue_many(Noop.new({}) for _ in range(jobs))


async def work() -> None:
    logging.basicConfig(level=logging.WARNING)
    tally.wait_for_go()
    async with await pool() as opened, Oban(pool=opened, queues={"default": BATCH}):
        await asyncio.Event().wait()


async def left() -> None:
    async with await pool() as opened, opened.connection() as connection:
        print(*await (await connection.execute(LEFT)).fetchone())


COMMANDS: dict[str, Callable[..., Any]] = {"settings": settings, "fill": fill, "work": work, "left": left}

if __name__ == "__main__":
    asyncio.run(COMMANDS[sys.argv[1]](*map(int, sys.argv[2:])))
