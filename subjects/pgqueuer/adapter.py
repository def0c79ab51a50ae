"""pgqueuer behind the contract: `adapter.py control` or `adapter.py worker`; README.md has its settings."""

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import asyncpg
import pgqueuer
from pgqueuer.models import Job

sys.path.append(str(Path(__file__).parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit

TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
LEASE = float(os.environ["LEASEPROOF_LEASE"]) if TUNED else 30.0  # `heartbeat_timeout`: a worker beats at half of it

ROW = """
    SELECT id::text, status::text, entrypoint AS kind, attempts::text AS attempt,
        convert_from(payload, 'utf8') AS payload,
        left((execute_after <= now())::text, 1) AS due,
        CASE status WHEN 'picked' THEN left((heartbeat >= now() - $2::interval)::text, 1) END AS lease_alive,
        CASE status WHEN 'picked' THEN left((heartbeat < now() - $2::interval)::text, 1) END AS lease_expired,
        CASE status WHEN 'picked' THEN extract(epoch FROM heartbeat + $2::interval - now())::text END AS lease_left
    FROM pgqueuer WHERE id = $1
"""

LOG = """
    SELECT status::text, entrypoint AS kind, traceback->>'exception_message' AS error
    FROM pgqueuer_log WHERE job_id = $1 ORDER BY id
"""

# All else (exception, failed, canceled, deleted) is `failed`.
STATES = {"queued": "queued", "picked": "running", "successful": "done", "absent": "absent"}

DESCRIBE: dict[str, Any] = {"subject": "pgqueuer", "version": version("pgqueuer"), "protocol": 1}
DESCRIBE |= {"ownership": "lease-and-heartbeat", "beats": "runtime", "reclaim": "automatic", "attempts": "failure"}
# Who is idle looks again, for abandoned jobs as well, once in a `dequeue_timeout`; so may two in turn.
DESCRIBE |= {"lease": LEASE, "reclaim_every": LEASE / 10 if TUNED else 30.0, "slack": 0.0}
DESCRIBE |= {"drain": {"signal": "SIGTERM", "exit_codes": [0]}}
DESCRIBE["options"] = ["max_attempts", "priority", "delay", "queue", "backoff", "key", "transaction"]
DESCRIBE["columns"] = ["attempt", "kind", "payload", "due", "last_error", "lease_alive", "lease_expired", "lease_left"]
DESCRIBE["hold"] = "SELECT id FROM pgqueuer WHERE id = %s FOR UPDATE"


async def connect() -> asyncpg.Connection:
    """A connection under the name that the bench knows it by; asyncpg does not heed PGAPPNAME."""
    name = {"application_name": os.environ.get("PGAPPNAME", "control")}
    return await asyncpg.connect(os.environ["LEASEPROOF_POSTGRES"], server_settings=name)


@asynccontextmanager
async def connected() -> AsyncIterator[asyncpg.Connection]:
    connection = await connect()
    try:
        yield connection
    finally:
        await connection.close(timeout=1)


class Control:
    """What the bench asks for; `own` is the application's own connection, once it has had a transaction."""

    own: asyncpg.Connection | None = None

    async def prepare(self, request: dict[str, Any]) -> None:
        async with connected() as connection:
            await pgqueuer.Queries(pgqueuer.AsyncpgDriver(connection)).install()

    async def enqueue(self, request: dict[str, Any]) -> dict[str, Any]:
        jobs = request["jobs"]
        async with nullcontext(self.own) if self.own else connected() as connection:
            ids = await pgqueuer.Queries(pgqueuer.AsyncpgDriver(connection)).enqueue(
                [job.get("queue", "default") for job in jobs],
                [json.dumps(job).encode() for job in jobs],
                [job.get("priority", 0) for job in jobs],
                [timedelta(seconds=job["delay"]) if "delay" in job else None for job in jobs],
                [job.get("key") for job in jobs],
                on_conflict="update_priority",  # which answers with the job that is there
            )
        return {"ids": [str(id) for id in ids]}

    async def inspect(self, request: dict[str, Any]) -> dict[str, Any]:
        """A job that has ended is not in the table any more, and in the log without its payload and attempts."""
        async with connected() as connection:
            rows = []
            for id in request["ids"]:
                found = await connection.fetchrow(ROW, int(id), timedelta(seconds=LEASE))
                log = await connection.fetch(LOG, int(id))
                ended = {"status": log[-1]["status"], "kind": log[-1]["kind"]} if log else {"status": "absent"}
                row = {"id": id} | dict(found or ended)
                row["state"] = STATES.get(row.pop("status"), "failed")
                row["last_error"] = next((entry["error"] for entry in reversed(log) if entry["error"]), None)
                rows.append(dict.fromkeys(DESCRIBE["columns"]) | row)
        return {"rows": rows}

    async def execute(self, request: dict[str, Any]) -> None:
        self.own = self.own or await connect()
        await self.own.execute(request.get("statement") or request["do"])


def worker(options: dict[str, Any]) -> None:
    logging.basicConfig(level=logging.INFO)
    lines: list[kit.Line] = []

    async def puppet(job: Job) -> None:
        asked = json.loads(job.payload or b"{}")
        doing = (asked["job"], job.attempts + 1)
        try:
            await (asyncio.to_thread(kit.obey, *doing) if TUNED else kit.obey_async(*doing))
        except kit.OrderedFailure as failure:
            if job.attempts + 1 >= asked.get("max_attempts", 1):
                raise
            wait = timedelta(seconds=(options["backoff"] or [0.0])[0])
            raise pgqueuer.RetryRequested(wait, str(failure)) from failure

    @asynccontextmanager
    async def main() -> AsyncIterator[pgqueuer.PgQueuer]:
        async with connected() as connection:
            pgq = pgqueuer.PgQueuer.from_asyncpg_connection(connection)
            pgq.entrypoint(options["queue"] or "default", on_failure="hold" if TUNED else "delete")(puppet)
            if not lines:
                lines.append(kit.ready())
            yield pgq

    settings: dict[str, Any] = {}
    if TUNED:  # It has no smaller number of jobs at a time than twice the size of a batch.
        poll = timedelta(seconds=options["poll"])
        settings |= {"batch_size": options["slots"], "max_concurrent_tasks": 2 * options["slots"]}
        settings |= {"heartbeat_timeout": timedelta(seconds=LEASE), "dequeue_timeout": poll}
        settings |= {"restart_on_failure": True, "restart_delay": poll, "shutdown_on_listener_failure": True}
    asyncio.run(pgqueuer.run(main, **settings))


if __name__ == "__main__":
    if sys.argv[1] == "control":
        asked, names = Control(), ("prepare", "enqueue", "inspect", "execute")
        requests = {"describe": lambda _: DESCRIBE, "reclaim": lambda _: {"ids": None}, "transaction": asked.execute}
        asyncio.run(kit.control_async(requests | {name: getattr(asked, name) for name in names}))
    else:
        worker(json.loads(os.environ["LEASEPROOF_OPTIONS"]))
