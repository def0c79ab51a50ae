"""queue_core, or the twin of it that the bench names, behind the contract: `control` or `worker`."""

import importlib
import json
import os
import random
import sys
from collections.abc import Callable, Mapping
from typing import Any

import psycopg
from psycopg.rows import dict_row

from bench import puppet
from queue_core import Context, Job, NewJob, Observer, Permanent, Queue, Worker

KIND = "puppet"

ROW = """
    SELECT id::text, state, leased_by, (leased_until > now())::text AS lease_alive,
           (leased_until <= now())::text AS lease_expired, attempt::text, claim::text, max_attempts::text,
           last_error, round(extract(epoch FROM leased_until - now()), 3)::text AS lease_left
    FROM jobs WHERE id = %s
"""

UNLOCKED = "SELECT 1 FROM jobs WHERE id = %s FOR UPDATE SKIP LOCKED"

DESCRIBE = {
    "subject": "queue_core",
    "version": "0.1.0",
    "protocol": 1,
    "ownership": "lease-and-heartbeat",
    "beats": "runtime",
    "reclaim": "automatic",
    "attempts": "claim",
    "slack": 0.0,
    "drain": {"signal": "SIGTERM", "exit_codes": [0]},
    "tells": ["renewed", "outcome"],
    "table": "jobs",
    "hold": "SELECT id FROM jobs WHERE id = %s FOR UPDATE",
}


def classes() -> tuple[type[Queue], type[Worker]]:
    """The core's two classes, one of them replaced by the twin if the bench names one."""
    path = os.environ.get("LEASEPROOF_TWIN", "")
    if not path:
        return Queue, Worker
    module, _, name = path.partition(":")
    twin = getattr(importlib.import_module(module), name)
    return (twin, Worker) if issubclass(twin, Queue) else (Queue, twin)


def control() -> None:
    """Answer the bench's requests, one JSON object a line, until it closes stdin."""
    connection = psycopg.connect(os.environ["LEASEPROOF_POSTGRES"], autocommit=True, row_factory=dict_row)
    queue = classes()[0](connection)
    requests: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "describe": lambda _: DESCRIBE,
        "prepare": lambda _: prepare(queue),
        "enqueue": lambda message: {
            "ids": [str(id) for id in queue.enqueue_many([NewJob(KIND, job) for job in message["jobs"]])]
        },
        "inspect": lambda message: {"rows": [row(connection, id) for id in message["ids"]]},
        "reclaim": lambda _: {"ids": [str(id) for id in queue.reclaim()]},
        "stop": lambda _: {},
    }
    for line in sys.stdin:
        message = json.loads(line)
        answer = requests[message["request"]](message)
        print(json.dumps({"id": message["id"], "answer": answer}), flush=True)
        if message["request"] == "stop":
            return


def prepare(queue: Queue) -> dict[str, Any]:
    """Make the schema."""
    queue.install()
    return {}


def row(connection: psycopg.Connection[dict[str, Any]], id: str) -> dict[str, Any]:
    """A job as the table has it, psql's way: t and f for booleans; and whether anybody holds a lock on its row."""
    found = connection.execute(ROW, (id,)).fetchone()
    if found is None:
        return {"id": id, "state": "absent"}
    for column in ("lease_alive", "lease_expired"):
        found[column] = found[column] and found[column][0]
    found["locked"] = "f" if connection.execute(UNLOCKED, (id,)).fetchone() else "t"
    return found


class Reporter(Observer):
    """Tells the witness what the worker learns: that it is ready, what its heartbeat kept, what came of a finish."""

    def ready(self) -> None:
        self.line = puppet.Line("ready")

    def renewed(self, kept: list[Job], lost: list[Job]) -> None:
        self.line.say("renewed", kept=[name(job) for job in kept], lost=[name(job) for job in lost])

    def outcome(self, job: Job, accepted: bool) -> None:
        self.line.say("outcome", job=name(job), attempt=job.attempt, accepted=accepted)


def name(job: Job) -> str:
    """The bench's name for a job, which is all of its payload."""
    return str(job.payload["job"])


def obey(job: Job, context: Context) -> None:
    """The only handler: the puppet."""
    try:
        puppet.obey(name(job), job.attempt)
    except puppet.OrderedFailure as failure:
        if failure.kind == "permanent":
            raise Permanent(str(failure)) from failure
        raise


def worker() -> int:
    """Run one worker with the bench's options until it is told to stop."""
    options = json.loads(os.environ["LEASEPROOF_OPTIONS"])
    queue_class, worker_class = classes()
    random.seed(os.environ["LEASEPROOF_SEED"])
    return worker_class(
        os.environ["LEASEPROOF_POSTGRES"],
        {KIND: obey},
        name=os.environ["LEASEPROOF_WORKER"],
        queue_class=queue_class,
        lease=float(os.environ["LEASEPROOF_LEASE"]),
        slots=options["slots"],
        prefetch=options["prefetch"],
        poll=options["poll"],
        reclaim_every=options["reclaim_every"],
        observer=Reporter(),
    ).run()


def main(argv: list[str]) -> int:
    """`control` or `worker`; returns the exit code."""
    match argv:
        case ["control"]:
            control()
            return 0
        case ["worker"]:
            return worker()
        case _:
            print("usage: python -m subjects.queue_core control|worker; the bench starts it", file=sys.stderr)
            return 2
