"""Where a job ends with no finish, and rightly."""

from bench.checks.ending import recovered
from tests.bench.cases import sane, wrong
from tests.bench.histories import QUEUED, Run, enqueued, event, row

a, b = Run(1, "A"), Run(2, "B")
twice = event("enqueued", job="job", id="1", role="job", max_attempts=2)

CASES = [
    sane(recovered, "all attempts raised", [twice, a.started, a.raised, b.started, b.raised, row("failed")]),
    sane(recovered, "all attempts died", [twice, a.started, a.died, b.started, b.died, row("failed")]),
    sane(recovered, "all that its row allows", [QUEUED, a.started, a.raised, row("failed", max_attempts="1")]),
    sane(
        recovered,
        "its handler said that no other would help",
        [twice, a.started, a.told_to_fail("permanent"), a.raised, row("failed")],
    ),
    sane(recovered, "it raised, and its queue has it for done: vanished", [QUEUED, a.started, a.raised, row("done")]),
    wrong(recovered, "failed with an attempt left", [twice, a.started, a.raised, row("failed")], ("stranded", 1)),
    wrong(recovered, "failed, and nobody knows why", [QUEUED, a.started, a.raised, row("failed")], ("stranded", 1)),
    wrong(
        recovered,
        "it was to fail for good, and died before",
        [twice, a.started, a.told_to_fail("permanent"), a.died, row("failed")],
        ("stranded", 1),
    ),
    wrong(
        recovered,
        "its last attempt was no permanent failure",
        [
            *[enqueued(), a.started, a.told_to_fail("permanent"), a.raised],
            *[b.started, b.told_to_fail(), b.raised, row("failed", max_attempts="3")],
        ],
        ("stranded", 1),
    ),
    wrong(
        recovered,
        "all attempts are spent, and it waits on",
        [twice, a.started, a.raised, b.started, b.raised, row("queued")],
        ("stranded", 1),
    ),
    wrong(
        recovered, "it died, and its queue has it for done", [QUEUED, a.started, a.died, row("done")], ("stranded", 1)
    ),
]
