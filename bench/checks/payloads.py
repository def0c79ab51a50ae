"""Can whoever takes a job read it?"""

from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly
from bench.history import Event


def payloads_read(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`unreadable`: a worker ended an attempt at a job that it never began, since it could not read what it had taken.

    An end is told after its beginning: the puppet ends by an order of the witness's, which has seen it begin by then.
    """
    begun: set[tuple[object, ...]] = set()
    told: set[tuple[object, ...]] = set()
    for i, event in enumerate(events):
        if event["event"] == "started":
            begun.add((event["job"], event["worker"], event["attempt"]))
        elif event["event"] == "outcome":
            job, worker, attempt = event["job"], event["worker"], event["attempt"]
            if (job, worker, attempt) not in begun and (job, worker) not in told:
                told.add((job, worker))
                yield Anomaly("unreadable", f"{worker} took {job}, and its attempt ended before it had begun", (i,))
