"""Is one who has lost a job refused, and told?"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from bench.checks.base import Anomaly, Execution, by_job, first, index, of_kind, reclaims
from bench.history import Event


def late_finish_refused(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`stale-finish-accepted`: one who had lost the job ended it, and the queue took that over a later owner's head.

    The row is judged as it was between the late end and the owner's, since the final state hides it.
    """
    accepted = index(_accepted(events))
    seen = index(
        ((e["job"], e["row"]["state"] if e["event"] == "row" else "started"), i)
        for i, e in enumerate(events)
        if e["event"] in ("row", "started")
    )
    may_end = _may_end(events)
    for stale, owner, _ in _superseded(events):
        shown = first(accepted[stale.start], owner.start, len(events))
        text = f"the end that {stale.worker} made of {stale.job} was taken, and {owner.worker} had it by then"
        if shown is None and stale.ending in ("finished", "raised") and owner.start < stale.end < owner.end:
            # Only as long as nobody else can have ended it: a finish may be in the row before it is witnessed.
            until = min(owner.end, _next_end(may_end[stale.job], stale))
            shown = first(seen[stale.job, "done"], stale.end, until)
            if shown is None:  # whoever came after the owner may have failed since, with no order to
                later = first(seen[stale.job, "started"], owner.start + 1, math.inf)
                shown = first(seen[stale.job, "failed"], stale.end, until if later is None else min(until, later))
            text = f"{stale.job} is over by {stale.worker}, and {owner.worker} is still running it"
        if shown is not None:
            yield Anomaly("stale-finish-accepted", text, (stale.start, owner.start, shown))


def _accepted(events: Sequence[Event]) -> Iterator[tuple[int, int]]:
    """The start of an execution, and where its end was accepted: told by its attempt where the queue counts them."""
    latest: dict[tuple[object, ...], int] = {}
    for i, event in enumerate(events):
        if event["event"] == "started":
            latest[event["job"], event["worker"]] = latest[event["job"], event["worker"], event["attempt"]] = i
        elif event["event"] == "outcome" and event["accepted"]:
            mine = event["job"], event["worker"]
            start = latest.get((*mine, event["attempt"]), latest.get(mine))
            if start is not None:
                yield start, i


def _may_end(events: Sequence[Event]) -> Mapping[str, list[tuple[int, int]]]:
    """Of each job, in order: from where on an execution may have ended it, and that execution's start.

    It may from its first order to finish or to fail; one that died may not.
    """
    ordered = index(
        (event["execution"], i)
        for i, event in of_kind(events, "ordered")
        if event["order"].get("order") in ("finish", "fail")
    )

    def end(run: Execution) -> int:
        order = first(ordered[run.number], run.start, run.end)
        return run.end if order is None else order

    runs = by_job(events)
    return {job: sorted((end(run), run.start) for run in runs[job] if run.ending != "died") for job in runs}


def _next_end(ends: Sequence[tuple[int, int]], stale: Execution) -> float:
    """From where on anybody else may have ended the job, after one execution began."""
    later = bisect_right(ends, (stale.start, math.inf))
    return next((end for end, start in ends[later : later + 2] if start != stale.start), math.inf)


def one_owner(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`two-owners`: one who had lost the job was told by its heartbeat that it still holds it."""
    kept = index(((event["worker"], job), i) for i, event in of_kind(events, "renewed") for job in event["kept"])
    for stale, owner, anew in _superseded(events):
        shown = first(kept[stale.worker, stale.job], owner.start, min(owner.end, anew))
        if shown is not None:
            text = f"{stale.worker} renewed {stale.job} while {owner.worker} held it: both believe it to be theirs"
            yield Anomaly("two-owners", text, (stale.start, owner.start, shown))


def done_stays_done(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`done-undone`: the queue said that a job is done, and later that it is not."""
    done: dict[str, int] = {}
    for i, event in of_kind(events, "row"):
        job, state = event["job"], event["row"]["state"]
        if state == "done":
            done.setdefault(job, i)
        elif state != "absent" and job in done:
            yield Anomaly("done-undone", f"{job} was done, and then its queue says {state}", (done.pop(job), i))


def owner_left_alone(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`owner-evicted`: a reclaim took a job from an owner in the middle of it, whose lease was alive.

    By the queue's own rows: the one before names the owner and says how much of the lease is left, and the one after,
    within that time, names it no more.
    """
    reclaimed = index((job, i) for i, event in of_kind(events, "reclaimed") for job in event["jobs"])
    rows = index((event["job"], i) for i, event in of_kind(events, "row"))
    for job, runs in by_job(events).items():
        starts = index((run.worker, i) for i, run in enumerate(runs))
        for before, after in pairwise(rows[job]):
            owner, left = (events[before]["row"].get(column) for column in ("leased_by", "lease_left"))
            taken = first(reclaimed[job], before, after)
            if taken is None or owner in (None, events[after]["row"].get("leased_by")):
                continue
            soon = events[after]["t"] - events[before]["t"] < float(left or 0) - events[0]["margin"]
            begun = bisect_left(starts[owner], before, key=lambda i: runs[i].start)
            run = runs[starts[owner][begun - 1]] if begun else None
            if soon and run and run.end > after:
                text = f"a reclaim took {job} from {owner}, with {left} s of its lease left"
                yield Anomaly("owner-evicted", text, (run.start, before, taken, after))


def _superseded(events: Sequence[Event]) -> Iterator[tuple[Execution, Execution, int]]:
    """Each execution whose job was reclaimed from it, with each later one, and where its worker got the job anew."""
    for runs, reclaimed in reclaims(events):
        starts = index((run.worker, run.start) for run in runs)
        for i, given_back in enumerate(reclaimed):
            if given_back:
                stale = runs[i]
                again = first(starts[stale.worker], stale.start + 1, len(events))
                anew = len(events) if again is None else again
                for owner in runs[i + 1 :]:
                    if owner.start > anew:
                        break
                    yield stale, owner, anew
