"""The sane fake: the smallest queue that really holds leases, in a file of SQLite, behind the whole contract.

Every seam that a miniature breaks is a method of its own.
"""

import json
import os
import signal
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from bench import puppet

Message = dict[str, Any]

SCHEMA = """CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY, name TEXT, state TEXT DEFAULT 'queued', owner TEXT, until REAL, attempt INTEGER DEFAULT 0
)"""

CLAIM = """UPDATE jobs SET state = 'running', owner = :owner, until = :until, attempt = attempt + 1
    WHERE id = (SELECT min(id) FROM jobs WHERE state = 'queued') RETURNING id, name, attempt"""

HELD = "state = 'running' AND owner = :owner AND id = :id AND attempt = :attempt"

ROW = """SELECT CAST(id AS TEXT) AS id, state, owner AS leased_by, CAST(attempt AS TEXT) AS attempt, 'f' AS locked,
    iif(until > :now, 't', iif(until <= :now, 'f', NULL)) AS lease_alive,
    iif(until <= :now, 't', iif(until > :now, 'f', NULL)) AS lease_expired
    FROM jobs WHERE id = :id"""


class Held(NamedTuple):
    """A job under a lease."""

    id: int
    name: str
    attempt: int


class Sane:
    """Does all that a queue must."""

    describe: Message = {  # noqa: RUF012 - a miniature that describes itself wrongly has another one
        "subject": "sane",
        "version": "1",
        "protocol": 1,
        "ownership": "lease-and-heartbeat",
        "beats": "runtime",
        "reclaim": "called",
        "attempts": "claim",
        "slack": 0.0,
        "drain": {"signal": "SIGTERM", "exit_codes": [0]},
    }

    def __init__(self) -> None:
        self.lease = float(os.environ["LEASEPROOF_LEASE"])
        self.path = Path(os.environ["LEASEPROOF_FOLDER"]) / "jobs.sqlite"
        self.stopping = threading.Event()

    def main(self, argv: list[str]) -> int:
        """Be one of the two processes."""
        if argv == ["control"]:
            self.control()
        else:
            self.worker()
        return 0

    def sql(self, statement: str, **values: Any) -> list[dict[str, Any]]:
        """One statement in a transaction of its own; safe from any thread."""
        database = sqlite3.connect(self.path, timeout=30)
        database.row_factory = sqlite3.Row
        try:
            with database:
                return [dict(row) for row in database.execute(statement, values).fetchall()]
        finally:
            database.close()

    # The control process.

    def control(self) -> None:
        """Answer until it is told to stop."""
        for line in sys.stdin:
            message = json.loads(line)
            self.reply(message["id"], self.answer(message))

    def reply(self, id: int, answer: Message) -> None:
        print(json.dumps({"id": id, "answer": answer}), flush=True)

    def answer(self, message: Message) -> Message:
        match message["request"]:
            case "describe":
                return self.describe
            case "prepare":
                self.sql(SCHEMA)
                return {}
            case "enqueue":
                return {"ids": [self.enqueue(job["job"]) for job in message["jobs"]]}
            case "inspect":
                return {"rows": [self.inspect(id) for id in message["ids"]]}
            case "reclaim":
                return {"ids": self.reclaim()}
            case "stop":
                sys.exit()
            case other:
                raise ValueError(f"there is no request {other}")

    def enqueue(self, name: str) -> str:
        return str(self.sql("INSERT INTO jobs (name) VALUES (:name) RETURNING id", name=name)[0]["id"])

    def inspect(self, id: str) -> Message:
        return next(iter(self.sql(ROW, id=id, now=time.monotonic())), {"id": id, "state": "absent"})

    def reclaim(self) -> list[str]:
        statement = (
            "UPDATE jobs SET state = 'queued', owner = NULL, until = NULL WHERE state = 'running' AND until <= :now"
        )
        return [str(row["id"]) for row in self.sql(f"{statement} RETURNING id", now=time.monotonic())]

    # The worker process.

    def worker(self) -> None:
        """Run one job after another until it is told to stop."""
        signal.signal(signal.SIGTERM, lambda *_: self.told_to_stop())
        self.name, poll = os.environ["LEASEPROOF_WORKER"], json.loads(os.environ["LEASEPROOF_OPTIONS"])["poll"]
        self.ready()
        while not self.stopping.is_set():
            held = self.sql(CLAIM, owner=self.name, until=time.monotonic() + self.lease)
            if held:
                self.hold(Held(**held[0]))
            else:
                self.stopping.wait(poll)

    def told_to_stop(self) -> None:
        self.stopping.set()

    def ready(self) -> None:
        self.line = puppet.Line("ready")

    def hold(self, job: Held) -> None:
        """Run a job and finish it, its lease renewed all the while."""
        over = threading.Event()
        beats = threading.Thread(target=self.beat, args=(job, over))
        beats.start()
        state = "done"
        try:
            self.run(job)
        except puppet.OrderedFailure:
            state = "failed"
        over.set()
        beats.join()
        finish = f"UPDATE jobs SET state = :state, owner = NULL, until = NULL WHERE {HELD} RETURNING id"
        accepted = bool(self.sql(finish, state=state, owner=self.name, id=job.id, attempt=job.attempt))
        self.line.say("outcome", job=job.name, attempt=job.attempt, accepted=accepted)

    def run(self, job: Held) -> None:
        puppet.obey(job.name, job.attempt)

    def beat(self, job: Held, over: threading.Event) -> None:
        renew = f"UPDATE jobs SET until = :until WHERE {HELD} RETURNING id"
        while not over.wait(self.lease / 3):
            until = time.monotonic() + self.lease
            kept = bool(self.sql(renew, until=until, owner=self.name, id=job.id, attempt=job.attempt))
            self.line.say("renewed", kept=[job.name] * kept, lost=[job.name] * (not kept))


def main(argv: list[str]) -> int:
    """What a nursery forks."""
    return Sane().main(argv)
