"""Does what is over weigh on what is to be done?"""

from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly, of_kind
from bench.history import Event

MORE = 5
"""Buffers that a claim may touch more than at first: two for each level that the tree of the primary key has grown by.

That tree holds the ended jobs as well, and grows by a level when there are some hundred times as many.
"""


def claim_costs_no_more(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`claim-cost-grows`: a claim touches more buffers than it did at first, with as much to claim."""
    costs = [
        (event["answer"]["buffers"], i) for i, event in of_kind(events, "answered") if event["request"] == "explain"
    ]
    for buffers, i in costs[1:]:
        before, at = costs[0]
        if buffers > before + MORE:
            yield Anomaly("claim-cost-grows", f"a claim touched {before} buffers at first, and now {buffers}", (at, i))
