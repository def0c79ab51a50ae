"""awa's worker, whose speed is measured: see docs/performance.md, "A queue of your own".

`max_workers` is "your concurrency cap" (https://github.com/hardbyte/awa/blob/main/docs/configuration.md), the pool has
the "num_queues * 4 + 20" connections of https://github.com/hardbyte/awa/blob/main/docs/benchmarking.md, which also has
COPY as the way to put many jobs in. LEASEPROOF_BATCH is the queue's `claim_batch_size`. Completions go in batches, of
the library's own size.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import awa

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "kits" / "python"))
import leaseproof_tally as tally

BATCH = os.environ.get("LEASEPROOF_BATCH")
WORKERS = max(200, int(BATCH or 0))
CONNECTIONS = 24
QUEUE: dict[str, Any] = {"name": "default", "max_workers": WORKERS}
if BATCH:
    QUEUE["claim_batch_size"] = int(BATCH)


@dataclass
class Noop:
    """The arguments of the only kind of job: none."""


def client() -> awa.AsyncClient:
    made = awa.AsyncClient(os.environ["LEASEPROOF_POSTGRES"], max_connections=CONNECTIONS)

    @made.task(Noop)
    async def noop(job: Any) -> None:
        tally.count()

    return made


async def settings() -> None:
    claim = f", claim_batch_size {BATCH}" if BATCH else ""
    print(f"awa {version('awa-pg')}, async handler, max_workers {WORKERS}{claim}, max_connections {CONNECTIONS}")


async def fill(jobs: int) -> None:
    into = client()
    await into.migrate()
    # A database is on the engine of 0.6 from the first start of a worker on, if nothing was put in before.
    await into.start([QUEUE])
    await into.shutdown()
    await into.enqueue_many_copy([Noop()] * jobs)


async def work() -> None:
    tally.wait_for_go()
    await client().start([QUEUE])
    await asyncio.Event().wait()


async def left() -> None:
    found = await client().queue_stats()
    print(sum(each.scheduled + each.available + each.retryable + each.running for each in found))


COMMANDS: dict[str, Callable[..., Any]] = {"settings": settings, "fill": fill, "work": work, "left": left}

if __name__ == "__main__":
    asyncio.run(COMMANDS[sys.argv[1]](*map(int, sys.argv[2:])))
