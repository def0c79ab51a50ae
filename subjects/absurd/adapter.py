"""absurd behind the contract: `adapter.py control` or `adapter.py worker`; README.md has its settings."""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib.metadata import version
from math import ceil
from pathlib import Path
from typing import Any

import psycopg
from absurd_sdk import Absurd, CancelledTask, FailedTask, TaskContext
from psycopg.rows import dict_row

sys.path.append(str(Path(__file__).parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit

DSN = os.environ["LEASEPROOF_POSTGRES"]
TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
LEASE = float(os.environ["LEASEPROOF_LEASE"])
CLAIM, POLL = (max(1, ceil(LEASE)), LEASE / 10) if TUNED else (120, 0.25)
"""Seconds: `claim_timeout`, whole ones, and `poll_interval`."""

ROW = """
    SELECT t.task_id::text AS id, t.task_name AS kind, t.params::text AS payload, t.max_attempts::text,
        CASE t.state WHEN 'pending' THEN 'queued' WHEN 'sleeping' THEN 'queued' WHEN 'running' THEN 'running'
            WHEN 'completed' THEN 'done' ELSE 'failed' END AS state,
        r.attempt::text, left((r.available_at <= now())::text, 1) AS due,
        coalesce(r.failure_reason, before.failure_reason)::text AS last_error,
        CASE r.state WHEN 'running' THEN r.claimed_by END AS leased_by,
        CASE r.state WHEN 'running' THEN left((r.claim_expires_at > now())::text, 1) END AS lease_alive,
        CASE r.state WHEN 'running' THEN left((r.claim_expires_at <= now())::text, 1) END AS lease_expired,
        CASE r.state WHEN 'running' THEN round(extract(epoch FROM r.claim_expires_at - now()), 3)::text END
            AS lease_left
    FROM absurd."t_{queue}" AS t
    LEFT JOIN absurd."r_{queue}" AS r ON r.run_id = t.last_attempt_run
    LEFT JOIN absurd."r_{queue}" AS before ON before.task_id = t.task_id AND before.attempt = r.attempt - 1
    WHERE t.task_id = ANY(%(ids)s::uuid[])
"""

LEASES = ["lease_alive", "lease_expired", "lease_left"]
DESCRIBE: dict[str, Any] = {
    "subject": "absurd",
    "version": version("absurd-sdk"),
    "protocol": 1,
    "ownership": "lease-and-heartbeat" if TUNED else "lease",
    "beats": "handler" if TUNED else "nobody",
    "reclaim": "automatic",  # each claim first gives back what has expired
    "lease": CLAIM,
    "reclaim_every": POLL,
    "slack": 0.0,
    "attempts": "claim",
    "drain": {"signal": "SIGTERM", "exit_codes": [0] if TUNED else [0, -signal.SIGTERM]},
    "retry_after": POLL,
    "options": ["max_attempts", "queue", "transaction"],
    "columns": ["attempt", "max_attempts", "kind", "payload", "due", "last_error", *LEASES],
    "hold": "SELECT run_id FROM absurd.r_default WHERE task_id = %s FOR UPDATE",
}
if TUNED:  # else a worker names itself by its host and process
    DESCRIBE |= {"tells": ["renewed"], "columns": [*DESCRIBE["columns"], "leased_by"]}


def control() -> None:
    opened: list[psycopg.Connection[Any]] = []

    def connection() -> psycopg.Connection[Any]:
        """The one that is open, or another where that turns out to be broken."""
        with suppress(IndexError, psycopg.OperationalError):
            opened[-1].execute("SELECT 1")
            return opened[-1]
        opened.append(psycopg.connect(DSN, autocommit=True, row_factory=dict_row))
        return opened[-1]

    def prepare(request: dict[str, Any]) -> None:
        from absurdctl import BUNDLED_SCHEMA_SQL  # what `absurdctl init` sends

        connection().execute(BUNDLED_SCHEMA_SQL.encode())
        Absurd(connection()).create_queue()

    def enqueue(request: dict[str, Any]) -> dict[str, Any]:
        app, ids = Absurd(connection()), []
        for job in request["jobs"]:
            if "queue" in job:
                app.create_queue(job["queue"])
            wishes = {"queue": job.get("queue", "default"), "max_attempts": job.get("max_attempts")}
            ids.append(str(app.spawn("puppet", {"job": job["job"]}, **wishes)["task_id"]))
        return {"ids": ids}

    def inspect(request: dict[str, Any]) -> dict[str, Any]:
        every = " UNION ALL ".join(ROW.format(queue=queue) for queue in Absurd(connection()).list_queues())
        rows = {row["id"]: row for row in opened[-1].execute(every.encode(), {"ids": request["ids"]})}
        return {"rows": [rows.get(id, {"id": id, "state": "absent"}) for id in request["ids"]]}

    def own(request: dict[str, Any]) -> None:
        connection().execute(request.get("do", request.get("statement", "")).encode())

    nothing = {"describe": lambda _: DESCRIBE, "reclaim": lambda _: {"ids": None}}
    requests = {"prepare": prepare, "enqueue": enqueue, "inspect": inspect, "transaction": own, "execute": own}
    kit.control({**nothing, **requests})


@contextmanager
def heartbeats(ctx: TaskContext, line: kit.Line, job: str) -> Iterator[None]:
    """Extend the claim each third of it, as long as the handler runs, or until it is another's."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(CLAIM / 3):
            try:
                ctx.heartbeat()
                line.renewed([job])
            except (FailedTask, CancelledTask):
                line.renewed([], [job])
                break
            except psycopg.OperationalError:
                break

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def worker(options: dict[str, Any]) -> None:
    app = Absurd(DSN, queue_name=options["queue"] or "default")
    app.create_queue()  # there may be none of that name yet
    line = kit.ready()

    @app.register_task("puppet")
    def puppet(params: dict[str, Any], ctx: TaskContext) -> None:
        with heartbeats(ctx, line, params["job"]) if TUNED else nullcontext():
            kit.obey(params["job"])

    settings: dict[str, Any] = {}
    if TUNED:
        signal.signal(signal.SIGTERM, lambda *_: app.stop_worker())
        settings |= {"worker_id": os.environ["LEASEPROOF_WORKER"], "claim_timeout": CLAIM, "poll_interval": POLL}
    app.start_worker(concurrency=options["slots"], **settings)
    app.close()


if __name__ == "__main__":
    control() if sys.argv[1] == "control" else worker(json.loads(os.environ["LEASEPROOF_OPTIONS"]))
