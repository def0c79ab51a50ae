"""The worker program of the Python kit, in threads; ../cases.py says what it does."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

from leaseproof_kit import OrderedFailure, Tools, obey, ready

keys: set[str] = set()
asked: list[str] = []


def say(job: str, **fields: Any) -> None:
    print(json.dumps({"job": job, **fields}), flush=True)


def lost(job: str) -> bool:
    asked.append(job)
    return len(asked) > 1


@contextlib.contextmanager
def once(key: str) -> Iterator[bool]:
    yield key not in keys
    keys.add(key)


@contextlib.contextmanager
def connection(job: str) -> Iterator[None]:
    say(job, connection="taken")
    try:
        yield
    finally:
        say(job, connection="back")


def run(job: str, attempt: int | None, tools: Tools) -> None:
    try:
        obey(job, attempt, tools)
        say(job, end="returned")
    except OrderedFailure as failure:
        say(job, end="failed", kind=failure.kind, text=str(failure), retry_in=failure.retry_in)
    except Exception as error:  # noqa: BLE001 - any other is told
        say(job, end="error", text=str(error))


def main(what: str, *jobs: str) -> None:
    if what == "line":
        line = ready()
        line.renewed(["job", "задача"], ["other"])
        line.outcome("job", 2, True)
        line.outcome("job", None, False)
        line.reclaimed(["2", "3"])
        sys.stdin.read()
        line.close()
    elif what == "bare":
        run(jobs[0], None, Tools())
    else:
        tick = "2026-10-03T12:00:00+00:00" if what == "tick" else None
        threads = []
        for attempt, job in enumerate(jobs, start=1):
            tools = Tools(f"key of {job}", partial(lost, job), once, partial(connection, job), tick)
            threads.append(threading.Thread(target=run, args=(job, attempt, tools)))
            threads[-1].start()
            if what != "together":
                threads[-1].join()
        for thread in threads:
            thread.join()


main(*sys.argv[1:])
