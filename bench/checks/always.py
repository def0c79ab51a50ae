"""Judged in every arm, and in every arm without its fault."""

import signal
from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly
from bench.history import Event


def progress(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`no-progress`: what any queue does at once did not come, with all the patience of the bench."""
    for i, event in enumerate(events):
        if event["event"] == "wait" and event["must"] and not event["came"]:
            yield Anomaly("no-progress", f"not in {event['within']:.0f} s: {event['what']}", (i,))


def undisturbed(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`disturbed`: in an arm without its fault something happened all the same.

    The job of a schedule is begun once for each of its ticks.
    """
    count: dict[tuple[str, str], int] = {}
    for i, event in enumerate(events):
        match event["event"]:
            case "started":
                job = event["job"], event.get("tick", "")
                count[job] = count.get(job, 0) + 1
                if count[job] > 1:
                    yield Anomaly("disturbed", f"{event['job']} was started again, and nothing was done to it", (i,))
            case "reclaimed" if event["jobs"]:
                yield Anomaly("disturbed", f"a reclaim gave back {', '.join(event['jobs'])} of a living worker", (i,))
            case "died":
                yield Anomaly("disturbed", f"{event['worker']} died in {event['job']}, and nobody killed it", (i,))
            case "exited" if event["status"] == -signal.SIGKILL:
                yield Anomaly("disturbed", f"{event['worker']} was killed, and the arm has no fault", (i,))
            case "receipt":
                yield Anomaly("disturbed", "a fault was injected into an arm that has none", (i,))
            case _:
                pass
