"""huey behind the contract: `adapter.py control` or `adapter.py worker`; README.md has its settings."""

import json
import sys
from importlib.metadata import version
from typing import Any

from huey import RedisHuey
from huey.api import Task, TaskWrapper
from huey.bin.huey_consumer import consumer_main
from tasks import OPTIONS, TUNED, kit, queue

COLUMNS = ["attempt", "max_attempts", "kind", "payload", "due", "last_error"]

DESCRIBE: dict[str, Any] = {
    "subject": "huey",
    "version": version("huey"),
    "protocol": 1,
    "ownership": "none",
    "beats": "nobody",
    "reclaim": "none",
    "attempts": "failure",
    "retry_after": 0.0,
    "slack": 1.0,  # its scheduler looks each second
    "drain": {"signal": "SIGTERM", "exit_codes": [0]},
    "options": ["max_attempts", "delay", "queue", *(["grace"] if TUNED else [])],
    "columns": COLUMNS,
}

QUEUES: dict[str, tuple[RedisHuey, TaskWrapper]] = {}
WHERE: dict[str, RedisHuey] = {}


def enqueue(request: dict[str, Any]) -> dict[str, Any]:
    ids = []
    for job in request["jobs"]:
        name, attempts = job.get("queue", "default"), job.get("max_attempts", 1)
        huey, puppet = QUEUES.setdefault(name, queue(name))
        task = huey.enqueue(puppet.s(job["job"], attempts, retries=attempts - 1, delay=job.get("delay")))
        WHERE[task.id] = huey
        ids.append(task.id)
    return {"ids": ids}


def inspect(request: dict[str, Any]) -> dict[str, Any]:
    waiting: dict[str, tuple[Task, bool]] = {}
    for huey, _ in QUEUES.values():
        waiting |= {task.id: (task, False) for task in huey.scheduled()}
        waiting |= {task.id: (task, True) for task in huey.pending()}
    return {"rows": [row(id, *waiting.get(id, (None, True))) for id in request["ids"]]}


def row(id: str, task: Task | None, due: bool) -> dict[str, Any]:
    """What waits is in the queue or its schedule, what is over in the results, and what runs is nowhere."""
    about = {"id": id, "state": "absent", **dict.fromkeys(COLUMNS)}
    if task is not None:
        _, attempts = task.args
        about |= {"state": "queued", "attempt": str(attempts - 1 - task.retries), "max_attempts": str(attempts)}
        return about | {"kind": task.name, "payload": json.dumps(task.args), "due": "t" if due else "f"}
    result = WHERE[id].get(id, peek=True) if id in WHERE else None
    if result is None:
        return about
    error = getattr(result, "metadata", None)
    return about | {"state": "failed" if error else "done", "last_error": error and error["traceback"]}


def worker() -> None:
    arguments = ["tasks.huey", "--workers", str(OPTIONS["slots"])]
    if TUNED:
        arguments += ["--graceful-signal", "TERM"]
        if OPTIONS["grace"] is not None:
            arguments += ["--shutdown-timeout", str(OPTIONS["grace"])]
    sys.argv[1:] = arguments
    consumer_main()


if __name__ == "__main__":
    if sys.argv[1] == "control":
        nothing = {"describe": lambda _: DESCRIBE, "prepare": lambda _: None, "reclaim": lambda _: {"ids": None}}
        kit.control({**nothing, "enqueue": enqueue, "inspect": inspect})
    else:
        worker()
