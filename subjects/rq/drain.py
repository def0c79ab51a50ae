"""rq's worker, whose speed is measured: see docs/performance.md, "A queue of your own".

SimpleWorker, which runs jobs in its own process: https://github.com/rq/rq/blob/master/docs/benchmark.md has it as the
fastest. Results are not kept (https://python-rq.org/docs/results/, `result_ttl=0`), and the job goes with them. A claim
is of one job, whatever the batch.
"""

import logging
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from redis import Redis
from rq import Queue, SimpleWorker

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "kits" / "python"))
import leaseproof_tally as tally

NOOP = "leaseproof_tally.count"  # by name: rq imports it, and has no use for a function of __main__
MANY = 5000  # jobs in one pipeline


def connected() -> Redis:
    return Redis.from_url(os.environ["LEASEPROOF_REDIS"])


def settings() -> None:
    print(f"rq {version('rq')}, SimpleWorker, result_ttl 0")


def fill(jobs: int) -> None:
    queue = Queue(connection=connected())
    for start in range(0, jobs, MANY):
        queue.enqueue_many([Queue.prepare_data(NOOP, result_ttl=0) for _ in range(min(MANY, jobs - start))])


def work() -> None:
    logging.basicConfig(level=logging.WARNING)  # or rq's own handler writes to stdout, which is the tally's
    tally.wait_for_go()
    SimpleWorker(["default"], connection=connected()).work(logging_level="WARNING")


def left() -> None:
    print(len(set(connected().scan_iter("rq:job:*", count=1000))))  # a job that is done is deleted


COMMANDS: dict[str, Callable[..., None]] = {"settings": settings, "fill": fill, "work": work, "left": left}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*map(int, sys.argv[2:]))
