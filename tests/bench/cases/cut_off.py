"""One who can't be told that it has lost a job finds out by itself."""

from bench.checks.cut_off import no_stale_effect
from tests.bench.cases import sane, wrong
from tests.bench.histories import Run, reclaimed

a, b = Run(1, "A"), Run(2, "B")
LOST = [a.started, reclaimed("job", since=1), b.started]

CASES = [
    sane(no_stale_effect, "the owner's", [a.started, a.effect("mail"), a.finished]),
    sane(no_stale_effect, "made before the job was lost", [a.started, a.effect("mail"), *LOST[1:]]),
    sane(no_stale_effect, "made by the new owner", [*LOST, b.effect("mail")]),
    sane(no_stale_effect, "made again after a death", [a.started, a.died, b.started, b.effect("mail")]),
    wrong(no_stale_effect, "made after the job was lost", [*LOST, a.effect("mail")], ("stale-effect", 1, 3, 4)),
]
