"""SIGTERM takes a worker off new jobs, and leaves the current one served: its heartbeat goes on until the job ends.

A drain that stops the heartbeat turns every deploy into a double execution, the very thing that it is there to prevent.
Whether the lease has run out is read from the row, not inferred from what the reclaim then does.
"""

from collections.abc import Collection
from typing import ClassVar

from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import no_overlap
from bench.checks.stopping import clean_exit, served_to_the_end
from bench.faults.terminate import Terminate
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Job, Worker


class NoRenewalOnceTold(Worker):
    """Everything as in the sound worker, but it renews no lease once it was told to stop."""

    def renew(self, held: list[Job]) -> Collection[Job]:
        return held if self.draining else super().renew(held)


class LeavesAtOnce(Worker):
    """Everything as in the sound worker, but when told to stop it does not wait for the job that it runs."""

    def drained(self) -> bool:
        return True


class ExitsAsFailed(Worker):
    """Everything as in the sound worker, but it ends a drain with 1, which a supervisor takes for a crash."""

    drained_status: ClassVar[int] = 1


sigterm_drain = Scenario(
    name="sigterm-drain",
    claim="SIGTERM takes a worker off new jobs and leaves the current one served, to its one end and a clean exit.",
    row=3,
    origin="A1 A2 P",
    fault="SIGTERM in the middle of a job that lasts for 3 leases",
    sham="no signal",
    twins=[
        Twin(NoRenewalOnceTold, "double-execution"),
        Twin(LeavesAtOnce, "abandoned"),
        Twin(ExitsAsFailed, "unclean-exit"),
    ],
    checks=[no_overlap, served_to_the_end, clean_exit, recovered, nothing_lost],
    recovery=False,
    knobs={"job": 3.0},
    article={"lease": 3.0, "job": 2.0},
)


@sigterm_drain.script
def _(run: Run) -> None:
    deploy = run.worker("deploy")
    job = run.enqueue()
    job.until_started(by=deploy)
    rescuer = run.worker("rescuer")

    job.at(1 / 3)
    run.fault(Terminate(deploy, during=job))

    run.let_pass(4 / 3)
    run.observe("has the lease run out?", job, columns=("id", "state", "leased_by", "lease_expired", "attempt"))
    back = run.reclaim()
    run.observe("what a rival's reclaim gives back", job, columns=("id", "state", "leased_by", "attempt"), seen=back)
    run.offer(job, to=rescuer)

    job.at(run.knob("job"))
    job.finish()
    job.finished_within(10, bound="it was told to end")
    run.exited_within(deploy, 2)
    run.observe("the end", job, columns=("id", "state", "attempt"))
