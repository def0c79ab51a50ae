"""Celery's worker on Redis, whose speed is measured: see docs/performance.md, "A queue of your own".

For many short tasks, https://docs.celeryq.dev/en/stable/userguide/optimizing.html wants many messages prefetched ("say
64, or 128"). One process: the solo pool, which its code calls "blocking, inline, fast". Results are ignored, and there
is no backend (https://docs.celeryq.dev/en/stable/userguide/tasks.html#ignore-results-you-don-t-want); a message is
acknowledged before its task is run, as by default. A claim is of one message, whatever the batch.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from celery import Celery, __version__
from redis import Redis

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "kits" / "python"))
import leaseproof_tally as tally

URL = os.environ.get("LEASEPROOF_REDIS", "memory://")  # `settings` needs no server
PREFETCH = 128

app = Celery("drain", broker=URL)
app.conf.task_ignore_result = True
app.conf.worker_prefetch_multiplier = PREFETCH
app.conf.worker_redirect_stdouts = False  # stdout is the tally's


@app.task(name="noop")
def noop() -> None:
    tally.count()


def settings() -> None:
    print(f"celery {__version__}, --pool solo, worker_prefetch_multiplier {PREFETCH}, results ignored, early acks")


def fill(jobs: int) -> None:
    with app.producer_pool.acquire(block=True) as producer:
        for _ in range(jobs):
            noop.apply_async(producer=producer)


def work() -> None:
    tally.wait_for_go()
    name = f"drain-{os.getpid()}@%h"
    app.worker_main(["--quiet", "worker", "--pool", "solo", "--loglevel", "WARNING", "--hostname", name])


def left() -> None:
    with Redis.from_url(URL) as redis:
        print(redis.llen("celery") + redis.hlen("unacked"))


COMMANDS: dict[str, Callable[..., None]] = {"settings": settings, "fill": fill, "work": work, "left": left}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*map(int, sys.argv[2:]))
