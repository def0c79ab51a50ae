"""The worker program of the Python kit, in asyncio; ../cases.py says what it does."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from leaseproof_kit import OrderedFailure, Tools, obey_async, ready

keys: set[str] = set()
asked: list[str] = []


def say(job: str, **fields: Any) -> None:
    print(json.dumps({"job": job, **fields}), flush=True)


def lost(job: str) -> bool:
    asked.append(job)
    return len(asked) > 1


@contextlib.asynccontextmanager
async def once(key: str) -> AsyncIterator[bool]:
    await asyncio.sleep(0)
    yield key not in keys
    keys.add(key)


@contextlib.asynccontextmanager
async def connection(job: str) -> AsyncIterator[None]:
    await asyncio.sleep(0)
    say(job, connection="taken")
    try:
        yield
    finally:
        say(job, connection="back")


async def run(job: str, attempt: int | None, tools: Tools) -> None:
    try:
        await obey_async(job, attempt, tools)
        say(job, end="returned")
    except OrderedFailure as failure:
        say(job, end="failed", kind=failure.kind, text=str(failure), retry_in=failure.retry_in)
    except Exception as error:  # noqa: BLE001 - any other is told
        say(job, end="error", text=str(error))


async def main(what: str, *jobs: str) -> None:
    if what == "line":
        line = ready()
        line.renewed(["job", "задача"], ["other"])
        line.outcome("job", 2, True)
        line.outcome("job", None, False)
        line.reclaimed(["2", "3"])
        sys.stdin.read()
        line.close()
    elif what == "bare":
        await run(jobs[0], None, Tools())
    else:
        tick = "2026-10-03T12:00:00+00:00" if what == "tick" else None
        tasks = []
        for attempt, job in enumerate(jobs, start=1):
            tools = Tools(f"key of {job}", partial(lost, job), once, partial(connection, job), tick)
            tasks.append(asyncio.create_task(run(job, attempt, tools)))
            if what != "together":
                await tasks[-1]
        await asyncio.gather(*tasks)


asyncio.run(main(*sys.argv[1:]))
