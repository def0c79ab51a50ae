"""Alarms ring when a promise is broken, and only then."""

from bench.checks.alarms import alarms_ring_true
from bench.history import Event
from tests.bench.cases import sane, wrong
from tests.bench.histories import answered, sample


def figures(oldest: str, expired: str = "0", depth: str = "30") -> Event:
    return sample("figures", [depth, oldest, expired], columns=("depth", "oldest", "expired"))


def asked(*alarms: str) -> Event:
    limits = {"oldest": 1.0, "expired": 0}
    return answered("stats", {"figures": {}, "alarms": list(alarms)}, limits=limits)


KEPT, BROKEN, BOTH = figures("0.2"), figures("1.6"), figures("1.6", "1")
OLDEST, EXPIRED, DEPTH = "oldest: for 1.6 s", "expired: 1 of them", "depth: 10000"

CASES = [
    sane(alarms_ring_true, "all is well", [KEPT, asked(), KEPT]),
    sane(alarms_ring_true, "nothing is there to be old", [figures(""), asked(), figures("")]),
    sane(alarms_ring_true, "at the limit", [figures("1.0"), asked(), figures("1.0")]),
    sane(alarms_ring_true, "broken, and it rings", [BROKEN, asked(OLDEST), BROKEN]),
    sane(alarms_ring_true, "two broken, and both ring", [BOTH, asked(OLDEST, EXPIRED), BOTH]),
    sane(alarms_ring_true, "broken just then, and not seen yet", [KEPT, asked(), BROKEN]),
    sane(alarms_ring_true, "broken just then, and seen", [KEPT, asked(OLDEST), BROKEN]),
    sane(alarms_ring_true, "mended just then", [BROKEN, asked(), KEPT]),
    sane(alarms_ring_true, "nobody looked before", [asked(), BROKEN]),
    sane(alarms_ring_true, "another question", [BROKEN, answered("purge", {"removed": 1}), BROKEN]),
    wrong(alarms_ring_true, "broken, and all is silent", [BROKEN, asked(), BROKEN], ("unseen", 1, 2)),
    wrong(alarms_ring_true, "one of two is silent", [BOTH, asked(OLDEST), BOTH], ("unseen", 1, 2)),
    wrong(
        alarms_ring_true,
        "the second time",
        [KEPT, asked(), KEPT, BROKEN, asked(), BROKEN],
        ("unseen", 4, 5),
    ),
    wrong(alarms_ring_true, "it rings and all is well", [KEPT, asked(OLDEST), KEPT], ("false-alarm", 1, 2)),
    wrong(alarms_ring_true, "nothing of the kind was promised", [KEPT, asked(DEPTH), KEPT], ("false-alarm", 1, 2)),
    wrong(
        alarms_ring_true,
        "another one rings instead",
        [BROKEN, asked(DEPTH), BROKEN],
        ("unseen", 1, 2),
        ("false-alarm", 1, 2),
    ),
]
