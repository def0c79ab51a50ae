"""Does an attempt count when it should, and only then?"""

from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly, by_job, last_rows, left_when_told, of_kind
from bench.history import Event


def attempts_bounded(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`endless`: a job was begun more often than it has attempts.

    What a worker left because it was told to stop is none.
    """
    left = {run.start for _, run in left_when_told(events)}
    runs = by_job(events)
    for i, event in of_kind(events, "enqueued"):
        job, most = event["job"], event.get("max_attempts")
        starts = [run.start for run in runs.get(job, []) if run.start not in left]
        if most is not None and len(starts) > most:
            yield Anomaly("endless", f"{job} has {most} attempts, and was begun once more", (i, starts[most]))


def deploys_are_no_failures(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`failed-by-deploys`: a job has failed, and all that happened to it is that its workers were told to stop."""
    left = {run.start for _, run in left_when_told(events)}
    runs = by_job(events)
    for job, i in last_rows(events).items():
        starts = [run.start for run in runs.get(job, [])]
        if events[i]["row"]["state"] == "failed" and starts and left.issuperset(starts):
            text = (
                f"the queue says that {job} has failed, and each of its {len(starts)} starts was cut short by SIGTERM"
            )
            yield Anomaly("failed-by-deploys", text, (*starts, i))


def failure_explained(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`unexplained-failure`: a job has failed with no error of its handler's, and its row does not say why."""
    runs = by_job(events)
    for job, i in last_rows(events).items():
        row = events[i]["row"]
        raised = job in runs and runs[job][-1].ending == "raised"
        if row["state"] == "failed" and not raised and "last_error" in row and not row["last_error"]:
            yield Anomaly("unexplained-failure", f"{job} has failed, and its last_error is empty", (i,))
