"""An attempt counts when it should, and only then."""

from bench.checks.attempts import attempts_bounded, deploys_are_no_failures, failure_explained
from bench.history import Event
from tests.bench.cases import sane, wrong
from tests.bench.histories import KILLED, TERM, Run, enqueued, exited, injected, receipt, row

a, b, c, d = Run(1, "A"), Run(2, "B"), Run(3, "C"), Run(4, "D")
TWO: Event = {**enqueued(), "max_attempts": 2}
DIED = [a.started, a.died, b.started, b.died]
DEPLOYED = [a.started, TERM, receipt(), a.died, exited("A", 75, pid=1)]

CASES = [
    sane(attempts_bounded, "as often as it has attempts", [TWO, *DIED]),
    sane(attempts_bounded, "nobody said how many it has", [enqueued(), *DIED, c.started, d.started]),
    sane(attempts_bounded, "another job", [TWO, *DIED, Run(3, "C", "other").started]),
    sane(attempts_bounded, "one was cut short by a deploy", [TWO, *DEPLOYED, b.started, b.died, c.started]),
    wrong(attempts_bounded, "once more", [TWO, *DIED, c.started], ("endless", 1, 6)),
    wrong(attempts_bounded, "again and again", [TWO, *DIED, c.started, c.died, d.started], ("endless", 1, 6)),
    wrong(
        attempts_bounded,
        "a deploy excuses only what it cut short",
        [TWO, *DEPLOYED, b.started, b.died, c.started, c.died, d.started],
        ("endless", 1, 11),
    ),
    sane(deploys_are_no_failures, "done after a deploy", [*DEPLOYED, b.started, b.finished, row("done")]),
    sane(deploys_are_no_failures, "not yet", [*DEPLOYED, row("queued")]),
    sane(deploys_are_no_failures, "an attempt raised", [*DEPLOYED, b.started, b.raised, row("failed")]),
    sane(deploys_are_no_failures, "a worker died", [*DEPLOYED, b.started, b.died, row("failed")]),
    sane(
        deploys_are_no_failures,
        "a worker was killed",
        [a.started, injected(), receipt(), a.died, exited("A", KILLED), row("failed")],
    ),
    sane(
        deploys_are_no_failures,
        "it raised, and then its worker was told to stop",
        [a.started, a.raised, TERM, receipt(), exited("A"), row("failed")],
    ),
    wrong(deploys_are_no_failures, "failed by a deploy", [*DEPLOYED, row("failed")], ("failed-by-deploys", 1, 6)),
    wrong(
        deploys_are_no_failures,
        "failed by two",
        [*DEPLOYED, b.started, injected("SIGTERM", "B", 2), receipt(2), b.died, exited("B", 75, pid=2), row("failed")],
        ("failed-by-deploys", 1, 6, 11),
    ),
    sane(deploys_are_no_failures, "failed and never begun, which is lost", [*DEPLOYED, row("failed", job="other")]),
    sane(failure_explained, "done", [*DIED, row("done", last_error=None)]),
    sane(failure_explained, "it says why", [*DIED, row("failed", last_error="the lease expired")]),
    sane(failure_explained, "it has no such column", [*DIED, row("failed")]),
    sane(
        failure_explained,
        "what a handler raised is `failure_kept`'s",
        [a.started, a.raised, row("failed", last_error=None)],
    ),
    wrong(
        failure_explained, "it does not say why", [*DIED, row("failed", last_error=None)], ("unexplained-failure", 5)
    ),
    wrong(failure_explained, "nobody began it", [row("failed", last_error="")], ("unexplained-failure", 1)),
]
