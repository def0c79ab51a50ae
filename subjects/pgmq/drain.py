"""A worker on pgmq, whose speed is measured: see docs/performance.md, "A queue of your own".

pgmq has no worker: this is the loop of https://pgmq.github.io/pgmq-py/reading_messages/, with as many messages a read
as LEASEPROOF_BATCH says, and with `delete_batch` (https://pgmq.github.io/pgmq-py/deleting_and_archiving/), which writes
no second table as `archive_batch` does. All on one connection that commits by itself: one round trip a call, where the
client's own pool takes three (https://pgmq.github.io/pgmq-py/transactions/ has `conn`).
"""

import os
import sys
import time
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import pgmq
import psycopg

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "kits" / "python"))
import leaseproof_tally as tally

DSN = os.environ.get("LEASEPROOF_POSTGRES", "")  # `settings` needs no server
QUEUE = "default"
BATCH = int(os.environ.get("LEASEPROOF_BATCH") or 100)
VT = 30  # the visibility timeout: seconds, its default
IDLE = 0.1  # seconds between two looks at an empty queue
MANY = 10_000  # messages in one statement


def client() -> pgmq.PGMQueue:
    return pgmq.PGMQueue(conn_string=DSN, init_extension=False)


def settings() -> None:
    print(f"pgmq {version('pgmq')}, a loop of read_batch({BATCH}) and delete_batch, visibility timeout {VT} s")


def fill(jobs: int) -> None:
    pgmq.install_pgmq_from_sql(dsn=DSN)
    with closing(client()) as queue:
        queue.create_queue(QUEUE)
        for start in range(0, jobs, MANY):
            queue.send_batch(QUEUE, [{}] * min(MANY, jobs - start))


def noop(message: pgmq.Message) -> None:
    tally.count()


def work() -> None:
    tally.wait_for_go()
    with closing(client()) as queue, psycopg.connect(DSN, autocommit=True) as connection:
        while True:
            if messages := queue.read_batch(QUEUE, vt=VT, batch_size=BATCH, conn=connection):
                for message in messages:
                    noop(message)
                queue.delete_batch(QUEUE, [message.msg_id for message in messages], conn=connection)
            else:
                time.sleep(IDLE)


def left() -> None:
    with closing(client()) as queue:
        print(queue.metrics(QUEUE).queue_length)


COMMANDS: dict[str, Callable[..., None]] = {"settings": settings, "fill": fill, "work": work, "left": left}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*map(int, sys.argv[2:]))
