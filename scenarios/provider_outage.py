"""A provider that is down for a while delays the calls to it, and nothing else.

What is counted is what the queue has decided, which does not depend on the machine's speed: how many of the failed jobs
are due again at once, and how the delays of the others are spread.
"""

from bench.checks.ending import nothing_lost, recovered
from bench.checks.retries import retries_put_off, retries_spread
from bench.faults.outage import Outage, Provider
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Job, Permanent, Worker


class NoBackoff(Worker):
    """Everything as in the sound worker, but a failed job is due again at once."""

    def retry_in(self, job: Job, error: BaseException) -> float | None:
        return None if isinstance(error, Permanent) else 0.0


class NoJitter(Worker):
    """Everything as in the sound worker, but what failed together is due together: the backoff has no jitter."""

    def retry_in(self, job: Job, error: BaseException) -> float | None:
        return None if isinstance(error, Permanent) else self.backoff.bound(job.attempt)


provider_outage = Scenario(
    name="provider-outage",
    claim="While a provider is down calls to it back off and spread, other work goes on, and at the end all are done.",
    row=31,
    origin="A2 P",
    fault="the provider answers every call with 503, and then heals",
    sham="the provider is healthy",
    twins=[Twin(NoBackoff, "retry-storm"), Twin(NoJitter, "thundering-herd")],
    checks=[retries_put_off, retries_spread, recovered, nothing_lost],
    knobs={"calls": 300, "base": 0.5, "cap": 4, "down": 2},
    full={"calls": 5000, "base": 8, "cap": 32, "down": 10},
    needs=("table", "backoff", "max_attempts"),
)

AT_ONCE = """
    SELECT count(*) FILTER (WHERE extract(epoch FROM run_at - updated_at) < {0}) AS at_once, count(*) AS failed
    FROM jobs WHERE state = 'queued' AND attempt > 0
"""
DELAYS = """
    WITH put_off AS (
        SELECT attempt, extract(epoch FROM run_at - updated_at) AS delay FROM jobs
        WHERE state = 'queued' AND attempt > 0 AND run_at > updated_at
    ), placed AS (
        SELECT least(9, floor(10 * delay / max(delay) OVER (PARTITION BY attempt)))::int AS tenth FROM put_off
    )
    SELECT tenth, count(*) FROM placed GROUP BY tenth ORDER BY tenth
"""


@provider_outage.script
def _(run: Run) -> None:
    calls, base, cap, down = int(run.knob("calls")), run.knob("base"), run.knob("cap"), run.knob("down")
    worker = run.worker("worker", slots=8, backoff=(base, cap))
    at_once = AT_ONCE.format(base * run.lease / 10)
    provider = Provider(run)
    with run.fault(Outage(provider)):
        webhooks = provider.load(calls, "webhook", max_attempts=1000)
        run.until_started(webhooks)
        other = run.enqueue("other", lasts=0)
        for _ in range(4):
            run.let_pass(down / 4)
            run.sample("at-once", run.query(at_once))
            run.sample("delays", run.query(DELAYS))
        other.until_started(by=worker)  # other work goes on
        run.observe("how many failed calls are due again at once", other, table=run.query(at_once))
        run.observe("how the delays of failed calls are spread, in tenths of the longest", table=run.query(DELAYS))
        cpu = worker.cpu_seconds()

    run.all_finished_within(webhooks, cap + calls / 10, bound="the longest delay, and ten calls a lease at the least")
    tries = 1 + provider.refusals() / calls
    run.figure("calls", f"{calls}, tried {tries:.1f} times each; the outage cost the worker {cpu:.1f} s of CPU")
