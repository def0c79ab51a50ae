"""A worker stops as it should when it is told to."""

from bench.checks.stopping import clean_exit
from tests.bench.cases import sane, wrong
from tests.bench.histories import KILLED, TERM, exited, receipt, spawned

FORCED = {"forced_codes": (75,)}

CASES = [
    sane(
        clean_exit, "forced to, for its grace is over", [spawned(grace=0.5), TERM, receipt(), exited("A", 75)], **FORCED
    ),
    sane(clean_exit, "a grace that was not needed", [spawned(grace=0.5), TERM, receipt(), exited("A", 0)], **FORCED),
    wrong(
        clean_exit,
        "forced to by nobody: it was given no grace",
        [spawned(grace=None), TERM, receipt(), exited("A", 75)],
        ("unclean-exit", 2, 4),
        **FORCED,
    ),
    wrong(
        clean_exit,
        "the grace of an earlier process of its name",
        [spawned(grace=0.5), exited("A"), spawned(pid=2), TERM, receipt(), exited("A", 75, pid=2)],
        ("unclean-exit", 4, 6),
        **FORCED,
    ),
    wrong(
        clean_exit,
        "killed when its grace was over",
        [spawned(grace=0.5), TERM, receipt(), exited("A", KILLED)],
        ("unclean-exit", 2, 4),
        **FORCED,
    ),
]
