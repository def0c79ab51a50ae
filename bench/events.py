"""Small questions to a history: who started what, what ended it, who is still at it."""

import math
from collections.abc import Collection, Sequence

from bench.history import Event

ENDINGS = ("finished", "raised", "died")
"""The events that end an execution."""


def starts(events: Sequence[Event], job: str, worker: str | None = None) -> list[Event]:
    """The `started` events of a job, on that worker if one is named."""
    return [e for e in events if e["event"] == "started" and e["job"] == job and worker in (None, e["worker"])]


def first_start(events: Sequence[Event], worker: str) -> Event | None:
    """The first `started` event of a worker, whatever the job."""
    return next((e for e in events if e["event"] == "started" and e["worker"] == worker), None)


def finish(events: Sequence[Event], job: str, worker: str | None = None) -> Event | None:
    """The first `finished` event of a job, on that worker if one is named."""
    return next(
        (e for e in events if e["event"] == "finished" and e["job"] == job and worker in (None, e["worker"])), None
    )


def all_finished(events: Sequence[Event], jobs: Collection[str]) -> bool:
    """Whether each of these jobs was finished by somebody."""
    return set(jobs) <= {event["job"] for event in events if event["event"] == "finished"}


def is_finished(events: Sequence[Event], job: str) -> bool:
    """Whether a job was finished, and nobody is at it any more."""
    return finish(events, job) is not None and running(events, job) is None


def running(events: Sequence[Event], job: str, worker: str | None = None) -> Event | None:
    """The `started` event of an execution of the job that has not ended, on that worker if one is named."""
    ended = {event["execution"] for event in events if event["event"] in ENDINGS}
    return next((event for event in starts(events, job, worker) if event["execution"] not in ended), None)


def runs_alive(events: Sequence[Event], job: str, worker: str | None = None) -> bool:
    """Whether an execution of the job goes on whose process has not ended: a death is reaped before it is witnessed.

    On that worker, if one is named.
    """
    ended = {event["execution"] for event in events if event["event"] in ENDINGS}
    gone = {event["pid"] for event in events if event["event"] == "exited"}
    return any(start["execution"] not in ended and start["pid"] not in gone for start in starts(events, job, worker))


def ending(events: Sequence[Event], start: Event) -> Event:
    """The event that ended an execution; the last event of the history while it goes on."""
    execution = start["execution"]
    return next((e for e in events if e["event"] in ENDINGS and e["execution"] == execution), events[-1])


def exit_of(events: Sequence[Event], pid: int) -> Event | None:
    """The `exited` event of a process."""
    return next((event for event in events if event["event"] == "exited" and event["pid"] == pid), None)


def is_ready(events: Sequence[Event], pid: int) -> bool:
    """Whether a worker process has said that it takes jobs."""
    return any(event["event"] == "ready" and event["pid"] == pid for event in events)


def is_ready_or_gone(events: Sequence[Event], pid: int) -> bool:
    """Whether a worker process has said that it takes jobs, or has ended."""
    return is_ready(events, pid) or exit_of(events, pid) is not None


def renewals(events: Sequence[Event], worker: str, job: str) -> int:
    """How many heartbeats of a worker renewed a job."""
    return sum(e["event"] == "renewed" and e["worker"] == worker and job in e["kept"] for e in events)


def last_renewal(events: Sequence[Event], worker: str, job: str) -> float:
    """When a worker last renewed a job, in seconds; -inf when it never did."""
    mine = (e["t"] for e in events if e["event"] == "renewed" and e["worker"] == worker and job in e["kept"])
    return max(mine, default=-math.inf)


def beat_since(events: Sequence[Event], job: str, worker: str) -> bool:
    """Whether a heartbeat of a worker was answered since the last start of a job, whoever started it."""
    last = max((i for i, e in enumerate(events) if e["event"] == "started" and e["job"] == job), default=0)
    return any(e["event"] == "renewed" and e["worker"] == worker for e in events[last:])


def outcome(events: Sequence[Event], job: str, worker: str) -> Event | None:
    """Whether the queue took or refused a worker's finish of a job."""
    return next((e for e in events if e["event"] == "outcome" and e["job"] == job and e["worker"] == worker), None)


def count_of(events: Sequence[Event], kind: str) -> int:
    """How many events of a kind there are."""
    return sum(event["event"] == kind for event in events)


def settled_effect(events: Sequence[Event], execution: int) -> Event | None:
    """The first effect that an execution made, or refrained from."""
    mine = (event for event in events if event["event"] in ("effect", "withheld") and event["execution"] == execution)
    return next(mine, None)
