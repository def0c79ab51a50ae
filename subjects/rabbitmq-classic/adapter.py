"""RabbitMQ by pika behind the contract: `adapter.py control` or `adapter.py worker`; README.md has its settings."""

import json
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "kits" / "python"))
import consumers
import leaseproof_kit as kit
from broker import HEARTBEAT, MARKS, QUORUM, TUNED, connect, declare

DESCRIBE: dict[str, Any] = {
    "subject": f"rabbitmq-{'quorum' if QUORUM else 'classic'}",
    "version": f"pika {version('pika')}",
    "protocol": 1,
    "drain": {"signal": "SIGTERM", "exit_codes": [0 if TUNED else -signal.SIGTERM]},
    "options": ["queue"],
    "columns": [],
    "attempts": "claim" if TUNED and QUORUM else "never",
}
if TUNED:
    DESCRIBE |= {"ownership": "connection", "beats": "runtime", "reclaim": "automatic", "lease": 3 * HEARTBEAT}
    DESCRIBE |= {"reclaim_every": 0.1, "slack": 0.0}
else:  # As the first tutorial has it a message is acknowledged by its delivery, and nobody holds it any more.
    DESCRIBE |= {"ownership": "none", "beats": "nobody", "reclaim": "none", "slack": 5.0, "slots": 1, "deals": True}


def marked(id: str) -> tuple[str, float]:
    path = MARKS / id
    return (path.read_text(), path.stat().st_mtime) if path.exists() else ("", 0.0)


SENT: dict[str, list[str]] = defaultdict(list)


def enqueue(channel: BlockingChannel, request: dict[str, Any]) -> dict[str, Any]:
    before = sum(map(len, SENT.values()))
    if TUNED:
        channel.confirm_delivery()
    for id, job in enumerate(request["jobs"], start=before + 1):
        declare(channel, queue := job.get("queue", "default"))
        properties = pika.BasicProperties(message_id=str(id), delivery_mode=2 if TUNED else None)
        channel.basic_publish("", queue, json.dumps(job).encode(), properties)
        SENT[queue].append(str(id))
    return {"ids": [str(before + n) for n in range(1, len(request["jobs"]) + 1)]}


def inspect(channel: BlockingChannel, request: dict[str, Any]) -> dict[str, Any]:
    states: dict[str, str] = {}
    for queue, ids in SENT.items():
        marks = {id: marked(id) for id in ids}
        try:
            ready = channel.connection.channel().queue_declare(queue, passive=True).method.message_count
        except ChannelClosedByBroker:  # the queue went with the server, and all that was in it
            continue
        # Consumers have what was delivered last; of what never was seen, the oldest.
        left = sorted((id for id in ids if marks[id][0] not in ("done", "failed")), key=lambda id: -marks[id][1])
        had = max(0, len(left) - ready)
        states |= {id: marks[id][0] for id in ids} | dict.fromkeys(left[:had], "running" if TUNED else "absent")
        states |= dict.fromkeys(left[had:], "queued")
    return {"rows": [{"id": id, "state": states.get(id, "absent")} for id in request["ids"]]}


def answer(function: Callable[[BlockingChannel, dict[str, Any]], Any], request: dict[str, Any]) -> Any:
    with connect() as connection:
        return function(connection.channel(), request)


if __name__ == "__main__":
    if sys.argv[1] == "control":
        asked = {"prepare": lambda channel, _: declare(channel, "default"), "enqueue": enqueue, "inspect": inspect}
        nothing = {"describe": lambda _: DESCRIBE, "reclaim": lambda _: {"ids": None}}
        kit.control({**nothing, **{name: partial(answer, function) for name, function in asked.items()}})
    else:
        options = json.loads(os.environ["LEASEPROOF_OPTIONS"])
        queue = options["queue"] or "default"
        consumers.tuned(queue, options["slots"]) if TUNED else consumers.hello(queue)
