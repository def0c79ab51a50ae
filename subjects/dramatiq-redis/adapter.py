"""Dramatiq behind the contract: its control process; worker.py starts its workers, and tasks.py has the actor."""

import json
import time
from collections.abc import Iterator
from typing import Any

import dramatiq
from tasks import HEARTBEAT, LEASE, RABBITMQ, TIMEOUT, TUNED, broker, kit, puppet

if RABBITMQ:
    import pika
    from dramatiq.common import xq_name
    from dramatiq.results import ResultFailure, ResultMissing
    from tasks import results

SENT: dict[str, dramatiq.Message] = {}
DUE: dict[str, float] = {}

DESCRIBE: dict[str, Any] = {
    "subject": "dramatiq-rabbitmq" if RABBITMQ else "dramatiq-redis",
    "version": dramatiq.__version__,
    "protocol": 1,
    "children": True,
    "beats": "runtime",
    "reclaim": "automatic",
    "attempts": "failure",
    "drain": {"signal": "SIGTERM", "exit_codes": [0]},
    "retry_after": 60.0,  # 15 s and up to as much again, and twice that the second time
    "options": ["max_attempts", "delay", "queue"],
    "columns": ["attempt", "kind", "payload", "due", "last_error"],
}
if RABBITMQ:  # A worker that dies hangs up; one that only stands still is found out by its heartbeat.
    DESCRIBE |= {"ownership": "connection", "slack": 0.5}
    if TUNED:
        DESCRIBE |= {"reclaim_every": 3.0 * HEARTBEAT}
else:
    DESCRIBE |= {"ownership": "lease-and-heartbeat", "lease": LEASE if TUNED else 60.0, "slack": 0.5}
    # One command in a thousand looks for the dead, and an idle worker sends about two a second.
    DESCRIBE |= {"reclaim_every": LEASE / 10 if TUNED else 500.0}
    DESCRIBE["columns"] += ["lease_alive", "lease_expired", "lease_left"]
if TUNED:
    DESCRIBE["options"] += ["backoff", "grace"]


def enqueue(request: dict[str, Any]) -> dict[str, Any]:
    for job in request["jobs"]:
        options = {"max_retries": job["max_attempts"] - 1} if "max_attempts" in job else {}
        message = puppet.message_with_options(kwargs={"job": job["job"]}, **options)
        message = message.copy(queue_name=job.get("queue", "default"))
        broker.declare_queue(message.queue_name)
        broker.enqueue(message, delay=round(job["delay"] * 1000) if "delay" in job else None)
        SENT[message.message_id] = message
        DUE[message.message_id] = time.time() + job.get("delay", 0.0)
    return {"ids": list(SENT)[-len(request["jobs"]) :]}


def kept(redis: Any, queue: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What Redis has of the messages in one list, with its dead letters, by their ids."""
    ready = set(redis.lrange(f"dramatiq:{queue}", 0, -1))
    beats = dict(redis.zrange("dramatiq:__heartbeats__", 0, -1, withscores=True))
    workers = {id: worker for worker in beats for id in redis.smembers(f"dramatiq:__acks__.{worker.decode()}.{queue}")}
    for state, key in (("failed", f"dramatiq:{queue}.XQ.msgs"), ("", f"dramatiq:{queue}.msgs")):
        for id, text in redis.hgetall(key).items():
            message = dramatiq.Message.decode(text)
            late = message.options.get("eta", 0) > time.time() * 1000
            row = {"state": state or ("queued" if id in ready or "eta" in message.options else "running")}
            row |= {"due": "f" if late else "t", "last_error": message.options.get("traceback"), **content(message)}
            if row["state"] == "running":
                left = beats.get(workers.get(id), 0.0) / 1000 + TIMEOUT / 1000 - time.time()
                row |= {"lease_alive": "t" if left > 0 else "f", "lease_expired": "f" if left > 0 else "t"}
                row |= {"lease_left": f"{left:.3f}"}
            yield message.message_id, row


def result(id: str) -> dict[str, Any]:
    """What the result backend has of a message."""
    try:
        results.get_result(SENT[id])
    except ResultMissing:
        return {"state": "running", "last_error": None}
    except ResultFailure as failure:
        return {"state": "failed", "last_error": str(failure)}
    return {"state": "done", "last_error": None}


def told() -> dict[str, dict[str, Any]]:
    """RabbitMQ shows its dead letters, but of the others how many are ready: they are the last without a result."""
    rows = {id: result(id) | {"due": "f" if DUE[id] > time.time() else "t"} for id in SENT}
    with pika.BlockingConnection(broker.parameters) as connection:  # one that is left alone sends no heartbeats
        for queue in {message.queue_name for message in SENT.values()}:
            waiting = [id for id in SENT if SENT[id].queue_name == queue and rows[id]["state"] == "running"]
            late = [id for id in waiting if DUE[id] > time.time()]
            channel = connection.channel()
            ready = channel.queue_declare(queue, passive=True).method.message_count
            for id in [*late, *[id for id in waiting if id not in late][-ready or len(waiting) :]]:
                rows[id]["state"] = "queued"
            for message in dead(channel, queue):
                rows[message.message_id] |= {"state": "failed", **content(message)}
    return rows


def dead(channel: Any, queue: str) -> Iterator[dramatiq.Message]:
    """The dead letters of a queue, which go back there when the channel is closed."""
    while body := channel.basic_get(xq_name(queue))[2]:
        yield dramatiq.Message.decode(body)


def content(message: dramatiq.Message) -> dict[str, str]:
    attempt = message.options.get("retries", 0) + 1
    return {"attempt": str(attempt), "kind": message.actor_name, "payload": json.dumps(message.kwargs)}


def inspect(request: dict[str, Any]) -> dict[str, Any]:
    if RABBITMQ:
        found = told()
    else:
        queues = [name for message in SENT.values() for name in (message.queue_name, f"{message.queue_name}.DQ")]
        found = {id: row for queue in dict.fromkeys(queues) for id, row in kept(broker.client, queue)}
    blank = {"state": "absent", **dict.fromkeys(DESCRIBE["columns"])}
    return {"rows": [{"id": id, **blank, **found.get(id, {})} for id in request["ids"]]}


if __name__ == "__main__":
    requests = {"describe": lambda _: DESCRIBE, "prepare": lambda _: None, "reclaim": lambda _: {"ids": None}}
    kit.control({**requests, "enqueue": enqueue, "inspect": inspect})
