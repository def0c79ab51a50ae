"""Does one who can't be told that it has lost a job find out by itself?"""

from collections.abc import Iterator, Sequence

from bench.checks.base import Anomaly, of_kind, reclaims
from bench.history import Event


def no_stale_effect(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`stale-effect`: an execution made an effect after its job had been given to somebody else."""
    effects = {event["execution"]: i for i, event in of_kind(events, "effect")}
    for runs, given_back in reclaims(events):
        for stale, owner, reclaimed in zip(runs, runs[1:], given_back, strict=False):
            made = effects.get(stale.number, -1)
            if reclaimed and made > owner.start:
                text = f"{stale.worker} made an effect of {stale.job}, and {owner.worker} had it by then"
                yield Anomaly("stale-effect", text, (stale.start, owner.start, made))
