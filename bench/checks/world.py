"""What did the outside world see?"""

from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly, of_kind
from bench.history import Event


def effect_once(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`effect-twice`: the outside world saw two effects under one key, and could not know the second for a repeat.

    It can where it was given an idempotency key (`under`) with each, and the same: it then makes the effect once.
    """
    made: dict[str, int] = {}
    known: set[tuple[str, str]] = set()
    for i, event in of_kind(events, "effect"):
        key, under = event["key"], event.get("under")
        if key in made and (key, under) not in known:
            told = "" if under is None else f", under another idempotency key ({under})"
            yield Anomaly("effect-twice", f"the effect {key} was made again{told}", (made[key], i))
        made.setdefault(key, i)
        if under is not None:
            known.add((key, under))
