"""A worker that is cut off from its queue, and comes back, writes over nobody, and goes back to work.

Meanwhile its job was given to another. What it sends when the network heals, it sends in good faith: the queue must
refuse it by who owns the job now, for the sender can't know. And nobody restarts it: it takes the next job by itself.
"""

from bench.checks.ending import nothing_lost, recovered
from bench.checks.fencing import late_finish_refused
from bench.events import outcome
from bench.faults.black_hole import BlackHole
from bench.scenario import Scenario, Twin
from bench.script import Run
from scenarios.late_finish import CompleteByAnyone

partition = Scenario(
    name="partition",
    claim="A worker that was cut off until its job had another owner is refused its finish, and takes the next job.",
    row=54,
    origin="P",
    fault="all that the worker and its queue send each other is swallowed, until the job has another owner",
    sham="the relay between them passes everything on",
    twins=[Twin(CompleteByAnyone, "stale-finish-accepted")],
    checks=[late_finish_refused, recovered, nothing_lost],
    needs=("server",),
)


@partition.script
def _(run: Run) -> None:
    relay = run.relay()
    cut_off = run.worker("cut-off", via=relay)
    job = run.enqueue()
    job.until_started(by=cut_off)
    owner = run.worker("owner")

    with run.fault(BlackHole(relay, cut_off, during=job)):
        run.until_lease_over(job, within=2)
        back = run.reclaim()
        run.observe("what a rival's reclaim gives back", job, seen=back)
        run.offer(job, to=owner)
        job.finish(by=cut_off)
        job.until_ended(by=cut_off)
        run.observe("the one that is cut off has ended it, and nobody hears of that", job)

    run.poll(lambda: bool(relay.ports()), within=10)
    # Where only the connection that is gone may finish a job, there is nothing to be told.
    run.wait("the outcome at cut-off", lambda events: outcome(events, job.name, cut_off.name), within=2)
    run.observe("the network has healed", job)
    job.finish()
    job.finished_within(10, bound="it was told to end")

    run.dismiss(owner)
    after = run.enqueue("after", lasts=0)
    after.finished_within(20, bound="the worker that was cut off is connected again")
    run.observe("the end", job, after)
