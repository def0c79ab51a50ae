"""The queue, its task and the worker's settings, in a module of their own: `saq` imports them by name."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from math import ceil
from pathlib import Path
from typing import Any

from saq import Job, Queue

sys.path.append(str(Path(__file__).parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit

TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
OPTIONS = json.loads(os.environ.get("LEASEPROOF_OPTIONS", "{}"))  # a control process has none
HEARTBEAT = max(1, ceil(float(os.environ["LEASEPROOF_LEASE"])))  # whole seconds
LINES: list[kit.Line] = []


def made(name: str | None) -> Queue:
    return Queue.from_url(os.environ["LEASEPROOF_REDIS"], name=name or "default")


@asynccontextmanager
async def beating(job: Job) -> AsyncIterator[None]:
    """What the documentation leaves to a task: "calling await job.update()" within its heartbeat."""

    async def beat() -> None:
        while True:
            await asyncio.sleep(HEARTBEAT / 3)
            await job.update()

    beats = asyncio.create_task(beat())
    try:
        yield
    finally:
        beats.cancel()


async def puppet(ctx: dict[str, Any], *, job: str) -> None:
    async with beating(ctx["job"]) if TUNED else nullcontext():
        await kit.obey_async(job, ctx["job"].attempts)


async def startup(ctx: dict[str, Any]) -> None:
    LINES.append(kit.ready())


def settings() -> dict[str, Any]:
    common = {"queue": made(OPTIONS["queue"]), "functions": [puppet], "startup": startup}
    common["concurrency"] = OPTIONS["slots"]
    if not TUNED:
        return common
    # It ends when nobody waits for a job any more, so that none may wait for ever.
    grace = 3600 if OPTIONS["grace"] is None else OPTIONS["grace"]
    waits = {"shutdown_grace_period_s": grace, "dequeue_timeout": 1.0}
    timers = {"sweep": 1, "worker_info": 1}  # it ends no sooner than the longest of them has come round
    return common | waits | {"timers": timers, "id": os.environ["LEASEPROOF_WORKER"]}
