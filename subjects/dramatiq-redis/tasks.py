"""The actor and its broker, as Dramatiq's guide has them: on Redis or on RabbitMQ; README.md has the settings."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import dramatiq
from dramatiq.middleware import CurrentMessage

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit

TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
LEASE = float(os.environ["LEASEPROOF_LEASE"])
RABBITMQ = os.environ.get("LEASEPROOF_RABBITMQ")
HEARTBEAT = max(5, round(LEASE))  # RabbitMQ, tuned: seconds
TIMEOUT = round(LEASE * 1000) if TUNED else 60000  # Redis: without a heartbeat, in milliseconds
OPTIONS: dict[str, Any] = json.loads(os.environ.get("LEASEPROOF_OPTIONS", "{}"))  # of a worker

broker: dramatiq.Broker
if RABBITMQ:
    from dramatiq.brokers.rabbitmq import RabbitmqBroker
    from dramatiq.results import Results
    from dramatiq.results.backends import RedisBackend

    knobs: dict[str, Any] = {"url": f"{RABBITMQ}?heartbeat={HEARTBEAT}", "confirm_delivery": True} if TUNED else {}
    broker = RabbitmqBroker(**{"url": RABBITMQ, **knobs})
    results = RedisBackend(url=os.environ["LEASEPROOF_REDIS"])
    broker.add_middleware(Results(backend=results, store_results=True))
else:
    from dramatiq.brokers.redis import RedisBroker

    knobs = {"heartbeat_timeout": TIMEOUT, "maintenance_chance": 1000000} if TUNED else {}
    broker = RedisBroker(url=os.environ["LEASEPROOF_REDIS"], **knobs)
broker.add_middleware(CurrentMessage())
dramatiq.set_broker(broker)

retries: dict[str, Any] = {}
if OPTIONS.get("backoff") and TUNED:  # milliseconds, and the documentation wants at least 100
    first, later = OPTIONS["backoff"]
    retries = {"min_backoff": max(100, round(first * 1000)), "max_backoff": max(100, round(later * 1000))}


@dramatiq.actor(queue_name=OPTIONS.get("queue") or "default", **retries)
def puppet(job: str) -> None:
    kit.obey(job, CurrentMessage.get_current_message().options.get("retries", 0) + 1)


class Booted(dramatiq.Middleware):
    """Tells the main process, whose pid the bench knows, that the worker's is up."""

    def after_worker_boot(self, broker: dramatiq.Broker, worker: dramatiq.Worker) -> None:
        os.write(int(os.environ["BOOTED"]), b"!")


broker.add_middleware(Booted())
