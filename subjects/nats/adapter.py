"""NATS JetStream behind the contract: `adapter.py control` or `adapter.py worker`; README.md has its settings."""

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from importlib.metadata import version
from typing import Any

import nats
from handler import ACK_WAIT, TUNED, handle, kit
from nats.aio.msg import Msg
from nats.js.api import ConsumerConfig, RetentionPolicy
from nats.js.errors import NotFoundError

STREAM = "jobs"

DESCRIBE: dict[str, Any] = {
    "subject": "nats",
    "version": f"nats-py {version('nats-py')}",
    "protocol": 1,
    "ownership": "lease-and-heartbeat" if TUNED else "lease",
    "beats": "handler" if TUNED else "nobody",
    "reclaim": "automatic",
    "attempts": "claim",
    "lease": ACK_WAIT,
    "reclaim_every": 0.1,  # the server looks when the first of them is over
    "slack": 0.0,
    "drain": {"signal": "SIGTERM", "exit_codes": [0] if TUNED else [-signal.SIGTERM]},
    "options": ["queue"],
    "columns": [],
}


async def connect() -> nats.NATS:
    settings = {"max_reconnect_attempts": -1, "reconnect_time_wait": 0.2} if TUNED else {}
    return await nats.connect(os.environ["LEASEPROOF_NATS"], **settings)


async def subscribe(client: nats.NATS, queue: str) -> Any:
    """The pull consumer of a queue, which all its workers share."""
    # The server tells of each ack that it takes, by which `inspect` knows: the rest is the default.
    config = ConsumerConfig(sample_freq="100", **({"ack_wait": ACK_WAIT} if TUNED else {}))
    return await client.jetstream().pull_subscribe(f"{STREAM}.{queue}", queue, stream=STREAM, config=config)


async def control() -> None:
    client = await connect()
    jetstream, over, sent, queues = client.jetstream(), {}, {}, {"default"}

    async def heard(message: Msg) -> None:
        said = json.loads(message.data)
        over[said["stream_seq"]] = "done" if ".METRIC." in message.subject else "failed"

    for subject in ("METRIC.CONSUMER.ACK", "ADVISORY.CONSUMER.MSG_TERMINATED"):
        await client.subscribe(f"$JS.EVENT.{subject}.{STREAM}.>", cb=heard)

    async def prepare(_: dict[str, Any]) -> None:
        retention = {"retention": RetentionPolicy.WORK_QUEUE} if TUNED else {}
        await jetstream.add_stream(name=STREAM, subjects=[f"{STREAM}.*"], **retention)
        await subscribe(client, "default")

    async def enqueue(request: dict[str, Any]) -> dict[str, Any]:
        ids = []
        for job in request["jobs"]:
            if (queue := job.get("queue", "default")) not in queues:
                await subscribe(client, queue)
                queues.add(queue)
            published = await jetstream.publish(f"{STREAM}.{queue}", json.dumps(job).encode())
            sent[published.seq] = queue
            ids.append(str(published.seq))
        return {"ids": ids}

    async def is_gone(id: int) -> bool:
        """Of a message whose delivery a crash made it forget, the server takes the ack, and tells nobody."""
        with suppress(NotFoundError):
            return not await jetstream.get_msg(STREAM, id)
        return True

    async def inspect(request: dict[str, Any]) -> dict[str, Any]:
        for id in map(int, request["ids"]):
            if TUNED and id in sent and id not in over and await is_gone(id):
                await asyncio.sleep(0.1)  # for what is on its way to be heard
                over.setdefault(id, "done")
        reached = {queue: (await jetstream.consumer_info(STREAM, queue)).delivered.stream_seq for queue in queues}
        await client.flush()  # so that all that was heard until now is in `over`

        def state(id: int) -> str:
            return over.get(id) or ("absent" if id not in sent else "running" if id <= reached[sent[id]] else "queued")

        return {"rows": [{"id": id, "state": state(int(id))} for id in request["ids"]]}

    nothing = {"describe": lambda _: DESCRIBE, "reclaim": lambda _: {"ids": None}}
    await kit.control_async({**nothing, "prepare": prepare, "enqueue": enqueue, "inspect": inspect})


async def worker(options: dict[str, Any]) -> None:
    client, told = await connect(), asyncio.Event()
    if TUNED:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)

    async def run(subscription: Any) -> None:
        while not told.is_set():
            try:
                (message,) = await subscription.fetch(1, **({"timeout": options["poll"]} if TUNED else {}))
            except nats.errors.TimeoutError:
                continue
            await (message.nak() if told.is_set() else handle(message))

    subscriptions = [await subscribe(client, options["queue"] or "default") for _ in range(options["slots"])]
    line = kit.ready()  # noqa: F841 - it stays open as long as the process lives
    await asyncio.gather(*map(run, subscriptions))
    await client.close()


if __name__ == "__main__":
    if sys.argv[1] == "control":
        asyncio.run(control())
    else:
        asyncio.run(worker(json.loads(os.environ["LEASEPROOF_OPTIONS"])))
