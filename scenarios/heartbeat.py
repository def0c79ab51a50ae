"""A job that outlasts its lease keeps its owner, because the owner renews the lease.

The rival's reclaim runs in every arm and at the same moment: what differs is the renewal, and nothing else.
"""

from collections.abc import Collection

from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import no_overlap
from bench.faults.outlast import Outlast
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Job, Worker


class NoRenewal(Worker):
    """Everything as in the sound worker, but no lease is ever renewed."""

    def renew(self, held: list[Job]) -> Collection[Job]:
        return held


heartbeat = Scenario(
    name="heartbeat",
    claim="While the owner renews its lease, a rival's reclaim finds nothing to take, however long the job.",
    row=2,
    origin="A1",
    fault="the job lasts for 3 leases",
    sham="the job lasts for half a lease",
    twins=[Twin(NoRenewal, "double-execution")],
    checks=[no_overlap, recovered, nothing_lost],
    article={"lease": 2.0},
)


@heartbeat.script
def _(run: Run) -> None:
    owner = run.worker("owner")
    job = run.enqueue(lasts=0.5)
    job.until_started(by=owner)
    run.fault(Outlast(job))
    rival = run.worker("rival")

    job.at(2)
    back = run.reclaim()
    run.observe(
        "what a rival's reclaim gives back at 2 L", job, columns=("id", "state", "leased_by", "attempt"), seen=back
    )
    run.offer(job, to=rival)

    job.at(3)
    job.finish()
    job.finished_within(10, bound="it was told to end")
    run.observe("the end", job, columns=("id", "state", "attempt"))
