"""rq behind the contract: `adapter.py control` or `adapter.py worker`; README.md has its settings."""

import json
import os
import sys
import time
import traceback
from datetime import timedelta
from importlib.metadata import version
from typing import Any

from redis.exceptions import RedisError
from rq import Queue, Retry, Worker
from rq.job import Job
from rq.worker_pool import WorkerPool
from tasks import CONNECTION, TTL, TUNED, ShortWorker, kit

RETRIES = 3 if TUNED else 0  # of a job that says nothing of them; what its worker's death interrupts takes one, too
STATES = {"queued": "queued", "deferred": "queued", "scheduled": "queued", "started": "running", "finished": "done"}

DESCRIBE: dict[str, Any] = {
    "subject": "rq",
    "version": version("rq"),
    "protocol": 1,
    "ownership": "lease-and-heartbeat",
    "beats": "runtime",
    "reclaim": "automatic",
    "attempts": "failure",
    "retry_after": 0.0,
    "lease": TTL,
    "reclaim_every": 1.0 if TUNED else 600.0,
    # A second of waiting for jobs comes before the look at the clock; the default waits for 405 seconds.
    "slack": 1.5 if TUNED else 406.0,
    "drain": {"signal": "SIGTERM", "exit_codes": [0]},
    "children": True,
    "options": ["max_attempts", "delay", "queue"],
    "columns": ["attempt", "max_attempts", "kind", "payload", "due", "last_error"],
}
DESCRIBE["columns"] += ["lease_alive", "lease_expired", "lease_left"]


def enqueue(request: dict[str, Any]) -> dict[str, Any]:
    ids = []
    for job in request["jobs"]:
        queue = Queue(job.get("queue", "default"), connection=CONNECTION)
        retries = job.get("max_attempts", RETRIES + 1) - 1
        given = {"retry": Retry(max=retries) if retries else None}
        if "delay" in job:
            put = queue.enqueue_in(timedelta(seconds=job["delay"]), "tasks.puppet", job["job"], retries, **given)
        else:
            put = queue.enqueue("tasks.puppet", job["job"], retries, **given)
        ids.append(put.id)
    return {"ids": ids}


def inspect(request: dict[str, Any]) -> dict[str, Any]:
    found = Job.fetch_many(request["ids"], connection=CONNECTION)
    return {"rows": [row(id, job) for id, job in zip(request["ids"], found, strict=True)]}


def row(id: str, job: Job | None) -> dict[str, Any]:
    if job is None:
        return {"id": id, "state": "absent"}
    status = job.get_status(refresh=False)
    state, retries = STATES.get(status, "failed"), job.args[1]
    result = job.latest_result()
    attempts = retries - (job.retries_left or 0) + (state != "queued")
    about = {"id": id, "state": state, "attempt": str(attempts), "max_attempts": str(retries + 1)}
    about |= {"kind": job.func_name, "payload": json.dumps(job.args), "due": "f" if status == "scheduled" else "t"}
    about |= {"last_error": result.exc_string if result else None}
    return about | lease(job)


def lease(job: Job) -> dict[str, str | None]:
    """How long the job's execution is taken for alive: until the second in its registry begins."""
    registry = CONNECTION.zrange(job.started_job_registry.key, 0, -1, withscores=True)
    left = max((until - time.time() for entry, until in registry if entry.startswith(job.id.encode())), default=None)
    if left is None:
        return dict.fromkeys(("lease_alive", "lease_expired", "lease_left"))
    alive = left > 0
    return {"lease_alive": "ft"[alive], "lease_expired": "tf"[alive], "lease_left": f"{left:.3f}"}


def worker(options: dict[str, Any]) -> None:
    kind, queues = ShortWorker if TUNED else Worker, [options["queue"] or "default"]
    line = kit.ready()
    if options["slots"] > 1:
        WorkerPool(queues, connection=CONNECTION, num_workers=options["slots"], worker_class=kind).start()
    elif not work(kind, queues) and TUNED:
        # "You should use process managers", and its unit file has Restart=always: after a tenth of a second, then.
        time.sleep(0.1)
        os.execv(sys.executable, sys.orig_argv)
    line.close()


def work(kind: type[Worker], queues: list[str]) -> bool:
    """Work until it is told to stop, or ends by itself; whether it was told."""
    current = None
    try:
        current = kind(queues, connection=CONNECTION)
        current.work(with_scheduler=True)
    except RedisError:
        if not TUNED:
            raise
        traceback.print_exc()
    return current is not None and current._shutdown_requested_date is not None


if __name__ == "__main__":
    if sys.argv[1] == "control":
        nothing = {"describe": lambda _: DESCRIBE, "prepare": lambda _: None, "reclaim": lambda _: {"ids": None}}
        kit.control({**nothing, "enqueue": enqueue, "inspect": inspect})
    else:
        worker(json.loads(os.environ["LEASEPROOF_OPTIONS"]))
