"""awa behind the contract: `adapter.py control` or `adapter.py worker`; README.md has its settings."""

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import awa

sys.path.append(str(Path(__file__).parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit

DSN = os.environ["LEASEPROOF_POSTGRES"]
TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
LEASE = float(os.environ["LEASEPROOF_LEASE"]) if TUNED else 90.0
"""Seconds: `heartbeat_staleness`, after which the leader takes a job from whoever has not beaten."""

RESCUE = LEASE / 3 if TUNED else 30.0
ELECTION = LEASE / 10 if TUNED else 10.0
"""Seconds between two rescues of the leader, and between two tries of each other to become one."""

ROUND, BACKOFF = 2.0, 2 * 1.25
"""Seconds, at most: a new leader's first round, since it rescues, rotates and prunes in one loop, slot by slot; and
what a job waits for its second attempt, also where a rescue has ended the first."""

FOREVER = 86_400.0

DESCRIBE: dict[str, Any] = {
    "subject": "awa",
    "version": version("awa-pg"),
    "protocol": 1,
    "ownership": "lease-and-heartbeat",
    "beats": "runtime",
    "reclaim": "leader",
    "attempts": "claim",
    "lease": LEASE,
    "reclaim_every": RESCUE,
    "slack": ELECTION + ROUND + BACKOFF + (2 * LEASE / 10 if TUNED else 0.5),  # it is promoted, and then claimed
    "drain": {"signal": "SIGTERM", "exit_codes": [0] if TUNED else [0, -signal.SIGTERM]},
    "options": ["max_attempts", "delay", "queue", "backoff", "transaction"],
    "columns": ["attempt", "max_attempts", "kind", "payload", "due", "last_error"],
}
if TUNED:
    DESCRIBE["options"] += ["grace"]

STATES = {"completed": "done", "failed": "failed", "cancelled": "failed", "running": "running"}
"""All else (scheduled, available, retryable, waiting_external) is `queued`."""


@dataclass
class Puppet:
    """The arguments of the only kind of job."""

    job: str


class Permanent(awa.TerminalError):
    """An error that no further attempt would mend."""


async def control() -> None:
    client = awa.AsyncClient(DSN, max_connections=5)  # of its ten, a control process has no use for the others
    under_way: list[Any] = []

    async def prepare(_: dict[str, Any]) -> None:
        await client.migrate()
        # A database is on the engine of 0.6 from the first start of a worker on, if nothing was put in before.
        client.task(Puppet)(kit.obey_async)
        await client.start([("default", 1)])
        await client.shutdown()

    async def enqueue(request: dict[str, Any]) -> dict[str, Any]:
        into, ids = (under_way or [client])[0], []
        for job in request["jobs"]:
            wishes = {wish: job[wish] for wish in ("queue", "max_attempts") if wish in job}
            if "delay" in job:
                wishes["run_at"] = datetime.now(UTC) + timedelta(seconds=job["delay"])
            ids.append(str((await into.insert(Puppet(job["job"]), **wishes)).id))
        return {"ids": ids}

    async def transaction(request: dict[str, Any]) -> None:
        if request["do"] == "begin":
            under_way.append(await client.transaction())
        elif under_way:
            await getattr(under_way.pop(), request["do"])()

    async def execute(request: dict[str, Any]) -> None:
        await under_way[0].execute(request["statement"])

    async def look(id: str) -> dict[str, Any]:
        try:
            job = await client.get_job(int(id))
        except awa.AwaError as error:
            if "job not found" not in str(error):
                raise
            return {"id": id, "state": "absent"}
        row = {"id": id, "state": STATES.get(str(job.state), "queued")}
        row |= {"attempt": str(job.attempt), "max_attempts": str(job.max_attempts)}
        row |= {"kind": job.kind, "payload": json.dumps(job.args)}
        row["due"] = "t" if datetime.fromisoformat(job.run_at) <= datetime.now(UTC) else "f"
        row["last_error"] = job.errors[-1]["error"] if job.errors else None
        return row

    async def inspect(request: dict[str, Any]) -> dict[str, Any]:
        return {"rows": await asyncio.gather(*map(look, request["ids"]))}  # each is half a dozen statements

    nothing = {"describe": lambda _: DESCRIBE, "reclaim": lambda _: {"ids": None}}
    requests = {"prepare": prepare, "enqueue": enqueue, "inspect": inspect}
    await kit.control_async({**nothing, **requests, "transaction": transaction, "execute": execute})


async def worker(options: dict[str, Any]) -> None:
    client, queue, stop = awa.AsyncClient(DSN), options["queue"] or "default", asyncio.Event()

    @client.task(Puppet, queue=queue)
    async def puppet(job: Any) -> awa.RetryAfter | None:
        try:
            await kit.obey_async(job.args.job, job.attempt)
        except kit.OrderedFailure as failure:
            if failure.kind == "permanent":
                raise Permanent(str(failure)) from failure
            if options["backoff"] and job.attempt < job.max_attempts:
                return awa.RetryAfter(options["backoff"][0])
            raise
        return None

    settings: dict[str, int] = {}
    if TUNED:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        seconds = {"poll": options["poll"], "promote": LEASE / 10, "leader_election": ELECTION}
        seconds |= {"heartbeat": LEASE / 3, "heartbeat_rescue": RESCUE, "deadline_rescue": RESCUE}
        seconds["queue_storage_queue_rotate"] = 60.0  # else what is done is gone after a second or two
        settings = {f"{name}_interval_ms": round(1000 * value) for name, value in seconds.items()}
        settings["heartbeat_staleness_ms"] = round(1000 * LEASE)
    await client.start([(queue, options["slots"])], **settings)
    line = kit.ready()
    await stop.wait()
    await client.shutdown(timeout_ms=round(1000 * (FOREVER if options["grace"] is None else options["grace"])))
    await client.close()
    line.close()


if __name__ == "__main__":
    asyncio.run(control() if sys.argv[1] == "control" else worker(json.loads(os.environ["LEASEPROOF_OPTIONS"])))
