"""The handler of a message, and its settings; README.md has those."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import nats
from nats.aio.msg import Msg

sys.path.append(str(Path(__file__).parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit

TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
ACK_WAIT = float(os.environ["LEASEPROOF_LEASE"]) if TUNED else 30.0


@asynccontextmanager
async def in_progress(message: Msg) -> AsyncIterator[None]:
    """Tell the server, each third of `ack_wait`, that the handler is still at it."""

    async def beat() -> None:
        while True:
            await asyncio.sleep(ACK_WAIT / 3)
            await message.in_progress()

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()


async def handle(message: Msg) -> None:
    job, attempt = json.loads(message.data)["job"], message.metadata.num_delivered
    if not TUNED:
        with suppress(kit.OrderedFailure):  # nothing is said to the server, which delivers it again later
            await kit.obey_async(job, attempt)
            await message.ack()
        return
    try:
        async with in_progress(message):
            await kit.obey_async(job, attempt)
    except kit.OrderedFailure as error:
        await (message.term() if error.kind == "permanent" else message.nak(error.retry_in))
    else:
        with suppress(nats.errors.Error):
            await message.ack_sync()
