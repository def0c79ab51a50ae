"""A job is left to a worker that is alive and at it."""

from bench.checks.alive import kept_alive
from tests.bench.cases import sane, wrong
from tests.bench.histories import Run, exited, reclaimed

a, b = Run(1, "A"), Run(2, "B")

CASES = [
    sane(kept_alive, "no reclaim", [a.started, a.finished]),
    sane(kept_alive, "a reclaim that found nothing", [a.started, reclaimed(since=1), a.finished]),
    sane(kept_alive, "of a worker that had died", [a.started, a.died, reclaimed("job", since=2)]),
    sane(
        kept_alive,
        "of one reaped before its silence is seen",
        [a.started, exited("A"), reclaimed("job", since=2), a.died],
    ),
    sane(kept_alive, "of another job", [a.started, reclaimed("other", since=1), a.finished]),
    wrong(kept_alive, "of a living one", [a.started, reclaimed("job", since=1), a.finished], ("reclaimed-alive", 1, 2)),
    wrong(
        kept_alive,
        "of the second one",
        [a.started, a.died, reclaimed("job", since=2), b.started, reclaimed("job", since=4)],
        ("reclaimed-alive", 4, 5),
    ),
]
