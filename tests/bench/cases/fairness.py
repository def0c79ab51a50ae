"""Everybody gets a share of the work."""

from bench.checks.fairness import nobody_hoards
from bench.history import Event
from tests.bench.cases import sane, wrong
from tests.bench.histories import Run, event, exited, sample

a, b = Run(1, "A"), Run(2, "B")


def joined(worker: str, prefetch: int = 2) -> list[Event]:
    """A worker with one slot has come."""
    options = {"slots": 1, "prefetch": prefetch}
    return [
        event("spawned", worker=worker, pid=1, options=options),
        event("ready", worker=worker, pid=1),
    ]


def held(**jobs: int) -> Event:
    return sample("held", *([worker, str(count)] for worker, count in jobs.items()))


CASES = [
    sane(nobody_hoards, "each has its share", [*joined("A"), *joined("B"), a.started, b.started, held(A=3, B=3)]),
    sane(nobody_hoards, "the other is idle, and the rest is free", [*joined("A"), *joined("B"), held(A=3, nobody=15)]),
    sane(nobody_hoards, "alone", [*joined("A"), a.started, held(A=20)]),
    sane(nobody_hoards, "everybody has something to do", [*joined("A"), *joined("B"), b.started, held(A=17, B=3)]),
    sane(nobody_hoards, "one who is not ready is not idle", [*joined("A"), *joined("B")[:1], held(A=20)]),
    sane(nobody_hoards, "one who is gone is not idle", [*joined("A"), *joined("B"), exited("B"), held(A=20)]),
    sane(nobody_hoards, "it has room", [*joined("A", prefetch=19), *joined("B"), held(A=20)]),
    wrong(nobody_hoards, "one has all", [*joined("A"), *joined("B"), a.started, held(A=20)], ("hoarded", 4, 6)),
    wrong(
        nobody_hoards,
        "the other has ended what it had",
        [*joined("A"), *joined("B"), b.started, b.finished, held(A=4)],
        ("hoarded", 4, 7),
    ),
]
