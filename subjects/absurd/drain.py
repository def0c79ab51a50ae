"""absurd's worker, whose speed is measured: see docs/performance.md, "A queue of your own".

The synchronous worker of https://earendil-works.github.io/absurd/sdks/python/#starting-a-worker at its concurrency of
1, which runs tasks in its own thread, with as many of them a claim as `batch_size`. All else is as by default. A task
is completed by a statement of its own, and its result, null, is kept: it has no setting for either.
"""

import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg
from absurd_sdk import Absurd, TaskContext

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "kits" / "python"))
import leaseproof_tally as tally

BATCH = int(os.environ.get("LEASEPROOF_BATCH") or 100)
LEFT = "SELECT count(*) FROM absurd.t_default WHERE state NOT IN ('completed', 'failed', 'cancelled')"


def connected() -> psycopg.Connection[Any]:
    return psycopg.connect(os.environ["LEASEPROOF_POSTGRES"], autocommit=True)


def settings() -> None:
    print(f"absurd {version('absurd-sdk')}, sync worker, batch_size {BATCH}, concurrency 1")


def fill(jobs: int) -> None:
    from absurdctl import BUNDLED_SCHEMA_SQL  # what `absurdctl init` sends

    with connected() as connection:
        connection.execute(BUNDLED_SCHEMA_SQL.encode())
        app = Absurd(connection)
        app.create_queue()
        with connection.transaction():
            for _ in range(jobs):
                app.spawn("noop", {}, queue="default")


def work() -> None:
    tally.wait_for_go()
    app = Absurd(connected())

    @app.register_task("noop")
    def noop(params: dict[str, Any], ctx: TaskContext) -> None:
        tally.count()

    app.start_worker(batch_size=BATCH)


def left() -> None:
    with connected() as connection:
        print(*connection.execute(LEFT).fetchone() or ())


COMMANDS: dict[str, Callable[..., None]] = {"settings": settings, "fill": fill, "work": work, "left": left}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*map(int, sys.argv[2:]))
