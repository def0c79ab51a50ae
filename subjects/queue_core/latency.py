"""The core's worker as shipped, which tells when each handler starts: see bench/speed/latency.py."""

import json
import os
import time

import psycopg

from queue_core import Context, Job, Queue, Worker

DSN = os.environ["LEASEPROOF_POSTGRES"]

ONE = {"kinds": "{noop}", "payloads": '{"{}"}', "versions": "{1}", "keys": "{NULL}", "queues": "{default}"}
ONE |= {"priorities": "{0}", "delays": "{0}", "max_attempts": "{3}", "aging": "60"}
"""The parameters of the core's own statement."""


def noop(job: Job, context: Context) -> None:
    now = time.monotonic_ns()
    print(job.id, now, flush=True)


def main() -> None:
    with psycopg.connect(DSN, autocommit=True) as connection:
        Queue(connection).install()
        enqueue = psycopg.ClientCursor(connection).mogrify(Queue.ENQUEUE, ONE)
    settings = "slots 1, listen, lease 30 s, poll 1 s: all as by default"
    print(json.dumps({"settings": settings, "enqueue": enqueue}), flush=True)
    Worker(DSN, {"noop": noop}).run()


if __name__ == "__main__":
    main()
