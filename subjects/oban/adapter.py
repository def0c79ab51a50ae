"""oban behind the contract: `adapter.py control` or `adapter.py worker`; README.md has its settings."""

import asyncio
import json
import logging
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

from oban import Oban
from oban.cli import main
from oban.schema import install
from psycopg.rows import dict_row

sys.path.append(str(Path(__file__).parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit
from workers import RETRY_AFTER, Puppet

DSN = os.environ["LEASEPROOF_POSTGRES"]
TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
LEASE = float(os.environ["LEASEPROOF_LEASE"])
AGE = 60.0 if TUNED else 300.0
"""Seconds: `rescue_after`, counted from a job's start, whether its worker lives or not: longer than any job lasts."""

RESCUE = LEASE / 2 if TUNED else 60.0
STAGE = LEASE / 10 if TUNED else 1.0
ELECTION = 30.0
"""Seconds that a leader stays leader unrenewed, and between two tries of each other to become one: no setting."""

ROW = """
    SELECT id::text, worker AS kind, args::text AS payload, attempt::text, max_attempts::text,
        CASE state::text WHEN 'executing' THEN 'running' WHEN 'completed' THEN 'done' WHEN 'discarded' THEN 'failed'
            WHEN 'cancelled' THEN 'failed' ELSE 'queued' END AS state,
        left((scheduled_at <= timezone('UTC', now()))::text, 1) AS due, errors -> -1 ->> 'error' AS last_error,
        CASE state::text WHEN 'executing' THEN split_part(attempted_by[1], '/', 1) END AS leased_by
    FROM oban_jobs WHERE id = ANY(%s)
"""

DESCRIBE: dict[str, Any] = {
    "subject": "oban",
    "version": version("oban"),
    "protocol": 1,
    "ownership": "age-only",
    "beats": "nobody",
    "reclaim": "leader",
    "attempts": "claim",
    "lease": AGE,
    "reclaim_every": RESCUE,
    "slack": 2 * ELECTION + STAGE,
    "retry_after": RETRY_AFTER + STAGE if TUNED else 60.0,
    "drain": {"signal": "SIGTERM", "exit_codes": [0]},
    "options": ["max_attempts", "delay", "queue", "transaction"],
    "columns": ["attempt", "max_attempts", "kind", "payload", "due", "last_error"],
    "hold": "SELECT id FROM oban_jobs WHERE id = %s FOR UPDATE",
}
if TUNED:  # else a node is named by its host and process
    DESCRIBE["columns"] += ["leased_by"]
    DESCRIBE["options"] += ["grace"]


async def control() -> None:
    pool = await Oban.create_pool(dsn=DSN)
    oban, under_way = Oban(pool=pool), []

    async def enqueue(request: dict[str, Any]) -> dict[str, Any]:
        ids = []
        for job in request["jobs"]:
            wishes = {wish: job[wish] for wish in ("max_attempts", "queue") if wish in job}
            delay = {"schedule_in": job["delay"]} if "delay" in job else {}
            made = Puppet.new({"job": job["job"]}, **wishes, **delay)
            ids.append(str((await oban.enqueue(made, conn=under_way[0] if under_way else None)).id))
        return {"ids": ids}

    async def inspect(request: dict[str, Any]) -> dict[str, Any]:
        await pool.check()
        async with pool.connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(ROW, [[int(id) for id in request["ids"]]])
            rows = {row["id"]: row for row in await cursor.fetchall()}
        return {"rows": [rows.get(id, {"id": id, "state": "absent"}) for id in request["ids"]]}

    async def transaction(request: dict[str, Any]) -> None:
        if request["do"] == "begin":
            under_way.append(await pool.getconn())
        elif under_way:
            await getattr(under_way[0], request["do"])()
            await pool.putconn(under_way.pop())

    async def execute(request: dict[str, Any]) -> None:
        await under_way[0].execute(request["statement"].encode())

    nothing = {"describe": lambda _: DESCRIBE, "reclaim": lambda _: {"ids": None}}
    requests = {"prepare": lambda _: install(pool), "enqueue": enqueue, "inspect": inspect}
    await kit.control_async({**nothing, **requests, "transaction": transaction, "execute": execute})
    await pool.close()


class Started(logging.Handler):
    """It has no event for it, but its log has."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage().startswith("Oban started"):
            self.line = kit.ready()


def worker(options: dict[str, Any]) -> None:
    """`oban start`."""
    logging.getLogger("oban.cli").addHandler(Started())
    arguments = ["start", "--dsn", DSN, "--queues", f"{options['queue'] or 'default'}:{options['slots']}"]
    if TUNED:
        name = os.environ["LEASEPROOF_WORKER"]
        node = f"{name}/{uuid4()}"  # unique per instance, also where the name is given again
        config = Path(os.environ["LEASEPROOF_FOLDER"]) / f"{name}.toml"
        grace = 86_400.0 if options["grace"] is None else options["grace"]
        config.write_text(
            f"shutdown_grace_period = {grace}\n[lifeline]\nrescue_after = {AGE}\ninterval = {RESCUE}\n"
            f"[stager]\ninterval = {STAGE}\n"
        )
        arguments += ["--config", str(config), "--node", node]
    main(arguments)


if __name__ == "__main__":
    asyncio.run(control()) if sys.argv[1] == "control" else worker(json.loads(os.environ["LEASEPROOF_OPTIONS"]))
