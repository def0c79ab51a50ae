"""chancy behind the contract: `adapter.py control` or `adapter.py worker`; README.md has its settings."""

import asyncio
import json
import os
import sys
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from math import ceil
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from chancy import Chancy, Job, Queue, QueuedJob, Worker
from chancy.plugins.leadership import Leadership
from chancy.plugins.recovery import Recovery
from psycopg import AsyncConnection
from psycopg.rows import dict_row

sys.path.append(str(Path(__file__).parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit

DSN = os.environ["LEASEPROOF_POSTGRES"]
TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
# All in whole seconds: after LEASE a worker that has not beaten is taken for dead; TICK is between two looks of the
# recovery, and between two elections of who recovers; for LEADER a leader stays one unrenewed.
LEASE = max(3, ceil(float(os.environ["LEASEPROOF_LEASE"]))) if TUNED else 90
TICK, LEADER, POLL = (1, LEASE, 1) if TUNED else (60, 120, 5)

ROW = """
    SELECT j.id::text, split_part(j.taken_by, '/', 1) AS leased_by, j.attempts::text AS attempt, j.func AS kind,
        CASE j.state WHEN 'running' THEN 'running' WHEN 'succeeded' THEN 'done' WHEN 'failed' THEN 'failed'
            ELSE 'queued' END AS state,
        j.kwargs::text AS payload, j.max_attempts::text, left((j.scheduled_at <= now())::text, 1) AS due,
        j.errors -> -1 ->> 'traceback' AS last_error,
        left((w.left > 0)::text, 1) AS lease_alive, left((w.left <= 0)::text, 1) AS lease_expired,
        round(w.left::numeric, 3)::text AS lease_left
    FROM chancy_jobs AS j
    LEFT JOIN LATERAL (
        SELECT coalesce(extract(epoch FROM max(last_seen) - now()) + %(lease)s, 0) AS left
        FROM chancy_workers WHERE worker_id = j.taken_by
    ) AS w ON j.state = 'running'
    WHERE j.id = ANY(%(ids)s)
"""

DESCRIBE: dict[str, Any] = {
    "subject": "chancy",
    "version": version("chancy"),
    "protocol": 1,
    "ownership": "lease-and-heartbeat",
    "beats": "runtime",
    "reclaim": "leader",
    "lease": LEASE,
    "reclaim_every": TICK,
    # Where the dead one led, another is elected first; what is recovered is found at the next poll; and the first job
    # of a worker waits for a process to be spawned for it.
    "slack": max(0, LEADER - LEASE) + TICK + POLL + 1,
    "attempts": "failure",
    "drain": {"signal": "SIGTERM", "exit_codes": [0]},
    "children": True,
    # A retry does not wait, which is within any backoff.
    "options": ["max_attempts", "priority", "delay", "queue", "backoff", "key", "transaction", *(["grace"] * TUNED)],
    "columns": [
        *("leased_by", "attempt", "kind", "payload", "max_attempts", "due", "last_error"),
        *("lease_alive", "lease_expired", "lease_left"),
    ],
    "hold": "SELECT id FROM chancy_jobs WHERE id = %s FOR UPDATE",
}


def puppet(*, job: str, context: QueuedJob) -> None:
    """The only handler; it runs in a process of the executor's."""
    kit.obey(job, context.attempts + 1)


def application() -> Chancy:
    plugins = [Leadership(poll_interval=TICK, timeout=LEADER), Recovery(poll_interval=TICK)] if TUNED else []
    return Chancy(DSN, plugins=plugins)


async def control() -> None:
    chancy, own = application(), None  # `own`: the application's own connection, once it has had a transaction

    async def enqueue(request: dict[str, Any]) -> dict[str, Any]:
        jobs = [
            Job(
                func="adapter.puppet",
                kwargs={"job": job["job"]},
                queue=job.get("queue", "default"),
                priority=job.get("priority", 0),
                max_attempts=job.get("max_attempts", 1),
                scheduled_at=datetime.now(tz=UTC) + timedelta(seconds=job.get("delay", 0.0)),
                unique_key=job.get("key"),
            )
            for job in request["jobs"]
        ]
        if own:
            refs = await chancy.push_many_ex(own.cursor(row_factory=dict_row), jobs)
        else:
            await chancy.pool.check()
            refs = [ref async for refs in chancy.push_many(jobs) for ref in refs]
        return {"ids": [str(ref.identifier) for ref in refs]}

    async def execute(request: dict[str, Any]) -> None:
        nonlocal own
        own = own or await AsyncConnection.connect(DSN, autocommit=True)
        await own.execute(request.get("statement") or request["do"])

    async def inspect(request: dict[str, Any]) -> dict[str, Any]:
        await chancy.pool.check()
        async with chancy.pool.connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(ROW, {"ids": [UUID(id) for id in request["ids"]], "lease": LEASE})
            rows = {row["id"]: row for row in await cursor.fetchall()}
        return {"rows": [rows.get(id, {"id": id, "state": "absent"}) for id in request["ids"]]}

    requests = {"describe": lambda _: DESCRIBE, "reclaim": lambda _: {"ids": None}}
    requests |= {"prepare": lambda _: chancy.migrate(), "enqueue": enqueue, "inspect": inspect}
    requests |= {"transaction": execute, "execute": execute}
    async with chancy:
        await kit.control_async(requests)


async def worker(options: dict[str, Any]) -> None:
    settings: dict[str, Any] = {}
    if TUNED:
        settings = {"heartbeat_poll_interval": LEASE // 3, "heartbeat_timeout": LEASE, "queue_change_poll_interval": 1}
        settings |= {"backoff_initial": options["poll"], "backoff_max": 1.0}
        settings["shutdown_timeout"] = 3600 if options["grace"] is None else options["grace"]
    name = options["queue"] or "default"
    async with application() as chancy:
        own = {f"queue={name}"}
        queue = Queue(name, concurrency=options["slots"], polling_interval=POLL, tags=own, eager_polling=TUNED)
        await chancy.declare(queue, upsert=True)
        # The id must be unique, also where the name is given again.
        id = f"{os.environ['LEASEPROOF_WORKER']}/{uuid4()}"
        running = Worker(chancy, worker_id=id, tags=own, **settings)
        if TUNED:
            running.send_outgoing_interval = options["poll"]
        async with running:
            line = kit.ready()
            await running.wait_for_shutdown()
            line.close()


if __name__ == "__main__":
    asyncio.run(control() if sys.argv[1] == "control" else worker(json.loads(os.environ["LEASEPROOF_OPTIONS"])))
