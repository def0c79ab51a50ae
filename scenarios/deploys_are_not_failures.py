"""A job that is interrupted by more deploys than it has attempts has not failed once, and completes in the end.

Each deploy is a rolling one: the next release comes up while the last is told to stop, and gives back what it can't
finish in its short grace. That is nothing that the job has done, so it must not count against it.
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
    """Everything as in the sound queue, but to give a job back costs an attempt, and the last one ends it."""

    RELEASE: ClassVar[LiteralString] = Queue.RELEASE.replace(
        "state = 'queued', leased_by = NULL, leased_until = NULL, attempt = j.attempt - 1",
        "state = CASE WHEN j.attempt < j.max_attempts THEN 'queued' ELSE 'failed' END,"
        " leased_by = NULL, leased_until = NULL",
    )


deploys_are_not_failures = Scenario(
    name="deploys-are-not-failures",
    claim="Four deploys interrupt a job of three attempts, and it completes: what was given back was not tried.",
    row=18,
    origin="P",
    fault="four times a deploy tells the worker to stop in the middle of the job",
    sham="new releases come up, and none is told to stop",
    twins=[Twin(ReleaseIsFailure, "failed-by-deploys")],
    checks=[deploys_are_no_failures, clean_exit, recovered, nothing_lost],
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

    for number in range(1, int(run.knob("deploys")) + 1):
        with run.fault(Evict(release, during=job, within=2)):
            release = run.worker(f"release-{number}", grace=run.knob("grace"))
        if not job.runs_within(2, bound=""):  # no promise, for it may be over: then no deploy can interrupt it
            break
        run.observe(f"after deploy {number}", job, columns=columns)

    job.finish()
    run.until_over([job], within=1)
    run.observe("the end", job, columns=(*columns, "last_error"))
