"""A worker of pgqueuer's which tells when each handler starts: see bench/speed/latency.py."""

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pgqueuer
from pgqueuer.models import Job

DSN = os.environ["LEASEPROOF_POSTGRES"]

ONE = ["{0}", "{noop}", "{NULL}", "{00:00:00}", "{NULL}", '{"{}"}']
"""The parameters of its own statement: priority, entrypoint, payload, execute_after, dedupe_key, headers."""


async def noop(job: Job) -> None:
    now = time.monotonic_ns()
    print(job.id, now, flush=True)


async def prepare() -> None:
    connection = await asyncpg.connect(DSN)
    queries = pgqueuer.Queries(pgqueuer.AsyncpgDriver(connection))
    await queries.install()
    enqueue = re.sub(r"\$(\d)", lambda number: f"'{ONE[int(number[1]) - 1]}'", queries.qbq.build_enqueue_query())
    await connection.close()
    settings = "batch_size 10, heartbeat_timeout and dequeue_timeout 30 s, async handler: all as by default"
    print(json.dumps({"settings": settings, "enqueue": enqueue}), flush=True)


@asynccontextmanager
async def manager() -> AsyncIterator[pgqueuer.PgQueuer]:
    connection = await asyncpg.connect(DSN)
    pgq = pgqueuer.PgQueuer.from_asyncpg_connection(connection)
    pgq.entrypoint("noop")(noop)
    yield pgq
    await connection.close()


async def main() -> None:
    await prepare()
    await pgqueuer.run(manager)


if __name__ == "__main__":
    asyncio.run(main())
