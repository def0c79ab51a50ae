"""Is a failure taken for what it is, and kept where it can be seen?"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from bench.checks.base import Anomaly, Execution, by_job, last_rows, of_kind, reclaims
from bench.history import Event

KEPT = ("kind", "payload", "attempt", "last_error")
"""What one needs to see of a job that has failed, to put it right and to start it again."""


def failure_kept(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`vanished`: the last attempt of a job raised, and its queue has it for done, or keeps not what failed and why.

    One that it will try again, or has not yet taken the end of, is not judged.
    """
    errors = {event["execution"]: event["error"] for _, event in of_kind(events, "raised")}
    finished = {event["job"] for _, event in of_kind(events, "finished")}
    rows = last_rows(events)
    for job, runs in by_job(events).items():
        last = runs[-1]
        if last.ending != "raised" or job in finished or job not in rows:
            continue
        row, error = events[rows[job]]["row"], errors[last.number]
        missing = [column for column in KEPT if not row.get(column)]
        if row["state"] in ("done", "absent"):
            yield Anomaly(
                "vanished", f"{job} raised {error!r}, and its queue says {row['state']}", (last.end, rows[job])
            )
        elif row["state"] == "failed" and (missing or error not in row["last_error"]):
            lacks = ", ".join(missing) or "the last error"
            yield Anomaly("vanished", f"{job} raised {error!r}, and its row lacks {lacks}", (last.end, rows[job]))


def permanent_ends(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`retried-permanent`: a handler said that no other attempt would help, and there was one."""
    for earlier, later, ordered in _tried_again(events, "permanent"):
        text = f"{later.job} was begun again, although its handler had said that it can't succeed"
        yield Anomaly("retried-permanent", text, (ordered, earlier.end, later.start))


def waits_as_told(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`retried-early`: a handler was told when to come back, and the next attempt came before.

    From the order on, which is earlier than the database can have heard of it; the margin is for two clocks.
    """
    for earlier, later, ordered in _tried_again(events, "rate-limited"):
        told = events[ordered]["order"]["retry_in"] or 0.0
        waited = events[later.start]["t"] - events[ordered]["t"]
        if waited < told - events[0]["margin"]:
            text = f"{later.job} was to come back in {told:.2f} s, and came back in {waited:.2f} s"
            yield Anomaly("retried-early", text, (ordered, earlier.end, later.start))


def _tried_again(events: Sequence[Event], kind: str) -> Iterator[tuple[Execution, Execution, int]]:
    """Each execution that raised as this kind of failure, the next one of its job, and the order to raise.

    Not where a reclaim gave the job back between them: its failure then came too late to be heard.
    """
    ordered = {e["execution"]: i for i, e in of_kind(events, "ordered") if e["order"].get("kind") == kind}
    for runs, reclaimed in reclaims(events):
        for (earlier, later), given_back in zip(pairwise(runs), reclaimed, strict=True):
            if (
                earlier.number in ordered
                and earlier.ending == "raised"
                and earlier.end < later.start
                and not given_back
            ):
                yield earlier, later, ordered[earlier.number]
