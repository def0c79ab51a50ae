"""Do failures come back when they should, and not all at once?

What the queue has put off, and for how long, is read from its table (`sample`): a count, whatever the machine's speed.
"""

from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly, of_kind
from bench.history import Event

MOST = 0.5
"""The share that makes a storm, or a herd: more than half of all at once."""


ENOUGH = 20
"""Retries that must have been put off before their spread means anything."""


def retries_put_off(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`retry-storm`: most jobs that had failed were made due again at once, each time one looked (sample `at-once`)."""
    shares = []
    for i, event in of_kind(events, "sample"):
        if event["name"] == "at-once":
            ((at_once, failed),) = event["rows"]
            if int(failed) >= ENOUGH:
                shares.append((int(at_once) / int(failed), i))
    if shares and min(shares)[0] > MOST:
        text = (
            f"of the jobs that had failed, {min(shares)[0]:.0%} and more were due again at once, each time one looked"
        )
        yield Anomaly("retry-storm", text, tuple(i for _, i in shares))


def retries_spread(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`thundering-herd`: most of the retries that were put off come back together (sample `delays`, in tenths)."""
    for i, event in of_kind(events, "sample"):
        if event["name"] == "delays":
            counts = [int(count) for _, count in event["rows"]]
            if sum(counts) >= ENOUGH and max(counts) > MOST * sum(counts):
                text = f"{max(counts)} of {sum(counts)} retries come back within the same tenth of the longest delay"
                yield Anomaly("thundering-herd", text, (i,))
