"""django-tasks-db behind the contract: `adapter.py control` or `adapter.py worker`; README.md has its settings."""

import json
import logging
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

sys.path.append(str(Path(__file__).parents[2] / "bench" / "kits" / "python"))
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
import leaseproof_kit as kit

TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"

ROW = """
    SELECT id::text, task_path AS kind, jsonb_array_length(worker_ids)::text AS attempt, args_kwargs::text AS payload,
        CASE status WHEN 'READY' THEN 'queued' WHEN 'RUNNING' THEN 'running' WHEN 'SUCCESSFUL' THEN 'done'
            ELSE 'failed' END AS state,
        CASE status WHEN 'RUNNING' THEN split_part(worker_ids ->> -1, '/', 1) END AS leased_by,
        left((run_after <= now() OR run_after >= '9999-01-01')::text, 1) AS due, nullif(traceback, '') AS last_error
    FROM django_tasks_database_dbtaskresult WHERE id = ANY(%s::uuid[])
"""

Request = Callable[[dict[str, Any]], Any]

DESCRIBE: dict[str, Any] = {
    "subject": "django-tasks-db",
    "version": version("django-tasks-db"),
    "protocol": 1,
    "ownership": "none",
    "beats": "nobody",
    "reclaim": "none",
    "attempts": "claim",
    # A worker sleeps for up to a second before it begins, and then for one between two looks.
    "slack": 0.0 if TUNED else 2.0,
    "slots": 1,
    "drain": {"signal": "SIGTERM", "exit_codes": [0]},
    "options": ["priority", "delay", "queue", "transaction"],
    "columns": ["attempt", "kind", "payload", "due", "last_error", *(["leased_by"] if TUNED else [])],
    "hold": "SELECT id FROM django_tasks_database_dbtaskresult WHERE id = %s FOR UPDATE",
}


def control() -> None:
    import django
    from django.core.management import call_command
    from django.db import close_old_connections, connection, transaction
    from django.utils import timezone

    django.setup()
    from tasks import puppet  # a task may be made when the settings are there

    under_way = ExitStack()

    def enqueue(request: dict[str, Any]) -> dict[str, Any]:
        ids = []
        for job in request["jobs"]:
            wishes = {"priority": job.get("priority"), "queue_name": job.get("queue")}
            due = timezone.now() + timedelta(seconds=job["delay"]) if "delay" in job else None
            ids.append(puppet.using(**wishes, run_after=due).enqueue(job=job["job"]).id)
        return {"ids": ids}

    def inspect(request: dict[str, Any]) -> dict[str, Any]:
        with connection.cursor() as cursor:
            cursor.execute(ROW, [request["ids"]])
            names = [column.name for column in cursor.description]
            rows = {row[0]: dict(zip(names, row, strict=True)) for row in cursor}
        return {"rows": [rows.get(id, {"id": id, "state": "absent"}) for id in request["ids"]]}

    def transact(request: dict[str, Any]) -> None:
        if request["do"] == "begin":
            under_way.enter_context(transaction.atomic())
        elif connection.in_atomic_block:
            transaction.set_rollback(request["do"] == "rollback")
            under_way.close()

    def execute(request: dict[str, Any]) -> None:
        with connection.cursor() as cursor:
            cursor.execute(request["statement"])

    def connected(function: Request) -> Request:
        def answer(request: dict[str, Any]) -> Any:
            if not connection.in_atomic_block:
                close_old_connections()  # as Django does before each request
            return function(request)

        return answer

    nothing = {"describe": lambda _: DESCRIBE, "reclaim": lambda _: {"ids": None}}
    requests = {"prepare": lambda _: call_command("migrate", verbosity=0), "enqueue": enqueue, "inspect": inspect}
    requests |= {"transaction": transact, "execute": execute}
    kit.control({**nothing, **{name: connected(function) for name, function in requests.items()}})


class Started(logging.Handler):
    """It has no event for it, but its log has."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage().startswith("Starting worker"):
            self.line = kit.ready()


def worker(options: dict[str, Any]) -> None:
    """`manage.py db_worker`."""
    from django.core.management import execute_from_command_line

    logging.basicConfig(level=logging.INFO)
    logging.getLogger("django_tasks_db").addHandler(Started())
    arguments = [f"--queue-name={options['queue']}"] if options["queue"] else []
    if TUNED:
        id = f"{os.environ['LEASEPROOF_WORKER']}/{uuid4()}"
        arguments += [f"--interval={options['poll']}", "--no-startup-delay", f"--worker-id={id}"]
    execute_from_command_line(["manage.py", "db_worker", *arguments])


if __name__ == "__main__":
    control() if sys.argv[1] == "control" else worker(json.loads(os.environ["LEASEPROOF_OPTIONS"]))
