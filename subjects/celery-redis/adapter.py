"""Celery behind the contract: `adapter.py control` or `adapter.py worker`; tasks.py is the application."""

import json
import os
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tasks import HEARTBEAT, OPTIONS, REDIS, TUNED, VISIBILITY, app, kit

SENT: dict[str, float] = {}
"""The ids of its tasks, and when each is due."""
TOLD: dict[str, dict[str, Any]] = {}
STATES = {"STARTED": "running", "SUCCESS": "done", "FAILURE": "failed", "REVOKED": "failed"}

DESCRIBE: dict[str, Any] = {
    "subject": "celery-redis" if REDIS else "celery-rabbitmq",
    "version": version("celery"),
    "protocol": 1,
    "children": True,
    "beats": "nobody",
    "attempts": "failure",
    "drain": {"signal": "SIGTERM", "exit_codes": [0]},
    "options": ["delay", "queue"],
    "columns": ["last_error", "due"],
}
if not TUNED:  # A message is acknowledged before its task is run, and then nobody has it.
    DESCRIBE |= {"ownership": "none", "reclaim": "none", "slack": 5.0}
elif REDIS:
    DESCRIBE |= {"ownership": "lease", "reclaim": "automatic", "lease": VISIBILITY, "reclaim_every": 1.0, "slack": 0.5}
    DESCRIBE["columns"] += ["lease_alive", "lease_expired", "lease_left"]
else:
    DESCRIBE |= {"ownership": "connection", "beats": "runtime", "reclaim": "automatic"}
    DESCRIBE |= {"reclaim_every": 3.0 * HEARTBEAT, "slack": 0.5}  # until RabbitMQ closes a silent connection
if not REDIS:  # A worker's queue for remote control has its name, and is its connection's alone.
    DESCRIBE["unique_names"] = True
if TUNED:
    DESCRIBE["options"] += ["max_attempts", "backoff", "grace"]
    DESCRIBE["columns"] += ["attempt", "kind", "payload"]


def enqueue(request: dict[str, Any]) -> dict[str, Any]:
    ids: list[str] = []
    for job in request["jobs"]:
        name = f"puppet-{job['max_attempts']}" if "max_attempts" in job else "puppet"
        wishes = {"countdown": job.get("delay"), "queue": job.get("queue")}
        ids.append(app.tasks[name].apply_async(kwargs={"job": job["job"]}, **wishes).id)
        SENT[ids[-1]] = time.time() + job.get("delay", 0.0)
    return {"ids": ids}


def unacknowledged() -> Iterator[tuple[str, dict[str, Any]]]:
    """What Redis has of the messages that were delivered and not acknowledged, by the ids of their tasks."""
    redis = app.backend.client
    since = dict(redis.zrange("unacked_index", 0, -1, withscores=True))
    for tag, text in redis.hgetall("unacked").items():
        headers = json.loads(text)[0]["headers"]
        left = since.get(tag, 0.0) + VISIBILITY - time.time()
        waits = headers["eta"] is not None and datetime.fromisoformat(headers["eta"]).timestamp() > time.time()
        row = {"state": "queued" if waits else "running", "due": "f" if waits else "t"}
        alive = {"lease_alive": "t" if left > 0 else "f", "lease_expired": "f" if left > 0 else "t"}
        yield headers["id"], row | alive | {"lease_left": f"{left:.3f}", "attempt": str(headers["retries"] + 1)}


def result(id: str) -> dict[str, Any]:
    """What the result backend says; that of RabbitMQ finds its connection lost by using it, and then opens another."""
    try:
        meta = app.backend.get_task_meta(id)
    except app.connection_for_read().recoverable_connection_errors:
        meta = app.backend.get_task_meta(id)
    if not REDIS:  # there, each state comes as a message, which is told once
        TOLD[id] = meta = TOLD.get(id, meta) if meta["status"] == "PENDING" else meta
    return meta


def row(id: str, delivered: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What the result is; a task that has none yet is where its message is."""
    meta = result(id)
    said = {"id": id, **dict.fromkeys(DESCRIBE["columns"]), "state": STATES.get(meta["status"], "queued")}
    if id not in SENT:
        return said | {"state": "absent"}
    said["due"] = "f" if SENT[id] > time.time() else "t"
    if said["state"] in ("done", "failed"):
        said["last_error"] = meta.get("traceback") or (str(meta["result"]) if said["state"] == "failed" else None)
        if TUNED:
            said |= {"kind": meta["name"], "attempt": str(meta["retries"] + 1), "payload": json.dumps(meta["kwargs"])}
    elif REDIS and TUNED:
        said |= {"state": "queued"} | delivered.get(id, {})
    return said


def inspect(request: dict[str, Any]) -> dict[str, Any]:
    delivered = dict(unacknowledged()) if REDIS and TUNED else {}
    return {"rows": [row(id, delivered) for id in request["ids"]]}


def worker() -> None:
    """`celery -A tasks worker`, as the first steps have it."""
    program = Path(sys.executable).with_name("celery")
    command = [str(program), "-A", "tasks", "worker", "--loglevel=INFO", "-n", f"{os.environ['LEASEPROOF_WORKER']}@%h"]
    command += ["-c", str(OPTIONS["slots"]), *(["-Q", OPTIONS["queue"]] if OPTIONS["queue"] else [])]
    if TUNED:
        command += ["--without-gossip", "--without-mingle"]
        if OPTIONS["grace"]:
            os.environ["REMAP_SIGTERM"] = "SIGQUIT"
    os.chdir(Path(__file__).parent)
    os.execv(program, command)


if __name__ == "__main__":
    if sys.argv[1] == "control":
        requests = {"describe": lambda _: DESCRIBE, "prepare": lambda _: None, "reclaim": lambda _: {"ids": None}}
        kit.control({**requests, "enqueue": enqueue, "inspect": inspect})
    else:
        worker()
