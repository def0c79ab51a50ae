"""What both processes know of RabbitMQ: how to connect, and which queues there are."""

import json
import os
from pathlib import Path

import pika
from pika.adapters.blocking_connection import BlockingChannel

TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
QUORUM = json.loads(os.environ["LEASEPROOF_SETTINGS"])["queue_type"] == "quorum"
HEARTBEAT = max(1, round(float(os.environ["LEASEPROOF_LEASE"]) / 3))  # whole seconds; the broker waits for up to three
MARKS = Path(os.environ["LEASEPROOF_FOLDER"])  # what a worker last did with each message: a broker tells of none
DEAD = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead-letters"}
ARGUMENTS = {**({"x-queue-type": "quorum"} if QUORUM else {}), **(DEAD if TUNED else {})}


def connect() -> pika.BlockingConnection:
    parameters = pika.URLParameters(os.environ["LEASEPROOF_RABBITMQ"])
    if TUNED:
        parameters.heartbeat, parameters.connection_attempts, parameters.retry_delay = HEARTBEAT, 10, 0.5
    return pika.BlockingConnection(parameters)


def declare(channel: BlockingChannel, queue: str) -> None:
    if TUNED:
        channel.queue_declare(DEAD["x-dead-letter-routing-key"], durable=True)
    channel.queue_declare(queue, durable=TUNED or QUORUM, arguments=ARGUMENTS)
