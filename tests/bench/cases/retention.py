"""What is over goes when it may, no sooner, and a little at a time."""

from bench.checks.retention import in_bounded_batches, kept_as_told
from bench.history import Event
from tests.bench.cases import sane, wrong
from tests.bench.histories import answered, sample


def old(done: int, failed: int, transactions: int = 0, largest: int = 0) -> Event:
    return sample("old", [str(count) for count in (done, failed, transactions, largest)])


def purged(failed_after: float | None = None) -> Event:
    return answered("purge", {"removed": 0}, done_after=3600.0, failed_after=failed_after, batch=100)


CASES = [
    sane(kept_as_told, "done ones go", [old(250, 25), purged(), old(0, 25)]),
    sane(kept_as_told, "failed ones, too", [old(250, 25), purged(3600.0), old(0, 0)]),
    sane(kept_as_told, "nothing was old", [old(0, 0), purged(), old(0, 0)]),
    sane(kept_as_told, "nothing was purged", [old(250, 25), old(250, 25)]),
    sane(kept_as_told, "another question", [old(250, 25), answered("stats", {}), old(250, 25)]),
    sane(kept_as_told, "nobody looked before", [purged(), old(250, 0)]),
    wrong(kept_as_told, "one is left", [old(250, 25), purged(), old(1, 25)], ("grows", 2, 3)),
    wrong(kept_as_told, "a failed one is left", [old(250, 25), purged(3600.0), old(0, 1)], ("grows", 2, 3)),
    wrong(kept_as_told, "a failed one is gone", [old(250, 25), purged(), old(0, 24)], ("failure-forgotten", 1, 2, 3)),
    wrong(
        kept_as_told,
        "the second purge",
        [old(250, 25), purged(), old(0, 25), purged(), old(0, 0)],
        ("failure-forgotten", 3, 4, 5),
    ),
    sane(in_bounded_batches, "three batches", [old(250, 25), purged(), old(0, 25, 3, 100)]),
    sane(in_bounded_batches, "none", [old(0, 0), purged(), old(0, 0)]),
    wrong(in_bounded_batches, "all at once", [old(250, 25), purged(), old(0, 25, 1, 250)], ("unbounded-batch", 2, 3)),
    wrong(
        in_bounded_batches,
        "the second purge is innocent",
        [old(250, 25), purged(), old(0, 25, 1, 250), purged(3600.0), old(0, 0, 2, 250)],
        ("unbounded-batch", 2, 3),
    ),
]
