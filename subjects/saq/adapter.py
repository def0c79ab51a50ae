"""saq behind the contract: `adapter.py control` or `adapter.py worker`; README.md has its settings."""

import asyncio
import json
import sys
import time
from importlib.metadata import version
from typing import Any

from saq.__main__ import main
from saq.job import Job, Status
from saq.queue import Queue
from tasks import HEARTBEAT, TUNED, kit, made

# `retries` counts attempts: a job of 5 is begun five times at most.
TUNED_JOB = {"heartbeat": HEARTBEAT, "timeout": 0, "retries": 5} if TUNED else {}
STATES = {Status.NEW: "queued", Status.QUEUED: "queued", Status.ACTIVE: "running", Status.ABORTING: "running"}
STATES |= {Status.COMPLETE: "done", Status.FAILED: "failed", Status.ABORTED: "failed"}

DESCRIBE: dict[str, Any] = {
    "subject": "saq",
    "version": version("saq"),
    "protocol": 1,
    "ownership": "lease-and-heartbeat" if TUNED else "age-only",
    "beats": "handler" if TUNED else "nobody",
    "reclaim": "automatic",
    "attempts": "claim",
    "retry_after": 0.0,
    "lease": HEARTBEAT if TUNED else 10,
    "reclaim_every": 1.0 if TUNED else 60.0,
    # A sweep waits 5 s for the owner to abort before it puts a job back, and its lock may cost the next one a second.
    "slack": 6.5,
    "drain": {"signal": "SIGTERM", "exit_codes": [0]},
    "options": ["max_attempts", "delay", "queue", *(["grace"] if TUNED else [])],
    "columns": ["attempt", "max_attempts", "kind", "payload", "due", "last_error"],
}
if TUNED:
    DESCRIBE["columns"] += ["leased_by", "lease_alive", "lease_expired", "lease_left"]


async def control() -> None:
    queues: dict[str, Queue] = {}
    where: dict[str, Queue] = {}

    async def enqueue(request: dict[str, Any]) -> dict[str, Any]:
        ids = []
        for job in request["jobs"]:
            name = job.get("queue", "default")
            if name not in queues:
                queues[name] = made(name)
                await queues[name].connect()
            wishes = {"retries": job["max_attempts"]} if "max_attempts" in job else {}
            wishes |= {"scheduled": time.time() + job["delay"]} if "delay" in job else {}
            put = await queues[name].enqueue("puppet", job=job["job"], **TUNED_JOB | wishes)
            assert put is not None
            where[put.key] = queues[name]
            ids.append(put.key)
        return {"ids": ids}

    async def inspect(request: dict[str, Any]) -> dict[str, Any]:
        known = {id: await where[id].job(id) for id in request["ids"] if id in where}
        return {"rows": [row(id, known.get(id)) for id in request["ids"]]}

    nothing = {"describe": lambda _: DESCRIBE, "prepare": lambda _: None, "reclaim": lambda _: {"ids": None}}
    await kit.control_async({**nothing, "enqueue": enqueue, "inspect": inspect})


def row(id: str, job: Job | None) -> dict[str, Any]:
    if job is None:
        return {"id": id, "state": "absent"}
    state = STATES[job.status]
    about = {"id": id, "state": state, "attempt": str(job.attempts), "max_attempts": str(job.retries)}
    about |= {"kind": job.function, "payload": json.dumps(job.kwargs), "last_error": job.error}
    about |= {"due": "t" if job.scheduled <= time.time() else "f", "leased_by": None}
    left = job.heartbeat - (time.time() - job.touched / 1000) if state == "running" else None
    if left is None:
        return about | dict.fromkeys(("lease_alive", "lease_expired", "lease_left"))
    alive = left > 0
    about |= {"lease_alive": "ft"[alive], "lease_expired": "tf"[alive], "lease_left": f"{left:.3f}"}
    return about | {"leased_by": job.worker_id}


if __name__ == "__main__":
    if sys.argv[1] == "control":
        asyncio.run(control())
    else:
        sys.argv[1:] = ["tasks.settings"]
        main()
