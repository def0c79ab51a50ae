"""Does nobody wait for another who does not have to?"""

from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly
from bench.history import Event


def nobody_waited(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`claimers-waited`: while a row was locked, a claimer waited for that lock instead of passing the row over."""
    for i, event in enumerate(events):
        if event["event"] == "let-go" and event["waiting"]:
            names = ", ".join(event["waiting"])
            yield Anomaly(
                "claimers-waited", f"{names} waited for the lock on {event['job']}, with free jobs behind", (i,)
            )
