"""streaq behind the contract: `adapter.py control` or `adapter.py worker`; README.md has its settings."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from streaq import StreaqRetry, TaskStatus, Worker
from streaq.cli import run_worker
from streaq.constants import REDIS_GROUP

sys.path.append(str(Path(__file__).parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit

TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
IDLE = float(os.environ["LEASEPROOF_LEASE"]) if TUNED else 60.0
OPTIONS = json.loads(os.environ.get("LEASEPROOF_OPTIONS", "{}"))
MOST = 9  # attempts that a job can be given, each number a task of its own: `max_tries` is the task's

DESCRIBE: dict[str, Any] = {
    "subject": "streaq",
    "version": version("streaq"),
    "protocol": 1,
    "ownership": "lease-and-heartbeat",
    "beats": "runtime",
    "reclaim": "automatic",
    "attempts": "claim",
    "lease": IDLE,
    "reclaim_every": IDLE,  # an idle worker waits as long for new tasks before it looks for abandoned ones
    "slack": 0.5,  # delayed tasks and retries are looked for twice a second
    "drain": {"signal": "SIGTERM", "exit_codes": [0]},
    "options": ["max_attempts", "delay", "queue", *(["backoff", "prefetch", "grace"] if TUNED else [])],
    "columns": ["attempt", "kind", "payload", "due", "last_error", "leased_by", "lease_alive", "lease_left"],
}


@asynccontextmanager
async def lifespan() -> AsyncIterator[kit.Line]:
    yield kit.ready()


def application(queue: str) -> Worker[kit.Line]:
    settings: dict[str, Any] = {"id": f"{os.environ.get('LEASEPROOF_WORKER', 'control')}.{os.getpid()}"}
    if TUNED and OPTIONS:
        settings |= {"idle_timeout": IDLE, "concurrency": OPTIONS["slots"], "prefetch": OPTIONS["prefetch"]}
        settings["grace_period"] = 3600 if OPTIONS["grace"] is None else OPTIONS["grace"]
    made = Worker(os.environ["LEASEPROOF_REDIS"], queue_name=queue, lifespan=lifespan, **settings)

    async def puppet(job: str, max_attempts: int | None) -> None:
        tries = plain.context.tries
        try:
            await kit.obey_async(job, tries)
        except kit.OrderedFailure as error:
            if error.kind == "permanent" or (max_attempts and tries >= max_attempts):
                raise
            least, most = OPTIONS["backoff"] if TUNED and OPTIONS["backoff"] else (None, None)
            delay = error.retry_in if least is None else max(error.retry_in or 0.0, min(most, least * 2**tries / 2))
            raise StreaqRetry(str(error), delay=None if delay is None else timedelta(seconds=delay)) from error

    plain = made.task(name="puppet", max_tries=None if TUNED else 3)(puppet)
    for tries in range(1, MOST + 1):
        made.task(name=f"puppet-{tries}", max_tries=tries)(puppet)
    return made


class Control:
    def __init__(self, stack: AsyncExitStack) -> None:
        self.stack, self.clients, self.queues = stack, {}, {}

    async def client(self, queue: str) -> Worker[kit.Line]:
        if queue not in self.clients:
            self.clients[queue] = await self.stack.enter_async_context(application(queue))
        return self.clients[queue]

    async def enqueue(self, request: dict[str, Any]) -> dict[str, Any]:
        ids = []
        for job in request["jobs"]:
            queue, most = job.get("queue", "default"), job.get("max_attempts")
            name = f"puppet-{most}" if most else "puppet"
            task = (await self.client(queue)).enqueue_unsafe(name, job["job"], most)
            await task.start(delay=timedelta(seconds=job["delay"]) if "delay" in job else None)
            self.queues[task.id] = queue
            ids.append(task.id)
        return {"ids": ids}

    async def inspect(self, request: dict[str, Any]) -> dict[str, Any]:
        held: dict[str, Any] = {}
        for client in self.clients.values():
            stream = client.stream_key + "normal"
            if await client.redis.exists([stream]) and await client.redis.xinfo_groups(stream):
                tasks = {entry.identifier: entry.field_values["task_id"] for entry in await client.redis.xrange(stream)}
                for pending in await client.redis.xpending(stream, REDIS_GROUP, "-", "+", 10000):
                    held[tasks.get(pending.identifier, "")] = pending
        return {"rows": [await self.row(id, held.get(id)) for id in request["ids"]]}

    async def row(self, id: str, held: Any) -> dict[str, Any]:
        client, row = await self.client(self.queues.get(id, "default")), dict.fromkeys(DESCRIBE["columns"])
        if info := await client.info_by_id(id):
            row |= {"state": "running" if held else "queued", "kind": info.fn_name, "payload": str(info.args)}
            row |= {"attempt": str(info.tries), "due": "f" if info.status == TaskStatus.SCHEDULED else "t"}
            if held:
                left = IDLE - held.idle / 1000
                row |= {"leased_by": held.consumer.rpartition(".")[0], "lease_alive": "t" if left > 0 else "f"}
                row["lease_left"] = f"{left:.3f}"
        elif await client.status_by_id(id) == TaskStatus.DONE:
            result = await client.result_by_id(id)  # what is over has lost its arguments
            row |= {
                "state": "done" if result.success else "failed",
                "kind": result.fn_name,
                "attempt": str(result.tries),
            }
            row["last_error"] = None if result.success else str(result.exception)
        return {"state": "absent", **row, "id": id}


async def control() -> None:
    async with AsyncExitStack() as stack:
        asked = Control(stack)
        nothing = {"describe": lambda _: DESCRIBE, "prepare": lambda _: {}, "reclaim": lambda _: {"ids": None}}
        await kit.control_async({**nothing, "enqueue": asked.enqueue, "inspect": asked.inspect})


if __name__ == "__main__":
    if sys.argv[1] == "control":
        asyncio.run(control())
    else:
        run_worker("adapter:worker", burst=False, watch=False, verbose=False)
else:  # as `streaq run` imports it
    worker = application(OPTIONS["queue"] or "default")
