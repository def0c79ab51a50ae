"""Does what is over go when it may, no sooner, and a little at a time?

Not by the purge's own word: what is old enough to go is counted in the table, and a trigger notes what is deleted
(sample `old`: done and failed jobs that are left, transactions that deleted some, rows that the largest of them did).
"""

from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly
from bench.history import Event


def kept_as_told(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`grows`, `failure-forgotten`: a purge left what was old enough to go, or took failures that were to be kept."""
    for before, purge, after in _purges(events):
        forever = events[purge]["failed_after"] is None
        (_, had, *_), (done, failed, *_) = _counts(events[before]), _counts(events[after])
        left = done if forever else done + failed
        if left:
            yield Anomaly("grows", f"{left} jobs that were old enough to go are still there", (purge, after))
        if forever and failed < had:
            text = f"{had - failed} of {had} failed jobs are gone, and all were to be kept"
            yield Anomaly("failure-forgotten", text, (before, purge, after))


def in_bounded_batches(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`unbounded-batch`: a transaction of a purge deleted more rows than it was told to."""
    for before, purge, after in _purges(events):
        largest, batch = _counts(events[after])[-1], events[purge]["batch"]
        if largest > max(batch, _counts(events[before])[-1]):
            text = f"a transaction deleted {largest} rows, and the purge was told {batch}"
            yield Anomaly("unbounded-batch", text, (purge, after))


def _purges(events: Sequence[Event]) -> Iterator[tuple[int, int, int]]:
    """Each purge, with the looks before and after it."""
    before = purge = None
    for i, event in enumerate(events):
        if event["event"] == "answered" and event["request"] == "purge":
            purge = i
        elif event["event"] == "sample" and event["name"] == "old":
            if before is not None and purge is not None:
                yield before, purge, i
            before, purge = i, None


def _counts(look: Event) -> list[int]:
    (row,) = look["rows"]
    return [int(count) for count in row]
