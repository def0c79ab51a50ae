"""procrastinate's worker, whose speed is measured: see docs/performance.md, "A queue of your own".

An async task at the concurrency of https://procrastinate.readthedocs.io/en/stable/howto/advanced/concurrency.html, and
a pool of as many connections and one more, as https://procrastinate.readthedocs.io/en/stable/discussions.html ("mind
the size of your PostgreSQL pool") wants it for short jobs. A claim is of one job, whatever the batch. All else is as by
default: notifications, and jobs that are done stay.
"""

import logging
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import procrastinate
import psycopg

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "kits" / "python"))
import leaseproof_tally as tally

DSN = os.environ.get("LEASEPROOF_POSTGRES", "")  # `settings` needs no server
CONCURRENCY = 30
MANY = 10_000  # jobs in one statement
LEFT = "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=DSN, max_size=CONCURRENCY + 1))


@app.task(name="noop")
async def noop() -> None:
    tally.count()


def settings() -> None:
    print(f"procrastinate {version('procrastinate')}, async task, concurrency {CONCURRENCY}, pool {CONCURRENCY + 1}")


def fill(jobs: int) -> None:
    with app.open():
        app.schema_manager.apply_schema()
        for start in range(0, jobs, MANY):
            noop.batch_defer(*[{}] * min(MANY, jobs - start))


def work() -> None:
    logging.basicConfig(level=logging.WARNING)
    tally.wait_for_go()
    app.run_worker(concurrency=CONCURRENCY)


def left() -> None:
    with psycopg.connect(DSN) as connection:
        print(*connection.execute(LEFT).fetchone() or ())


COMMANDS: dict[str, Callable[..., None]] = {"settings": settings, "fill": fill, "work": work, "left": left}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*map(int, sys.argv[2:]))
