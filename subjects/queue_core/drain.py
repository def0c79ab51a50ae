"""The core's worker as shipped, whose speed is measured: see docs/performance.md, "A queue of your own".

Batch n is one slot, and so much prefetch that claims are of n jobs: half of what may be held (Worker.room).
"""

import os
import sys
from collections.abc import Callable

import psycopg

from bench.kits.python import leaseproof_tally as tally
from queue_core import Context, Job, NewJob, Queue, Worker

BATCH = int(os.environ.get("LEASEPROOF_BATCH") or 100)
DSN = os.environ.get("LEASEPROOF_POSTGRES", "")


def settings() -> None:
    print(
        f"slots 1, prefetch {2 * BATCH - 1}: claims of {BATCH}; lease 30 s, heartbeat, reclaim and LISTEN as by default"
    )


def fill(jobs: int) -> None:
    with psycopg.connect(DSN, autocommit=True) as connection:
        put_in(Queue(connection), jobs)


def put_in(queue: Queue, jobs: int) -> None:
    """A schema with so many due jobs in it, as if they had been there for long."""
    queue.install()
    for start in range(0, jobs, 5000):
        queue.enqueue_many([NewJob("noop")] * min(5000, jobs - start))
    queue.connection.execute("VACUUM ANALYZE jobs")


def work() -> None:
    def noop(job: Job, context: Context) -> None:
        tally.count()

    worker = Worker(DSN, {"noop": noop}, prefetch=2 * BATCH - 1)
    tally.wait_for_go()
    worker.run()


def left() -> None:
    with psycopg.connect(DSN, autocommit=True) as connection:
        print(connection.execute("SELECT count(*) FROM jobs WHERE state <> 'done'").fetchall()[0][0])


COMMANDS: dict[str, Callable[..., None]] = {"settings": settings, "fill": fill, "work": work, "left": left}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*map(int, sys.argv[2:]))
