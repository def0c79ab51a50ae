"""Is a job left to a worker that is alive and at it?"""

from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly, by_job, of_kind
from bench.history import Event


def kept_alive(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`reclaimed-alive`: a reclaim took a job from a worker that was alive, connected and in the middle of it."""
    runs = by_job(events)
    for i, event in of_kind(events, "reclaimed"):
        for job in event["jobs"]:
            for run in runs.get(job, []):
                if run.start < i < run.end:
                    text = f"a reclaim took {job} from {run.worker}, which was alive and in the middle of it"
                    yield Anomaly("reclaimed-alive", text, (run.start, i))
