"""A failure is taken for what it is, and kept where it can be seen."""

from bench.checks.failures import failure_kept, permanent_ends, waits_as_told
from tests.bench.cases import sane, wrong
from tests.bench.histories import QUEUED, Run, reclaimed, row

a, b, c = Run(1, "A"), Run(2, "B"), Run(3, "C")
other = Run(2, "B", "other")

RAISED = [QUEUED, a.started, a.told_to_fail(), a.raised]
PERMANENT = [a.started, a.told_to_fail("permanent"), a.raised]
WAITS = [a.started, a.told_to_fail("rate-limited", 4.0), a.raised]
KEPT = {"kind": "k", "payload": "{}", "attempt": "1", "last_error": "Transient: transient"}


def lacking(**columns: str) -> dict[str, str]:
    return {**KEPT, **columns}


CASES = [
    sane(failure_kept, "failed, with all that one needs", [*RAISED, row("failed", **KEPT)]),
    sane(failure_kept, "to be tried again", [*RAISED, row("queued")]),
    sane(failure_kept, "its end is not yet taken", [*RAISED, row("running")]),
    sane(failure_kept, "nobody has asked", RAISED),
    sane(failure_kept, "done in a later attempt", [*RAISED, b.started, b.finished, row("done")]),
    sane(failure_kept, "done, and a late one raised", [a.started, b.started, b.finished, a.raised, row("done")]),
    sane(failure_kept, "tried again, and died", [*RAISED, b.started, b.died, row("failed")]),
    sane(failure_kept, "another job is done", [*RAISED, row("done", job="other")]),
    sane(failure_kept, "done, and then told better", [*RAISED, row("done"), row("failed", **KEPT)]),
    wrong(failure_kept, "done", [*RAISED, row("done")], ("vanished", 4, 5)),
    wrong(failure_kept, "no record", [*RAISED, row("absent")], ("vanished", 4, 5)),
    wrong(
        failure_kept,
        "failed, and no error is kept",
        [*RAISED, row("failed", **lacking(last_error=""))],
        ("vanished", 4, 5),
    ),
    wrong(
        failure_kept, "another error is kept", [*RAISED, row("failed", **lacking(last_error="?"))], ("vanished", 4, 5)
    ),
    wrong(failure_kept, "no payload", [*RAISED, row("failed", **lacking(payload=""))], ("vanished", 4, 5)),
    wrong(failure_kept, "nothing is kept", [*RAISED, row("failed")], ("vanished", 4, 5)),
    wrong(failure_kept, "the second attempt's", [*RAISED, b.started, b.raised, row("done")], ("vanished", 6, 7)),
    sane(permanent_ends, "not begun again", PERMANENT),
    sane(permanent_ends, "a transient one is tried again", [*RAISED, b.started]),
    sane(permanent_ends, "another job is begun", [*PERMANENT, other.started]),
    sane(
        permanent_ends, "it was lost before, so nobody heard of it", [*PERMANENT, reclaimed("job", since=1), b.started]
    ),
    sane(permanent_ends, "the next had begun before", [a.started, b.started, a.told_to_fail("permanent"), a.raised]),
    sane(permanent_ends, "ordered, and died of something else", [*PERMANENT[:2], a.died, b.started]),
    wrong(permanent_ends, "begun again", [*PERMANENT, b.started], ("retried-permanent", 2, 3, 4)),
    wrong(
        permanent_ends,
        "in the second attempt",
        [*RAISED, b.started, b.told_to_fail("permanent"), b.raised, c.started],
        ("retried-permanent", 6, 7, 8),
    ),
    sane(waits_as_told, "not begun again", WAITS),
    sane(waits_as_told, "begun again when it was told to", [*WAITS, row(), row(), b.started]),
    sane(waits_as_told, "no time was told", [a.started, a.told_to_fail("rate-limited"), a.raised, b.started]),
    sane(waits_as_told, "a transient one is tried at once", [*RAISED, b.started]),
    sane(waits_as_told, "it was lost before", [*WAITS, reclaimed("job", since=1), b.started]),
    wrong(waits_as_told, "at once", [*WAITS, b.started], ("retried-early", 2, 3, 4)),
    wrong(waits_as_told, "still too early", [*WAITS, row(), b.started], ("retried-early", 2, 3, 5)),
]
