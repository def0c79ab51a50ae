"""taskiq behind the contract: `adapter.py control` or `adapter.py worker`; README.md has its settings."""

import asyncio
import json
import os
import sys
import threading
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import redis
from redis.asyncio import Redis
from taskiq import Context, SimpleRetryMiddleware, TaskiqDepends, TaskiqEvents, TaskiqState
from taskiq.cli.worker.args import WorkerArgs
from taskiq.cli.worker.run import run_worker
from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

sys.path.append(str(Path(__file__).parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit

URL = os.environ["LEASEPROOF_REDIS"]
TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
IDLE = float(os.environ["LEASEPROOF_LEASE"]) if TUNED else 600.0
OPTIONS = json.loads(os.environ.get("LEASEPROOF_OPTIONS", "{}"))
GROUP, CONTEXT, queues = "taskiq", TaskiqDepends(), {"taskiq"}

DESCRIBE: dict[str, Any] = {
    "subject": "taskiq",
    "version": f"taskiq {version('taskiq')} with taskiq-redis {version('taskiq-redis')}",
    "protocol": 1,
    "ownership": "lease",
    "beats": "nobody",  # a message is another's once it was delivered so long ago
    "reclaim": "automatic",
    "attempts": "failure",
    "lease": IDLE,
    "reclaim_every": IDLE / 2 if TUNED else 2.0,
    "slack": 0.0,
    "drain": {"signal": "SIGTERM", "exit_codes": [0]},
    "children": True,
    "options": ["queue", *(["max_attempts", "grace"] if TUNED else [])],
    "columns": ["attempt", "kind", "payload", "due", "last_error", "lease_alive"],
}

settings: dict[str, Any] = {"idle_timeout": int(IDLE * 1000), "unacknowledged_lock_timeout": IDLE, "consumer_id": "0"}
settings |= {"xread_count": 1, "xread_block": max(1, int(IDLE * 500))}
again: dict[str, Any] = {} if OPTIONS else {"retry": redis.asyncio.retry.Retry(redis.backoff.NoBackoff(), 1)}
broker = RedisStreamBroker(URL, queue_name=OPTIONS.get("queue") or "taskiq", **(settings if TUNED else {}), **again)
broker = broker.with_result_backend(RedisAsyncResultBackend(URL))


class Transient(Exception):
    """What is worth another attempt."""


if TUNED:
    broker = broker.with_middlewares(SimpleRetryMiddleware(types_of_exceptions=[Transient]))


@broker.task(task_name="puppet")
async def puppet(job: str, context: Context = CONTEXT) -> None:
    try:
        await kit.obey_async(job, int(context.message.labels.get("_retries", 0)) + 1)
    except kit.OrderedFailure as error:
        raise (error if error.kind == "permanent" else Transient(str(error))) from None


async def prepare(_: dict[str, Any]) -> None:
    if TUNED:  # the README's first page does not
        await broker.startup()


async def enqueue(request: dict[str, Any]) -> dict[str, Any]:
    ids = []
    for job in request["jobs"]:
        labels = {"retry_on_error": True, "max_retries": job["max_attempts"]} if "max_attempts" in job else {}
        labels |= {"queue_name": job["queue"]} if "queue" in job else {}
        queues.add(job.get("queue", "taskiq"))
        ids.append((await puppet.kicker().with_labels(**labels).kiq(job["job"])).task_id)
    return {"ids": ids}


async def inspect(request: dict[str, Any]) -> dict[str, Any]:
    rows: dict[str, dict[str, Any]] = {}
    results = RedisAsyncResultBackend(URL)  # no connection of before a restart of the server
    async with Redis.from_url(URL) as client:
        for queue in queues:
            await look(client, queue, rows)
    for id, row in rows.items():
        if row["state"] == "absent" and await results.is_result_ready(id):
            result = await results.get_result(id)
            row |= {"state": "failed", "last_error": str(result.error)} if result.is_err else {"state": "done"}
    await results.shutdown()
    return {"rows": [rows.get(id, {"id": id, "state": "absent"}) for id in request["ids"]]}


async def look(client: Redis, queue: str, rows: dict[str, dict[str, Any]]) -> None:
    """Of each message of a stream: whether it is pending, was never delivered, or was acknowledged."""
    try:
        (group,) = await client.xinfo_groups(queue)
        held = {e["message_id"]: e for e in await client.xpending_range(queue, GROUP, "-", "+", 10000)}
        last = place(group["last-delivered-id"])
    except (redis.ResponseError, ValueError):
        held, last = {}, (0, 0)  # no worker has been there yet
    for number, fields in await client.xrange(queue):
        message = broker.formatter.loads(fields[b"data"])
        state = "running" if number in held else "queued" if place(number) > last else "absent"
        row = {"id": message.task_id, "state": state, "kind": message.task_name, "due": "t", "last_error": None}
        row |= {"attempt": str(int(message.labels.get("_retries", 0)) + 1), "payload": message.model_dump_json()}
        left = IDLE - held[number]["time_since_delivered"] / 1000 if number in held else None
        rows[message.task_id] = row | {"lease_alive": None if left is None else "t" if left > 0 else "f"}


def place(number: bytes) -> tuple[int, ...]:
    return tuple(map(int, number.decode().split("-")))


def worker() -> None:
    begun, began = os.pipe()
    os.environ["ADAPTER_BEGAN"] = str(began)
    arguments = ["adapter:broker", "--app-dir", str(Path(__file__).parent)]
    if TUNED:
        arguments += ["--workers", "1", "--max-async-tasks", str(OPTIONS["slots"])]
        arguments += [] if OPTIONS["grace"] is None else ["--wait-tasks-timeout", str(OPTIONS["grace"])]
    args, lines = WorkerArgs.from_cli(arguments), []

    def ready() -> None:
        for _ in range(args.workers):
            os.read(begun, 1)
        with redis.Redis.from_url(URL) as client:  # the group is made just after the event
            while not (client.exists(broker.queue_name) and client.xinfo_groups(broker.queue_name)):
                time.sleep(0.01)
        lines.append(kit.ready())

    threading.Thread(target=ready, daemon=True).start()
    sys.exit(run_worker(args))


@broker.on_event(TaskiqEvents.WORKER_STARTUP)
async def begin(_: TaskiqState) -> None:
    os.write(int(os.environ["ADAPTER_BEGAN"]), b".")


if __name__ == "__main__":
    if sys.argv[1] == "control":
        nothing = {"describe": lambda _: DESCRIBE, "reclaim": lambda _: {"ids": None}}
        asyncio.run(kit.control_async({**nothing, "prepare": prepare, "enqueue": enqueue, "inspect": inspect}))
    else:
        worker()
