"""Does a worker stop as it should when it is told to?"""

from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly, between, index, left_when_told, of_kind, told
from bench.history import Event


def no_start_after_sigterm(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`claimed-after-sigterm`: a worker that was told to stop began another job."""
    starts = index((event["worker"], i) for i, event in of_kind(events, "started"))
    for signal in told(events):
        for start in between(starts[signal.worker], signal.taken + 1, signal.succeeded):
            text = f"{signal.worker} began {events[start]['job']} after SIGTERM"
            yield Anomaly("claimed-after-sigterm", text, (signal.taken, start))


def served_to_the_end(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`abandoned`: a worker that was told to stop left the job that it was running."""
    for signal, run in left_when_told(events):
        yield Anomaly("abandoned", f"{run.worker} left {run.job} on SIGTERM", (run.start, signal.sent, run.end))


def clean_exit(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`unclean-exit`: a worker that was told to stop did not end, or not in a way that its `describe` accepts.

    One that was given a grace may also end as one that was forced to give back its jobs.
    """
    drain = events[0]["subject"]["drain"]
    spawns = index((event["worker"], i) for i, event in of_kind(events, "spawned"))
    for signal in told(events):
        started = between(spawns[signal.worker], 0, signal.sent)
        limited = started and events[started[-1]]["options"].get("grace") is not None
        accepted = [*drain["exit_codes"], *(drain.get("forced_codes", []) if limited else [])]
        if signal.left is None:
            yield Anomaly("unclean-exit", f"{signal.worker} did not end after SIGTERM", (signal.taken,))
        elif events[signal.left]["status"] not in accepted:
            text = f"{signal.worker} ended with {events[signal.left]['status']} after SIGTERM; accepted is {accepted}"
            yield Anomaly("unclean-exit", text, (signal.sent, signal.left))


def unstarted_freed(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`not-freed`: a worker drained and left, and a job that it never started still bears its name."""
    started = {(event["job"], event["worker"]) for _, event in of_kind(events, "started")}
    held = index((event["row"].get("leased_by"), i) for i, event in of_kind(events, "row"))
    for signal in told(events):
        if signal.left is None:
            continue
        seen: set[str] = set()
        for i in between(held[signal.worker], signal.left, signal.succeeded):
            job = events[i]["job"]
            if job not in seen and (job, signal.worker) not in started:
                seen.add(job)
                text = f"{job} is still held for {signal.worker}, which never began it and is gone"
                yield Anomaly("not-freed", text, (signal.sent, signal.left, i))
