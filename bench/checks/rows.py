"""Does the database refuse what can mean nothing?"""

from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly, of_kind
from bench.history import Event


def schema_refuses(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`impossible-state`: the database took a row that can mean nothing."""
    for i, event in of_kind(events, "receipt"):
        for row in event["evidence"].get("accepted", []):
            yield Anomaly("impossible-state", f"the database took {row}", (i,))
