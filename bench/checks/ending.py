"""Does every job come to its end, in the world and in the queue?"""

from collections.abc import Iterator, Mapping, Sequence

from bench.checks.base import Anomaly, by_job, last_rows, of_kind
from bench.history import Event


def recovered(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`stranded`: a job was not finished by anybody, or later than claimed, or its queue does not know that it was.

    Not one that nobody finished and that its queue has no record of: that is lost, and `nothing_lost` says so. Nor one
    that is rightly over without a finish: see `_ended_by_failing`. Nor one that was waited for in vain where its queue
    may take longer, by its own word, than anybody waits: such a wait has a bound, and names no anomaly.
    """
    finished = {event["job"]: i for i, event in of_kind(events, "finished")}
    rows = last_rows(events)
    failed = _ended_by_failing(events, rows)
    missed: dict[str, int] = {}
    excused: set[str] = set()
    for i, event in of_kind(events, "wait"):
        if event["bound"] and not event["came"] and not event["late"]:
            excused.update(event["jobs"])
        if event["bound"] and not event["came"] and event["late"] == "stranded":
            for job in event["jobs"]:
                missed.setdefault(job, i)
    for i, event in of_kind(events, "enqueued"):
        if event["role"] == "decoy":
            continue
        job = event["job"]
        state = events[rows[job]]["row"]["state"] if job in rows else None
        if job not in finished and (state == "absent" or job in excused):
            continue
        if job in missed:
            wait = events[missed[job]]
            text = f"not within {wait['within']:.2f} s ({wait['bound']}): {wait['what']}"
            yield Anomaly("stranded", text, (i, missed[job]))
        elif job not in finished and job not in failed:
            yield Anomaly("stranded", f"{job} was not finished by anybody", (i,))
        elif job in finished and state in ("queued", "running") and rows[job] > finished[job]:
            yield Anomaly("stranded", f"{job} was finished, and at the end its queue says {state}", (i, rows[job]))


def _ended_by_failing(events: Sequence[Event], rows: Mapping[str, int]) -> set[str]:
    """The jobs that are `failed` with all attempts spent, or by a handler that said that no other would help.

    And those whose last attempt raised and that the queue has for `done`: that is `failure_kept`'s to judge.
    """
    runs = by_job(events)
    permanent = {e["execution"] for _, e in of_kind(events, "ordered") if e["order"].get("kind") == "permanent"}
    failed = set()
    for _, event in of_kind(events, "enqueued"):
        job = event["job"]
        if job in rows and job in runs:
            row, last = events[rows[job]]["row"], runs[job][-1]
            raised = last.ending == "raised"
            most = event.get("max_attempts") or row.get("max_attempts")
            spent = most is not None and len(runs[job]) >= int(most)
            if (row["state"] == "failed" and (spent or (raised and last.number in permanent))) or (
                row["state"] == "done" and raised
            ):
                failed.add(job)
    return failed


def nothing_lost(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`lost`: the queue says done, or has no record, of a job that nobody finished; or failed, and nobody began it.

    That there is no record of a job is right when the transaction that put it in was never committed.
    """
    finished = {event["job"] for _, event in of_kind(events, "finished")}
    started = {event["job"] for _, event in of_kind(events, "started")}
    acknowledged = {event["job"] for _, event in of_kind(events, "enqueued")}
    never_committed = {event["job"] for _, event in of_kind(events, "uncommitted")} - acknowledged
    for job, i in last_rows(events).items():
        state = events[i]["row"]["state"]
        if state == "absent" and job in never_committed:
            continue
        if state in ("done", "absent") and job not in finished:
            yield Anomaly("lost", f"the queue says that {job} is {state}, and nobody finished it", (i,))
        elif state == "failed" and job not in started:
            yield Anomaly("lost", f"the queue says that {job} has failed, and nobody began it", (i,))


def attempts_counted(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`attempt-not-counted`: a queue that counts attempts at the claim has another count than there were executions."""
    if events[0]["subject"].get("attempts") != "claim":
        return
    runs = by_job(events)
    for job, i in last_rows(events).items():
        starts = [run.start for run in runs.get(job, [])]
        attempt = events[i]["row"].get("attempt")
        if attempt is not None and str(attempt) != str(len(starts)):
            text = f"{job} was started {len(starts)} times, and its row says attempt {attempt}"
            yield Anomaly("attempt-not-counted", text, (*starts, i))
