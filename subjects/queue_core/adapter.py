"""queue_core, or the twin of it that the bench names, behind the contract: `control`, `worker` or `scheduler`."""

import importlib
import json
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any

import psycopg
from psycopg.rows import dict_row, scalar_row

from bench import puppet
from queue_core import (
    Backoff,
    Context,
    Job,
    Limits,
    NewJob,
    Observer,
    Once,
    Permanent,
    Queue,
    RateLimited,
    Retention,
    Schedule,
    Scheduler,
    Worker,
)
from queue_core.place import HEAD

KIND = "puppet"

ROW = """
    SELECT id::text, state, leased_by, (leased_until > now())::text AS lease_alive,
           (leased_until <= now())::text AS lease_expired, (run_at <= now())::text AS due,
           attempt::text, claim::text, max_attempts::text, kind, payload::text, recovered::text, last_error,
           round(extract(epoch FROM leased_until - now()), 3)::text AS lease_left
    FROM jobs WHERE id = %s
"""

# Whoever locks a row leaves its transaction's number in it. To try for the lock would be to hold it for a moment, and a
# claimer that comes by then passes over the row.
LOCKED = """
    SELECT xmax::text <> '0' AND pg_xact_status((
        (pg_snapshot_xmax(pg_current_snapshot())::text::bigint >> 32 << 32) + xmax::text::bigint
    )::text::xid8) = 'in progress'
    FROM jobs WHERE id = %s
"""

DESCRIBE = {
    "subject": "queue_core",
    "version": "0.1.0",
    "protocol": 1,
    "ownership": "lease-and-heartbeat",
    "beats": "runtime",
    "reclaim": "automatic",
    "attempts": "claim",
    "slack": 0.0,
    "drain": {"signal": "SIGTERM", "exit_codes": [0], "forced_codes": [75]},
    "tells": ["renewed", "outcome", "reclaimed"],
    "options": [
        *("max_attempts", "priority", "delay", "queue", "key", "version", "aging"),
        *("prefetch", "grace", "backoff", "listen", "deadline", "connection", "idempotency"),
        *("transaction", "scheduler", "stats", "explain", "purge"),
    ],
    "table": "jobs",
    "hold": "SELECT id FROM jobs WHERE id = %s FOR UPDATE",
}


def chosen(sound: type[Any]) -> Any:
    """A class of the core's, or the twin that the bench names in its place."""
    path = os.environ.get("LEASEPROOF_TWIN", "")
    if not path:
        return sound
    module, _, name = path.partition(":")
    twin = getattr(importlib.import_module(module), name)
    return twin if issubclass(twin, sound) else sound


class Control:
    """Answers the bench's requests, one JSON object a line, until it closes stdin."""

    def __init__(self) -> None:
        self.aging = 60.0
        self._queue: Queue | None = None

    @property
    def queue(self) -> Queue:
        """The queue, through a connection that is made again after it broke."""
        if self._queue is None or self._queue.connection.broken:
            connection = psycopg.connect(os.environ["LEASEPROOF_POSTGRES"], autocommit=True, client_encoding="utf8")
            self._queue = chosen(Queue)(connection, aging=self.aging)
        return self._queue

    def serve(self) -> None:
        requests: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "describe": lambda _: DESCRIBE,
            "prepare": self.prepare,
            "enqueue": self.enqueue,
            "inspect": lambda message: {"rows": [row(self.queue.connection, id) for id in message["ids"]]},
            "reclaim": lambda _: {"ids": [str(id) for id in self.queue.reclaim()]},
            "transaction": self.transaction,
            "execute": self.execute,
            "stats": self.stats,
            "explain": self.explain,
            "purge": self.purge,
            "stop": lambda _: {},
        }
        for line in sys.stdin:
            message = json.loads(line)
            answer = self.answer(requests[message["request"]], message)
            print(json.dumps({"id": message["id"], "answer": answer}), flush=True)
            if message["request"] == "stop":
                return

    def answer(self, request: Callable[[dict[str, Any]], dict[str, Any]], message: dict[str, Any]) -> dict[str, Any]:
        """An answer; once more over a new connection if the old one turns out to be broken and nothing was done."""
        try:
            return request(message)
        except psycopg.OperationalError:
            if message["request"] not in ("inspect", "reclaim", "stats"):
                raise
            return request(message)

    def prepare(self, message: dict[str, Any]) -> dict[str, Any]:
        """Make the schema."""
        self.aging = message.get("aging", self.aging)
        self.queue.aging = self.aging
        self.queue.install()
        chosen(Once)(self.queue.connection).install()
        chosen(Scheduler).install(self.queue.connection)
        return {}

    def enqueue(self, message: dict[str, Any]) -> dict[str, Any]:
        """Put jobs in; the bench's name for each is its payload, in the form of the job's version."""
        jobs = [
            NewJob(KIND, written(job["job"], job.get("version", 1)), **{k: v for k, v in job.items() if k != "job"})
            for job in message["jobs"]
        ]
        return {"ids": [str(id) for id in self.queue.enqueue_many(jobs)]}

    def transaction(self, message: dict[str, Any]) -> dict[str, Any]:
        """Begin, commit or roll back, as an application does on its own connection."""
        statements = {"begin": b"BEGIN", "commit": b"COMMIT", "rollback": b"ROLLBACK"}
        self.queue.connection.execute(statements[message["do"]])
        return {}

    def execute(self, message: dict[str, Any]) -> dict[str, Any]:
        """A statement of the application's own."""
        self.queue.connection.execute(message["statement"].encode())
        return {}

    def stats(self, message: dict[str, Any]) -> dict[str, Any]:
        """The figures to watch, and which alarms ring."""
        stats = self.queue.stats()
        return {"figures": asdict(stats), "alarms": self.queue.alarms(Limits(**message["limits"]))}

    def explain(self, message: dict[str, Any]) -> dict[str, Any]:
        """What the claim of one job costs: the buffers that it touches, by EXPLAIN's own count. Nothing is claimed.

        The second of two is told: the first also fills this session's caches, which a worker's has filled long ago.
        """
        params = {"worker": "nobody", "limit": 1, "lease": 60.0, "queue": "default", "version": 1, **HEAD}
        connection = self.queue.connection
        explain = b"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + self.queue.CLAIM.encode()
        for _ in range(2):
            with connection.transaction(force_rollback=True), connection.cursor(row_factory=scalar_row) as cursor:
                plan = cursor.execute(explain, params).fetchone()
        assert plan is not None
        top = plan[0]["Plan"]
        return {"buffers": top["Shared Hit Blocks"] + top["Shared Read Blocks"], "jobs": int(top["Actual Rows"])}

    def purge(self, message: dict[str, Any]) -> dict[str, Any]:
        """Retention: remove what ended long ago. Times are in seconds."""
        retention = chosen(Retention)(
            self.queue.connection,
            done_after=message["done_after"],
            failed_after=message["failed_after"],
            batch=message["batch"],
        )
        return {"removed": retention.purge()}


def row(connection: psycopg.Connection[Any], id: str) -> dict[str, Any]:
    """A job as the table has it, psql's way: t and f for booleans; and whether anybody holds a lock on its row."""
    with connection.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute(ROW, (id,)).fetchone()
        if found is None:
            return {"id": id, "state": "absent"}
        for column in ("lease_alive", "lease_expired", "due"):
            found[column] = found[column] and found[column][0]
        locked = cursor.execute(LOCKED, (id,)).fetchone()
        found["locked"] = "t" if locked and next(iter(locked.values())) else "f"
    return found


class Reporter(Observer):
    """Tells the witness what the worker learns: that it is ready, what its heartbeat kept, what came of a finish."""

    def ready(self) -> None:
        self.line = puppet.Line("ready")

    def renewed(self, kept: list[Job], lost: list[Job]) -> None:
        self.line.say("renewed", kept=[name(job) for job in kept], lost=[name(job) for job in lost])

    def outcome(self, job: Job, accepted: bool) -> None:
        self.line.say("outcome", job=name(job), attempt=job.attempt, accepted=accepted)

    def reclaimed(self, ids: list[int]) -> None:
        if ids:
            self.line.say("reclaimed", ids=[str(id) for id in ids])


def written(job: str, version: int) -> dict[str, Any]:
    """A payload, of which the bench's name for the job is all; each of the two releases has a form of its own."""
    return {"job": job} if version == 1 else {"task": {"job": job}}


def upgraded(payload: dict[str, Any]) -> dict[str, Any]:
    """A payload of version 1 in the form of version 2."""
    return written(payload["job"], 2)


def read(payload: dict[str, Any], version: int) -> str:
    """The bench's name for a job; a scheduled job has that of its schedule.

    Raises KeyError where the payload is in another release's form.
    """
    if "schedule" in payload:
        return str(payload["schedule"])
    return str(payload["job"] if version == 1 else payload["task"]["job"])


def name(job: Job) -> str:
    """The bench's name for a job as it was claimed, whether this release's handler can read it or not."""
    return read(job.payload, job.version)


def obey(version: int, job: Job, context: Context) -> None:
    """The only handler, in one release: the puppet, with what a handler of queue_core is given."""

    @contextmanager
    def once(key: str) -> Iterator[bool]:
        with context.connection() as connection, chosen(Once)(connection).guard(key) as first:
            yield first

    tools = puppet.Tools(
        key=context.key,
        lost=context.lost.is_set,
        once=once,
        connection=context.connection,
        tick=job.payload.get("tick"),
    )
    try:
        puppet.obey(read(job.payload, version), job.attempt, tools)
    except puppet.OrderedFailure as failure:
        if failure.kind == "permanent":
            raise Permanent(str(failure)) from failure
        if failure.kind == "rate-limited":
            raise RateLimited(str(failure), failure.retry_in or 0.0) from failure
        raise


def worker(options: Mapping[str, Any]) -> int:
    """Run one worker with the bench's options until it is told to stop."""
    random.seed(os.environ["LEASEPROOF_SEED"])
    base, cap = options["backoff"] or (1.0, 300.0)
    return int(
        chosen(Worker)(
            os.environ["LEASEPROOF_POSTGRES"],
            {KIND: partial(obey, options["version"])},
            name=os.environ["LEASEPROOF_WORKER"],
            queue_class=chosen(Queue),
            queue=options["queue"] or "default",
            lease=float(os.environ["LEASEPROOF_LEASE"]),
            slots=options["slots"],
            prefetch=options["prefetch"],
            poll=options["poll"],
            reclaim_every=options["reclaim_every"],
            grace=options["grace"],
            backoff=Backoff(base, cap),
            listen=options["listen"],
            version=options["version"],
            upgrades={1: upgraded},
            observer=Reporter(),
        ).run()
    )


def scheduler(options: Mapping[str, Any]) -> int:
    """Run one scheduler, which puts in one job at each tick, until it is told to stop."""
    schedule = Schedule(options["job"], KIND, every=options["every"])
    with ExitStack() as lines:
        one = chosen(Scheduler)(
            os.environ["LEASEPROOF_POSTGRES"],
            [schedule],
            name=os.environ["LEASEPROOF_WORKER"],
            queue_class=chosen(Queue),
            poll=options["poll"],
            ready=lambda: lines.callback(puppet.Line("ready").close),
        )
        return int(one.run())


def main(argv: list[str]) -> int:
    """`control`, `worker` or `scheduler`; returns the exit code."""
    match argv:
        case ["control"]:
            Control().serve()
            return 0
        case ["worker"]:
            return worker(json.loads(os.environ["LEASEPROOF_OPTIONS"]))
        case ["scheduler"]:
            return scheduler(json.loads(os.environ["LEASEPROOF_OPTIONS"]))
        case _:
            print("usage: python -m subjects.queue_core control|worker|scheduler; the bench starts it", file=sys.stderr)
            return 2
