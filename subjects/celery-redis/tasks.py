"""The application, as the tasks.py of Celery's first steps: on Redis or on RabbitMQ; README.md has its settings."""

import json
import os
import sys
from math import ceil
from pathlib import Path
from typing import Any

from celery import Celery, Task, signals

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit

TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
LEASE = float(os.environ["LEASEPROOF_LEASE"])
REDIS = os.environ.get("LEASEPROOF_REDIS")
VISIBILITY = max(1, ceil(LEASE)) if TUNED else 3600  # Redis: whole seconds
HEARTBEAT = max(5, ceil(LEASE)) if TUNED else 60  # RabbitMQ: the client's 120 is brought down to the server's 60
MOST = 10  # attempts that a task may be given
OPTIONS: dict[str, Any] = json.loads(os.environ.get("LEASEPROOF_OPTIONS", "{}"))  # of a worker

BOTH: dict[str, Any] = {
    "task_acks_late": True,
    "task_reject_on_worker_lost": True,
    "task_retry_on_worker_lost": True,
    "result_extended": True,
    "worker_cancel_long_running_tasks_on_connection_loss": True,
    "worker_prefetch_multiplier": 1 + ceil(OPTIONS.get("prefetch", 0) / OPTIONS.get("slots", 1)),
    "worker_soft_shutdown_timeout": OPTIONS.get("grace") or 0.0,
    "worker_timer_precision": 0.1,
    "worker_lost_wait": LEASE,
}
ON_REDIS: dict[str, Any] = {
    "broker_transport_options": {
        "visibility_timeout": VISIBILITY,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
        "unacked_mutex_expire": VISIBILITY,
    },
    "result_backend_transport_options": {"visibility_timeout": VISIBILITY},
    "visibility_timeout": VISIBILITY,
    "worker_deduplicate_successful_tasks": True,
}
ON_RABBITMQ: dict[str, Any] = {
    "broker_heartbeat": HEARTBEAT,
    "broker_transport_options": {"confirm_publish": True},
}

BROKER = REDIS or os.environ["LEASEPROOF_RABBITMQ"]
app = Celery("tasks", broker=BROKER, backend=REDIS or "rpc://")
app.conf.task_track_started = True  # or nobody could tell a task that runs from one that waits
if TUNED:
    app.conf.update(BOTH | (ON_REDIS if REDIS else ON_RABBITMQ))


def puppet(task: Task, job: str) -> None:
    kit.obey(job, task.request.retries + 1)


app.task(puppet, name="puppet", bind=True)
if TUNED:  # how often a task is tried again is a property of the task, so there is one for each number
    retries: dict[str, Any] = {"autoretry_for": (kit.OrderedFailure,)}
    retries["default_retry_delay"] = (OPTIONS.get("backoff") or [LEASE / 10])[0]
    for attempts in range(1, MOST + 1):
        app.task(puppet, name=f"puppet-{attempts}", bind=True, max_retries=attempts - 1, **retries)


@signals.worker_ready.connect
def ready(**_: Any) -> None:
    app.line = kit.ready()
