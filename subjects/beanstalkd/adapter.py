"""beanstalkd behind the contract: `adapter.py control` or `adapter.py worker`; README.md has its settings."""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from importlib.metadata import version
from math import ceil
from pathlib import Path
from typing import Any

import greenstalk

sys.path.append(str(Path(__file__).parents[2] / "bench" / "kits" / "python"))
import leaseproof_kit as kit

HOST, _, PORT = os.environ["LEASEPROOF_BEANSTALKD"].rpartition(":")
TUNED = os.environ["LEASEPROOF_PROFILE"] == "tuned"
TTR = max(1, ceil(float(os.environ["LEASEPROOF_LEASE"]))) if TUNED else greenstalk.DEFAULT_TTR  # whole seconds
STATES = {"ready": "queued", "delayed": "queued", "reserved": "running", "buried": "failed"}

DESCRIBE: dict[str, Any] = {
    "subject": "beanstalkd",
    "version": f"greenstalk {version('greenstalk')}",
    "protocol": 1,
    "ownership": "lease-and-heartbeat" if TUNED else "lease",
    "beats": "handler" if TUNED else "nobody",
    "reclaim": "automatic",  # when the time to run is over, or the connection
    "lease": TTR,
    "reclaim_every": 0.1,
    "slack": 0.0,
    "attempts": "claim",
    "drain": {"signal": "SIGTERM", "exit_codes": [0] if TUNED else [-signal.SIGTERM]},
    "tells": ["renewed", "outcome"] if TUNED else ["outcome"],
    "options": ["priority", "delay", "queue"],
    "columns": ["attempt", "kind", "payload", "due"],
}


def connect(queue: str) -> greenstalk.Client[str]:
    return greenstalk.Client((HOST, int(PORT)), use=queue, watch=queue)


def enqueue(request: dict[str, Any]) -> dict[str, Any]:
    ids = []
    with connect("default") as client:
        for job in request["jobs"]:
            client.use(job.get("queue", "default"))
            urgency = greenstalk.DEFAULT_PRIORITY - job.get("priority", 0)
            ids.append(str(client.put(json.dumps(job), urgency, ceil(job.get("delay", 0)), TTR)))
    return {"ids": ids}


def inspect(request: dict[str, Any]) -> dict[str, Any]:
    with connect("default") as client:
        return {"rows": [row(client, id) for id in request["ids"]]}


def row(client: greenstalk.Client[str], id: str) -> dict[str, Any]:
    try:
        stats, payload = client.stats_job(int(id)), client.peek(int(id)).body
    except greenstalk.NotFoundError:  # nobody knows of a job that was deleted
        return {"id": id, "state": "absent"}
    known = {"attempt": str(stats["reserves"]), "kind": stats["tube"], "payload": payload}
    return {"id": id, "state": STATES[stats["state"]], "due": "f" if stats["state"] == "delayed" else "t", **known}


@contextmanager
def touched(client: greenstalk.Client[str], line: kit.Line, job: greenstalk.Job[str], name: str) -> Iterator[None]:
    """Touch the job, each third of its time to run, as long as its handler runs; only its own connection may."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(TTR / 3):
            with suppress(ConnectionError):
                try:
                    client.touch(job)
                    line.renewed([name])
                except greenstalk.NotFoundError:
                    line.renewed([], [name])

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def handle(client: greenstalk.Client[str], line: kit.Line, job: greenstalk.Job[str]) -> None:
    name, attempt, accepted = json.loads(job.body)["job"], client.stats_job(job)["reserves"], True
    try:
        with touched(client, line, job, name) if TUNED else nullcontext():
            kit.obey(name, attempt)
        client.delete(job)
    except greenstalk.NotFoundError:
        accepted = False
    except kit.OrderedFailure as error:
        if not TUNED:
            raise
        with suppress(greenstalk.NotFoundError):
            client.bury(job) if error.kind == "permanent" else client.release(job, delay=ceil(error.retry_in or 0))
        return
    line.outcome(name, attempt, accepted)


def worker(options: dict[str, Any]) -> None:
    queue, told = options["queue"] or "default", threading.Event()
    clients = [connect(queue) for _ in range(options["slots"])]
    line = kit.ready()

    def run(client: greenstalk.Client[str]) -> None:
        while not told.is_set():
            try:
                job = client.reserve(timeout=1 if TUNED else None)
                client.release(job) if told.is_set() else handle(client, line, job)
            except greenstalk.TimedOutError:
                continue
            except kit.OrderedFailure:  # in the quick start it ends the script, and its connection with it
                client.close()
                client = connect(queue)
            except ConnectionError:
                if not TUNED:
                    os._exit(1)  # what an exception that nobody catches does to a script
                time.sleep(options["poll"])
                with suppress(ConnectionError):
                    client = connect(queue)

    if TUNED:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    with ThreadPoolExecutor(options["slots"]) as loops:
        for client in clients:
            loops.submit(run, client)
        if TUNED:
            signal.sigwait({signal.SIGTERM})
            told.set()


if __name__ == "__main__":
    if sys.argv[1] == "control":
        nothing = {"describe": lambda _: DESCRIBE, "prepare": lambda _: {}, "reclaim": lambda _: {"ids": None}}
        kit.control({**nothing, "enqueue": enqueue, "inspect": inspect})
    else:
        worker(json.loads(os.environ["LEASEPROOF_OPTIONS"]))
