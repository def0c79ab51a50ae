"""When a job's lease was alive, and when two executions overlapped, as a history tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reports.events import at


@dataclass
class Lease:
    """One unbroken lease.

    It ends at `end`. Where it `ran_out`, the job stayed taken with no live lease until `tail`.
    """

    start: float
    end: float
    renewals: list[float] = field(default_factory=list)
    ran_out: bool = False
    tail: float | None = None


class _Rule:
    """The lease of one job, event by event."""

    def __init__(self, length: float) -> None:
        self.length = length
        self.past: list[Lease] = []
        self.now: Lease | None = None

    def take(self, t: float) -> None:
        self.close(t)
        self.now = Lease(t, t + self.length)

    def renew(self, t: float) -> None:
        if self.now is None or t > self.now.end:  # renewed too late: a new lease, not the old one drawn longer
            self.take(t)
        else:
            self.now.renewals.append(t)
            self.now.end = t + self.length

    def close(self, t: float) -> None:
        lease, self.now = self.now, None
        if lease is None:
            return
        if lease.end <= t:
            lease.ran_out, lease.tail = True, t
        else:
            lease.end = t
        self.past.append(lease)

    def told(self, t: float, row: Mapping[str, Any]) -> None:
        """What the queue itself says of the job wins over what was derived."""
        state, alive = row.get("state"), _truth(row.get("lease_alive"))
        if isinstance(state, str) and state != "running":
            self.close(t)
        elif self.now and alive is not None and alive != (self.now.end > t):
            self.now.end = t


def _truth(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"t": True, "true": True, "f": False, "false": False}.get(str(value).lower())


def leases(history: Sequence[Mapping[str, Any]], job: str, length: float, last: float) -> list[Lease]:
    """The leases of a job in order; the last of them may still run."""
    told_outcomes = any(e.get("event") == "outcome" and str(e.get("job")) == job for e in history)
    rule = _Rule(length)
    for e in history:
        kind, t = e.get("event"), at(e)
        mine = str(e.get("job")) == job
        if kind == "started" and mine:
            rule.take(t)
        elif kind == "renewed" and job in [str(j) for j in e.get("kept") or []]:
            rule.renew(t)
        elif _given_up(e, job, told_outcomes):
            rule.close(t)
        elif kind == "row" and mine and isinstance(e.get("row"), Mapping):
            rule.told(t, e["row"])
    if rule.now:
        running = rule.now
        rule.close(last)
        running.ran_out = running.tail is not None
    return rule.past


def _given_up(e: Mapping[str, Any], job: str, told_outcomes: bool) -> bool:
    """Whether the job is nobody's from here on. Where the queue tells no outcomes, the end of the work stands in."""
    kind = e.get("event")
    if kind == "reclaimed":
        return job in [str(j) for j in e.get("jobs") or []]
    ended = (kind == "outcome" and e.get("accepted")) or (kind == "finished" and not told_outcomes)
    return bool(ended) and str(e.get("job")) == job


def overlaps(runs: Sequence[tuple[str, float, float]]) -> list[tuple[float, float]]:
    """The stretches in which two executions of one job were under way at once."""
    found: list[tuple[float, float]] = []
    by_job: dict[str, list[tuple[float, float]]] = {}
    for job, start, end in runs:
        by_job.setdefault(job, []).append((start, end))
    for spans in by_job.values():
        spans.sort()
        reach = float("-inf")
        for start, end in spans:
            if start < reach:
                found.append((start, min(end, reach)))
            reach = max(reach, end)
    merged: list[tuple[float, float]] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
