"""Does what was promised come when it was promised?"""

from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly, of_kind
from bench.history import Event

LATE = ("slow-recovery", "starved", "held-up", "slow-wake", "claims-blocked")
"""What a script may call it when a promise of its own is late."""


def in_time(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`slow-recovery`, `starved`, `held-up`, `slow-wake`, `claims-blocked`: what was promised did not come in time.

    What was promised, and what it is called when it is late, is for the script to say. A job that comes too late, or
    never, is `stranded` unless the script says otherwise; `recovered` looks after that.
    """
    for i, event in of_kind(events, "wait"):
        if event["bound"] and not event["came"] and event["late"] in LATE:
            text = f"not within {event['within']:.2f} s ({event['bound']}): {event['what']}"
            yield Anomaly(event["late"], text, (i,))
