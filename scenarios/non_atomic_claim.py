"""What a claim in two steps does to the world: a handler without a guard of its own makes its effect twice.

The race is that of claim-race, seen from outside: what counts is how often the effect was made.
"""

from bench.checks.ending import nothing_lost, recovered
from bench.checks.world import effect_once
from bench.faults.crowd import Crowd
from bench.orders import effect
from bench.scenario import Scenario, Twin
from bench.script import Run
from scenarios.claim_race import SelectThenUpdate

non_atomic_claim = Scenario(
    name="non-atomic-claim",
    claim="With an atomic claim a handler that has no guard of its own makes its effect once.",
    row=5,
    origin="A1",
    fault="eight claimers at once",
    sham="one claimer",
    twins=[Twin(SelectThenUpdate, "effect-twice")],
    checks=[effect_once, recovered, nothing_lost],
    needs=("hold",),
    recovery=False,
)


@non_atomic_claim.script
def _(run: Run) -> None:
    job = run.enqueue(orders=[effect("mail to customer 1842")])
    with run.holding(job) as barrier:
        first = run.worker("claimer-1")
        crowd = Crowd(run, "claimer", 7, first=2)
        run.fault(crowd)
        run.until_gathered(barrier, [first, *crowd.workers], within=0.5)
    job.until_waiters_began(within=2)
    run.offer(job, to=first)  # the first claimer has had its chance, too
    run.observe("who has the job", job)

    job.finish()
    job.finished_within(10, bound="it was told to end")
    run.observe("the end", job)
