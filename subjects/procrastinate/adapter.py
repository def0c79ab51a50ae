"""procrastinate behind the contract: `adapter.py control` or `adapter.py worker`; README.md has its settings."""

import asyncio
import json
import logging
import os
import sys
from importlib.metadata import version
from math import ceil
from pathlib import Path
from typing import Any

import procrastinate
import psycopg

sys.path.append(str(Path(__file__).parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit

DSN = os.environ["LEASEPROOF_POSTGRES"]
TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
LEASE = float(os.environ["LEASEPROOF_LEASE"])
ATTEMPTS = 10 if TUNED else 1  # as in the documentation's retry strategy, and without one
RECLAIM_EVERY = max(1, ceil(LEASE / 2))  # a cron expression has whole seconds only

ROW = """
    SELECT j.id::text, j.attempts::text AS attempt, j.task_name AS kind, j.args::text AS payload,
        CASE j.status WHEN 'todo' THEN 'queued' WHEN 'doing' THEN 'running' WHEN 'succeeded' THEN 'done'
            ELSE 'failed' END AS state,
        left(coalesce(j.scheduled_at <= now(), true)::text, 1) AS due,
        left((w.left > 0)::text, 1) AS lease_alive, left((w.left <= 0)::text, 1) AS lease_expired,
        round(w.left::numeric, 3)::text AS lease_left
    FROM procrastinate_jobs AS j
    LEFT JOIN LATERAL (
        SELECT coalesce(extract(epoch FROM max(last_heartbeat) - now()) + %(lease)s, 0) AS left
        FROM procrastinate_workers WHERE id = j.worker_id
    ) AS w ON j.status = 'doing' AND %(lease)s > 0
    WHERE j.id = ANY(%(ids)s)
"""

DESCRIBE: dict[str, Any] = {"subject": "procrastinate", "version": version("procrastinate"), "protocol": 1}
DESCRIBE |= {"beats": "runtime", "attempts": "failure", "drain": {"signal": "SIGTERM", "exit_codes": [0]}}
DESCRIBE["options"] = ["max_attempts", "priority", "delay", "queue", "backoff", "transaction"]
DESCRIBE["columns"] = ["attempt", "kind", "payload", "due"]
DESCRIBE["hold"] = "SELECT id FROM procrastinate_jobs WHERE id = %s FOR UPDATE"
if TUNED:
    DESCRIBE |= {"ownership": "lease-and-heartbeat", "reclaim": "called", "lease": LEASE, "tells": ["reclaimed"]}
    # A periodic task is deferred half a second late, and a job that it retries is found at the next poll.
    DESCRIBE |= {"reclaim_every": RECLAIM_EVERY, "slack": 0.5 + LEASE / 10}
    DESCRIBE["columns"] += ["lease_alive", "lease_expired", "lease_left"]
    DESCRIBE["options"] += ["grace"]
else:  # As the quickstart has it nobody looks at the heartbeats: what a dead worker ran is `doing` for ever.
    DESCRIBE |= {"ownership": "none", "reclaim": "none", "slack": 5.0}


class Retry(procrastinate.RetryStrategy):
    """As many attempts as the job was given."""

    def get_retry_decision(self, *, exception: BaseException, job: Any) -> procrastinate.RetryDecision | None:
        spent = job.attempts + 1 >= job.task_kwargs["max_attempts"]
        return None if spent else super().get_retry_decision(exception=exception, job=job)


class Started(logging.Handler):
    """procrastinate has no event for it, but its log has."""

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "action", "") == "start_worker":
            self.line = kit.ready()


def puppet(context: procrastinate.JobContext, job: str, max_attempts: int) -> None:
    kit.obey(job, context.job.attempts + 1)


async def puppet_async(context: procrastinate.JobContext, job: str, max_attempts: int) -> None:
    await kit.obey_async(job, context.job.attempts + 1)


def application() -> procrastinate.App:
    # Of several idle connections that were cut, the pool looks at one after the other, with 0, 1, 2 and 4 s between.
    pool = {"min_size": 1} if TUNED else {}
    return procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=DSN, **pool))


async def retry_stalled_jobs(app: procrastinate.App) -> list[str]:
    """What the documentation tells users to do, in a periodic task."""
    stalled = list(await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=LEASE))
    for job in stalled:
        await app.job_manager.retry_job(job)
    return [str(job.id) for job in stalled]


async def control() -> None:
    app, own = application(), None  # `own`: the application's own connection, once it has had a transaction

    async def enqueue(request: dict[str, Any]) -> dict[str, Any]:
        ids = []
        for job in request["jobs"]:
            wishes = {wish: job[wish] for wish in ("priority", "queue") if wish in job}
            wishes |= {"schedule_in": {"seconds": job["delay"]}} if "delay" in job else {}
            deferrer = app.configure_task("puppet", connection=own, **wishes)
            ids.append(str(await deferrer.defer_async(job=job["job"], max_attempts=job.get("max_attempts", ATTEMPTS))))
        return {"ids": ids}

    async def inspect(request: dict[str, Any]) -> dict[str, Any]:
        asked = {"ids": [int(id) for id in request["ids"]], "lease": LEASE if TUNED else 0.0}
        found = await app.connector.execute_query_all_async(ROW, **asked)
        rows = {row["id"]: row for row in found}
        return {"rows": [rows.get(id, {"id": id, "state": "absent"}) for id in request["ids"]]}

    async def reclaim(_: dict[str, Any]) -> dict[str, Any]:
        return {"ids": await retry_stalled_jobs(app) if TUNED else None}

    async def execute(request: dict[str, Any]) -> None:
        nonlocal own
        own = own or await psycopg.AsyncConnection.connect(DSN, autocommit=True)
        await own.execute(request.get("statement") or request["do"])

    requests = {"describe": lambda _: DESCRIBE, "prepare": lambda _: app.schema_manager.apply_schema_async()}
    requests |= {"enqueue": enqueue, "inspect": inspect, "reclaim": reclaim, "transaction": execute, "execute": execute}
    async with app.open_async():
        await kit.control_async(requests)


def worker(options: dict[str, Any]) -> None:
    logging.basicConfig(level=logging.INFO)
    logging.getLogger("procrastinate").addHandler(started := Started())
    app, retry = application(), Retry(wait=(options["backoff"] or [0.0])[0])
    # Only an asynchronous task is cancelled when the grace is over.
    app.task(name="puppet", pass_context=True, retry=retry)(puppet if options["grace"] is None else puppet_async)

    @app.task(name="retry_stalled_jobs", queueing_lock="retry_stalled_jobs")
    async def retry_stalled(timestamp: int) -> None:
        if ids := await retry_stalled_jobs(app):
            started.line.reclaimed(ids)

    settings: dict[str, Any] = {"name": os.environ["LEASEPROOF_WORKER"], "concurrency": options["slots"]}
    settings["queues"] = [options["queue"] or "default"]
    if TUNED:
        if options["reclaim_every"]:
            app.periodic(cron=f"* * * * * */{RECLAIM_EVERY}")(retry_stalled)
        settings |= {"update_heartbeat_interval": LEASE / 3, "stalled_worker_timeout": LEASE}
        settings |= {"fetch_job_polling_interval": options["poll"], "shutdown_graceful_timeout": options["grace"]}
    app.run_worker(**settings)


if __name__ == "__main__":
    asyncio.run(control()) if sys.argv[1] == "control" else worker(json.loads(os.environ["LEASEPROOF_OPTIONS"]))
