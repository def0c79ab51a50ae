"""arq behind the contract: `adapter.py control` or `adapter.py worker`; README.md has its settings."""

import asyncio
import json
import sys
import time
from importlib.metadata import version
from typing import Any

from arq import create_pool
from arq.cli import cli
from arq.connections import ArqRedis
from arq.constants import default_queue_name, in_progress_key_prefix, retry_key_prefix
from arq.jobs import Job, JobResult, JobStatus
from tasks import JOB_TIMEOUT, REDIS, TUNED, kit

STATES = {JobStatus.deferred: "queued", JobStatus.queued: "queued", JobStatus.in_progress: "running"}
STATES |= {JobStatus.not_found: "absent"}

DESCRIBE: dict[str, Any] = {
    "subject": "arq",
    "version": version("arq"),
    "protocol": 1,
    "ownership": "lease",
    "beats": "nobody",
    "reclaim": "automatic",  # a job whose key has gone is there for whoever polls
    "attempts": "claim",
    "lease": JOB_TIMEOUT + 10,
    "reclaim_every": 0.1 if TUNED else 0.5,
    "slack": 0.5,
    "drain": {"signal": "SIGTERM", "exit_codes": [0]},
    "options": ["delay", "queue", *(["max_attempts", "backoff", "grace"] if TUNED else [])],
    "columns": ["attempt", "kind", "payload", "due", "last_error", "lease_alive", "lease_expired", "lease_left"],
}


async def control() -> None:
    pool = await create_pool(REDIS)
    where: dict[str, str] = {}

    async def enqueue(request: dict[str, Any]) -> dict[str, Any]:
        ids = []
        for job in request["jobs"]:
            name = f"puppet_{job.get('max_attempts', 5)}" if TUNED else "puppet"
            queue = job.get("queue", default_queue_name)
            put = await pool.enqueue_job(name, job["job"], _queue_name=queue, _defer_by=job.get("delay"))
            assert put is not None
            where[put.job_id] = queue
            ids.append(put.job_id)
            await asyncio.sleep(0.002)  # its order is that of milliseconds
        return {"ids": ids}

    async def inspect(request: dict[str, Any]) -> dict[str, Any]:
        return {"rows": [await row(pool, Job(id, pool, where.get(id, default_queue_name))) for id in request["ids"]]}

    nothing = {"describe": lambda _: DESCRIBE, "prepare": lambda _: None, "reclaim": lambda _: {"ids": None}}
    await kit.control_async({**nothing, "enqueue": enqueue, "inspect": inspect})


async def row(pool: ArqRedis, job: Job) -> dict[str, Any]:
    status = await job.status()
    info = await job.info() or await job.info()  # it looks for a result first, and a job may end then
    about = dict.fromkeys(DESCRIBE["columns"]) | {"id": job.job_id, "state": STATES.get(status)}
    if info is None:
        return about | {"state": "absent"}
    about |= {"kind": info.function, "payload": json.dumps(info.args)}
    if isinstance(info, JobResult):
        about |= {"state": "done" if info.success else "failed", "attempt": str(info.job_try)}
        return about | {"last_error": None if info.success else f"{type(info.result).__name__}: {info.result}"}
    tries, left = await pool.get(retry_key_prefix + job.job_id), await pool.pttl(in_progress_key_prefix + job.job_id)
    about |= {"attempt": (tries or b"0").decode(), "due": "t" if (info.score or 0) <= time.time() * 1000 else "f"}
    if not tries:
        return about
    alive = left > 0  # of a key that is gone it is -2
    about |= {"lease_alive": "ft"[alive], "lease_expired": "tf"[alive]}
    return about | {"lease_left": f"{max(left, 0) / 1000:.3f}"}


if __name__ == "__main__":
    if sys.argv[1] == "control":
        asyncio.run(control())
    else:
        cli(["tasks.WorkerSettings"])
