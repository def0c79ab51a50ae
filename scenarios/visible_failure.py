"""A job that can't succeed ends where it can be seen: `failed`, with its kind, its payload, its attempts and its error.

If its exception is swallowed, every metric looks fine: the job is done, and the customer has no letter.
"""

import contextlib

from bench.checks.ending import attempts_counted, recovered
from bench.checks.failures import KEPT, failure_kept
from bench.events import running
from bench.faults.errors import Errors
from bench.orders import fail
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Context, Job, Worker


class SwallowsErrors(Worker):
    """Everything as in the sound worker, but it swallows what a handler raises."""

    def execute(self, job: Job, context: Context) -> BaseException | None:
        with contextlib.suppress(Exception):
            self.handlers[job.kind](self.upgrade(job), context)
        return None


visible_failure = Scenario(
    name="visible-failure",
    claim="A job that raises in every attempt ends as `failed` after the last, and its row says what failed and why.",
    row=33,
    origin="A2",
    fault="the handler raises in every attempt",
    sham="no error",
    twins=[Twin(SwallowsErrors, "vanished")],
    checks=[failure_kept, attempts_counted, recovered],
    needs=("max_attempts",),
    recovery=False,
    retries=True,
)

BACKOFF = 0.1


@visible_failure.script
def _(run: Run) -> None:
    worker = run.worker("worker", backoff=(BACKOFF, BACKOFF))
    job = run.enqueue("letter", max_attempts=2)
    job.until_started(by=worker)

    run.fault(Errors({job: fail("no such address")}, always=True))
    job.finish()  # an attempt that was told to raise does so before it hears this
    run.until_over([job], within=6 + run.retried_within(BACKOFF) + run.terms.longer / run.lease)
    run.need("its last attempt ended", lambda events: not running(events, job.name))
    run.observe("the end", job, columns=("id", "state", *KEPT))
