"""One who has read a job before does not undo what has come of it since."""

from bench.checks.fencing import done_stays_done, owner_left_alone
from bench.history import Event
from tests.bench.cases import sane, wrong
from tests.bench.histories import Run, exited, reclaimed, row

a, b = Run(1, "A"), Run(2, "B")


def leased(owner: str = "A", left: str = "9") -> Event:
    return row("running", leased_by=owner, lease_left=left)


FREE = row("queued", leased_by=None, lease_left=None)
EVICTED = [a.started, leased(), reclaimed("job", since=1), FREE]
"""At positions 1 to 4."""

CASES = [
    sane(done_stays_done, "done, and done", [a.started, row("running"), a.finished, row("done"), row("done")]),
    sane(done_stays_done, "done, and removed", [row("done"), row("absent")]),
    sane(done_stays_done, "failed, and done by another attempt", [row("failed"), row("done")]),
    sane(done_stays_done, "another job", [row("done"), row("queued", job="other")]),
    sane(done_stays_done, "the last word of a retry", [a.raised, a.accepted, row("queued"), row("done")]),
    *(
        wrong(done_stays_done, f"{state} again", [row("running"), row("done"), row(state)], ("done-undone", 2, 3))
        for state in ("queued", "running", "failed")
    ),
    wrong(
        done_stays_done,
        "once for each time that it was done",
        [row("done"), row("done"), row("queued"), row("running"), row("done"), row("queued")],
        ("done-undone", 1, 3),
        ("done-undone", 5, 6),
    ),
    sane(owner_left_alone, "nothing was taken", [a.started, leased(), reclaimed(since=1), leased(), a.finished]),
    sane(owner_left_alone, "another job was taken", [a.started, leased(), reclaimed("other", since=1), FREE]),
    sane(owner_left_alone, "its lease may have run out", [a.started, leased(left="2.2"), *EVICTED[2:]]),
    sane(owner_left_alone, "its lease had run out", [a.started, leased(left="-0.1"), *EVICTED[2:]]),
    sane(owner_left_alone, "it had ended", [a.started, leased(), a.finished, *EVICTED[2:]]),
    sane(owner_left_alone, "its process had ended", [a.started, leased(), exited("A"), *EVICTED[2:]]),
    sane(owner_left_alone, "it got the job from a reclaim that is told late", [*EVICTED[:3], leased(), a.finished]),
    sane(
        owner_left_alone, "it gave the job back", [a.started, leased(), row("queued"), reclaimed("job", since=1), FREE]
    ),
    sane(owner_left_alone, "its queue names no owner", [a.started, row(), reclaimed("job", since=1), row("queued")]),
    sane(owner_left_alone, "its queue says nothing of the lease", [a.started, row(leased_by="A"), *EVICTED[2:]]),
    sane(owner_left_alone, "it was not begun by its owner", [b.started, *EVICTED[1:]]),
    wrong(owner_left_alone, "taken, and free", [*EVICTED, a.finished], ("owner-evicted", 1, 2, 3, 4)),
    wrong(
        owner_left_alone,
        "taken, and already another's",
        [a.started, leased(), reclaimed("job", since=1), b.started, leased("B")],
        ("owner-evicted", 1, 2, 3, 5),
    ),
    wrong(
        owner_left_alone,
        "from one that had ended it before",
        [a.started, a.raised, a.started | {"execution": 2}, leased(), reclaimed("job", since=1), FREE],
        ("owner-evicted", 3, 4, 5, 6),
    ),
    wrong(
        owner_left_alone,
        "one after the other",
        [*EVICTED, b.started, leased("B"), reclaimed("job", since=5), FREE],
        ("owner-evicted", 1, 2, 3, 4),
        ("owner-evicted", 5, 6, 7, 8),
    ),
]
