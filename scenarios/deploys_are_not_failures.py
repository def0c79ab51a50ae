"""A job that is interrupted by more deploys than it has attempts has not failed once, and completes in the end.

Each deploy is a rolling one: the old release is told to stop, and the next comes up. The old one has a short grace, and
gives back the job that it could not finish. The job has done nothing wrong, so this must not cost it an attempt.
"""

from typing import ClassVar, LiteralString

from bench.checks.attempts import deploys_are_no_failures
from bench.checks.ending import nothing_lost, recovered
from bench.checks.stopping import clean_exit
from bench.faults.evict import Evict
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Queue


class ReleaseIsFailure(Queue):
    """Everything as in the sound queue, but a job that is given back has spent an attempt, and fails with its last."""

    RELEASE: ClassVar[LiteralString] = Queue.RELEASE.replace(
        "state = 'queued', leased_by = NULL, leased_until = NULL, attempt = j.attempt - 1",
        "state = CASE WHEN j.attempt < j.max_attempts THEN 'queued' ELSE 'failed' END,"
        " leased_by = NULL, leased_until = NULL",
    )


deploys_are_not_failures = Scenario(
    name="deploys-are-not-failures",
    claim="Four deploys interrupt a job of three attempts, and it completes: an attempt given back is not spent.",
    row=18,
    origin="P",
    fault="four times the worker is told to stop in the middle of the job, and killed if it does not",
    sham="new releases come up, and none is told to stop",
    twins=[Twin(ReleaseIsFailure, "failed-by-deploys")],
    checks=[deploys_are_no_failures, clean_exit, recovered, nothing_lost],
    recovery=False,
    knobs={"deploys": 4, "grace": 0.1},
    needs=("grace", "max_attempts"),
)


@deploys_are_not_failures.script
def _(run: Run) -> None:
    columns = ("id", "state", "leased_by", "attempt", "max_attempts", "claim")
    release = run.worker("release-0", grace=run.knob("grace"))
    job = run.enqueue(max_attempts=3)
    job.until_started(by=release)
    run.observe("before the first deploy", job, columns=columns)

    more = run.terms.longer / run.lease
    for number in range(1, int(run.knob("deploys")) + 1):
        with run.fault(Evict(release, during=job, within=2)):
            release = run.worker(f"release-{number}", grace=run.knob("grace"))
        if not job.runs_within(2 + more, bound=""):  # no promise: a job that has failed can't be interrupted
            break
        run.observe(f"after deploy {number}", job, columns=columns)

    job.finish()
    run.until_over([job], within=1 + more)
    run.observe("the end", job, columns=(*columns, "last_error"))
