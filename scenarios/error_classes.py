"""Three errors, three answers: a transient one is tried again, a permanent one is not, a rate limit is waited out.

One policy for all of them is wrong for two. To try again what can't succeed spends attempts and hides the failure; to
give up what a minute would cure loses work; and to come back sooner than one was told to keeps the limit closed.
"""

from bench.checks.ending import nothing_lost, recovered
from bench.checks.failures import permanent_ends, waits_as_told
from bench.events import running, starts
from bench.faults.errors import Errors
from bench.orders import fail
from bench.scenario import Scenario, Twin
from bench.script import MARGIN, POLL, Run
from queue_core import Job, Permanent, RateLimited, Worker


class TriesAgainAlways(Worker):
    """Everything as in the sound worker, but a permanent error is tried again like any other."""

    def retry_in(self, job: Job, error: BaseException) -> float | None:
        return error.retry_after if isinstance(error, RateLimited) else self.backoff.delay(job.attempt)


class KnowsNoLimit(Worker):
    """Everything as in the sound worker, but after a rate limit it comes back as soon as after any other error."""

    def retry_in(self, job: Job, error: BaseException) -> float | None:
        return None if isinstance(error, Permanent) else self.backoff.delay(job.attempt)


class TriesOnce(Worker):
    """Everything as in the sound worker, but no error is tried again."""

    def retry_in(self, job: Job, error: BaseException) -> float | None:
        return None


error_classes = Scenario(
    name="error-classes",
    claim="A transient error is tried again within its backoff, a permanent one never, a rate limit when it is over.",
    row=32,
    origin="A2",
    fault="three handlers raise, each an error of another kind",
    sham="no handler raises",
    twins=[
        Twin(TriesAgainAlways, "retried-permanent"),
        Twin(KnowsNoLimit, "retried-early"),
        Twin(TriesOnce, "stranded"),
    ],
    checks=[permanent_ends, waits_as_told, recovered, nothing_lost],
    recovery=False,
    knobs={"backoff": 0.2, "limit": 1.5},
    needs=("table", "backoff"),
)

BECAME = """
    SELECT payload->>'job' AS job, state, attempt, last_error,
           CASE state WHEN 'queued' THEN round(extract(epoch FROM run_at - updated_at), 2) END AS due_in
    FROM jobs ORDER BY id
"""
SLACK = 2 * POLL + MARGIN  # two looks at the queue; the margin is for the machine


@error_classes.script
def _(run: Run) -> None:
    backoff, limit = run.knob("backoff"), run.knob("limit")
    worker = run.worker("worker", slots=3, backoff=(backoff, backoff))
    transient, permanent, limited = jobs = [run.enqueue(name) for name in ("transient", "permanent", "rate-limited")]
    for job in jobs:
        job.until_started(by=worker)

    errors = {
        transient: fail("connection reset"),
        permanent: fail("no such customer", "permanent"),
        limited: fail("429 Too Many Requests", "rate-limited", retry_in=limit * run.lease),
    }
    run.fault(Errors(errors))
    run.until_state([permanent], "failed", within=0.3)  # the queue is told a moment after they raised
    run.observe("what has become of each", table=run.query(BECAME))

    transient.runs_within(backoff + SLACK, bound="the longest backoff, two polls and a margin")
    limited.runs_within(limit + SLACK, bound="the time that it was told, two polls and a margin")
    run.observe("what has become of each, after backoff and limit", table=run.query(BECAME))
    begun_at = [event["t"] for event in starts(run.history.events(), limited.name)]
    if len(begun_at) > 1:
        run.figure("rate-limited came back after", f"{begun_at[-1] - begun_at[0]:.2f} s")

    for job in jobs:
        job.finish()
    run.all_finished_within([transient, limited], 4, bound="they were told to end")
    run.need(f"{permanent.name} ended", lambda events: not running(events, permanent.name))
    run.until_over([permanent], within=5)
    run.observe("the end", *jobs, columns=("id", "state", "attempt", "last_error"))
