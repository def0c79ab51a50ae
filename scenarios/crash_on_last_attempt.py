"""A worker dies in the last attempt of a job: a reclaim ends the job as failed, where people look, and says why.

No attempt is left for which to put the job back, and nobody is left to say that it has failed. If a reclaim does no
more than put jobs back, this one stays `running` for ever, under the name of a dead worker.
"""

from typing import ClassVar, LiteralString

from bench.checks.attempts import attempts_bounded, failure_explained
from bench.checks.ending import nothing_lost, recovered
from bench.faults.kill import Kill
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Queue


class ReclaimPassesOverSpent(Queue):
    """Everything as in the sound queue, but a reclaim takes back only what may be tried again."""

    RECLAIM: ClassVar[LiteralString] = Queue.RECLAIM.replace(
        "WHERE state = 'running'", "WHERE attempt < max_attempts AND state = 'running'"
    )


class ReclaimSaysNothing(Queue):
    """Everything as in the sound queue, but a reclaim does not note what happened to the job."""

    RECLAIM: ClassVar[LiteralString] = Queue.RECLAIM.replace(
        "last_error = format('the lease of worker %%s expired in attempt %%s', j.leased_by, j.attempt),\n            ",
        "",
    )


crash_on_last_attempt = Scenario(
    name="crash-on-last-attempt",
    claim="A job whose worker dies in its last attempt ends as `failed`, with a reason, and does not stay `running`.",
    row=16,
    origin="P",
    fault="kill -9 of the owner in the middle of the job's only attempt",
    sham="the owner is not killed",
    twins=[Twin(ReclaimPassesOverSpent, "stranded"), Twin(ReclaimSaysNothing, "unexplained-failure")],
    checks=[recovered, failure_explained, attempts_bounded, nothing_lost],
    needs=("max_attempts",),
)

COLUMNS = ("id", "state", "leased_by", "lease_alive", "attempt", "max_attempts")


@crash_on_last_attempt.script
def _(run: Run) -> None:
    dying = run.worker("dying")
    job = run.enqueue(max_attempts=1)
    job.until_started(by=dying)

    job.at(0.3)
    run.fault(Kill(dying, during=job))
    run.until_lease_over(job, within=1.5)
    run.observe("before any reclaim", job, columns=COLUMNS)

    run.worker("rescuer")  # where nobody can ask for a reclaim, its workers do it
    back = run.reclaim()
    run.observe("after a reclaim: what it put back into the queue", job, columns=COLUMNS, seen=back)

    job.finish()  # for the sham, in which its owner lives
    run.until_over([job], within=1)
    run.observe("the end", job, columns=("id", "state", "attempt", "last_error"))
