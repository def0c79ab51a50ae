"""pgmq behind the contract: `adapter.py control` or `adapter.py worker`; README.md has its settings."""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from math import ceil
from pathlib import Path
from typing import Any

import pgmq
import psycopg
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

sys.path.append(str(Path(__file__).parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit

DSN = os.environ["LEASEPROOF_POSTGRES"]
TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
LEASE = float(os.environ["LEASEPROOF_LEASE"])
VT = max(1, ceil(LEASE)) if TUNED else 30  # the visibility timeout: whole seconds
QUEUE, LOST = "default", (psycopg.OperationalError, PoolTimeout)

ROW = """
    SELECT %(id)s AS id, CASE WHEN read_ct > 0 AND vt > now() THEN 'running' ELSE 'queued' END AS state,
        read_ct::text AS attempt, message::text AS payload, left((vt <= now())::text, 1) AS due,
        CASE WHEN read_ct > 0 THEN left((vt > now())::text, 1) END AS lease_alive,
        CASE WHEN read_ct > 0 THEN round(extract(epoch FROM vt - now()), 3)::text END AS lease_left
    FROM pgmq."q_{queue}" WHERE msg_id = %(number)s
    UNION ALL
    SELECT %(id)s, 'done', read_ct::text, message::text, NULL, NULL, NULL
    FROM pgmq."a_{queue}" WHERE msg_id = %(number)s
"""

DESCRIBE: dict[str, Any] = {"subject": "pgmq", "version": version("pgmq"), "protocol": 1, "attempts": "claim"}
DESCRIBE |= {"reclaim": "automatic", "lease": VT, "slack": 0.0, "options": ["delay", "queue", "transaction"]}
DESCRIBE["columns"] = ["attempt", "payload", "due", "lease_alive", "lease_left"]
DESCRIBE["hold"] = "SELECT msg_id FROM pgmq.q_default WHERE msg_id = %s FOR UPDATE"
DESCRIBE |= {"ownership": "lease-and-heartbeat" if TUNED else "lease", "beats": "handler" if TUNED else "nobody"}
DESCRIBE |= {"reclaim_every": LEASE / 10 if TUNED else 1.0, "tells": [*(["renewed"] * TUNED), "outcome"]}
DESCRIBE["drain"] = {"signal": "SIGTERM", "exit_codes": [0] if TUNED else [0, -signal.SIGTERM]}


@contextmanager
def client() -> Iterator[pgmq.PGMQueue]:
    """As the documentation has it; tuned, with a pool that asks whether a connection is still alive."""
    checked = ConnectionPool(DSN, min_size=1, max_size=4, check=ConnectionPool.check_connection) if TUNED else None
    with checked or nullcontext(), closing(pgmq.PGMQueue(conn_string=DSN, pool=checked, init_extension=False)) as queue:
        yield queue


class Control:
    own: Any = None  # the application's own connection, once it has had a transaction

    def prepare(self, request: dict[str, Any]) -> None:
        pgmq.install_pgmq_from_sql(dsn=DSN)
        with client() as queue:
            queue.create_queue(QUEUE)

    def enqueue(self, request: dict[str, Any]) -> dict[str, Any]:
        ids = []
        with client() as queue:
            for job in request["jobs"]:
                if name := job.get("queue"):
                    queue.create_queue(name)
                due = datetime.now(UTC) + timedelta(seconds=job["delay"]) if "delay" in job else None
                id = queue.send(name or QUEUE, job, delay=due, conn=self.own)
                ids.append(f"{name}:{id}" if name else str(id))
        return {"ids": ids}

    def inspect(self, request: dict[str, Any]) -> dict[str, Any]:
        rows = []
        with psycopg.connect(DSN, row_factory=dict_row) as connection:
            for id in request["ids"]:
                name, _, number = id.rpartition(":")
                found = connection.execute(ROW.format(queue=name or QUEUE), {"id": id, "number": int(number)})
                rows.append(found.fetchone() or {"id": id, "state": "absent"})
        return {"rows": rows}

    def execute(self, request: dict[str, Any]) -> None:
        self.own = self.own or psycopg.connect(DSN, autocommit=True)
        self.own.execute(request.get("statement") or request["do"])


@contextmanager
def heartbeat(queue: pgmq.PGMQueue, name: str, message: pgmq.Message, line: kit.Line) -> Iterator[None]:
    """Extend the message's visibility timeout, each third of it, as long as its handler runs."""
    over, job = threading.Event(), message.message["job"]

    def beat() -> None:
        while not over.wait(VT / 3):
            with suppress(*LOST):
                kept = queue.set_vt(name, message.msg_id, vt=VT) is not None
                line.renewed([job] if kept else [], [] if kept else [job])

    with ThreadPoolExecutor(1) as beats:
        beats.submit(beat)
        try:
            yield
        finally:
            over.set()


def worker(options: dict[str, Any]) -> None:
    name, poll, told = options["queue"] or QUEUE, options["poll"] if TUNED else 1.0, threading.Event()

    def run(queue: pgmq.PGMQueue, line: kit.Line) -> None:
        while not told.is_set():
            try:
                if message := queue.read(name, vt=VT):
                    with heartbeat(queue, name, message, line) if TUNED else nullcontext():
                        kit.obey(message.message["job"], message.read_ct)
                    accepted = queue.archive(name, message.msg_id)
                    line.outcome(message.message["job"], message.read_ct, accepted)
                else:
                    told.wait(poll)
            except kit.OrderedFailure:
                continue  # "Let the message expire and become visible again", as it is documented
            except LOST:
                told.wait(poll) if TUNED else os._exit(1)  # as an exception that nobody catches ends a script

    if TUNED:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    with client() as queue, ThreadPoolExecutor(options["slots"]) as loops:
        if options["queue"]:
            queue.create_queue(name)
        line = kit.ready()
        for _ in range(options["slots"]):
            loops.submit(run, queue, line)
        if TUNED:
            signal.sigwait({signal.SIGTERM})
            told.set()


if __name__ == "__main__":
    if sys.argv[1] == "control":
        asked = Control()
        requests = {"describe": lambda _: DESCRIBE, "reclaim": lambda _: {"ids": None}, "prepare": asked.prepare}
        requests |= {"enqueue": asked.enqueue, "inspect": asked.inspect}
        kit.control(requests | {"transaction": asked.execute, "execute": asked.execute})
    else:
        worker(json.loads(os.environ["LEASEPROOF_OPTIONS"]))
