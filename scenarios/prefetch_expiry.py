"""A job that was claimed ahead is held just like the one that runs, and its lease must be renewed, too.

If only the running job is renewed and it takes long, the leases of those behind it run out. They are handed to another
worker. The one that had claimed them knows nothing of it, and begins them all the same when their turn comes.
"""

from collections.abc import Collection

from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import no_overlap
from bench.events import starts
from bench.faults.outlast import Outlast
from bench.orders import FINISH
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Job, Worker


class RenewsOnlyRunning(Worker):
    """Everything as in the sound worker, but its heartbeat covers only the jobs that run, not those claimed ahead."""

    def renew(self, held: list[Job]) -> Collection[Job]:
        super().renew(self.running())
        return held


prefetch_expiry = Scenario(
    name="prefetch-expiry",
    claim="Jobs that were claimed ahead stay their worker's for as long as they wait for their turn.",
    row=19,
    origin="A2 P",
    fault="the job that runs outlasts the lease of the four that wait behind it",
    sham="it ends within its lease, and so do they",
    twins=[Twin(RenewsOnlyRunning, "double-execution")],
    checks=[no_overlap, recovered, nothing_lost],
    needs=("prefetch",),
)


@prefetch_expiry.script
def _(run: Run) -> None:
    first = run.enqueue("job-1", lasts=0.7)
    second = run.enqueue("job-2", orders=[FINISH])
    ahead = [second, *run.load(3, "ahead")]
    owner = run.worker("owner", prefetch=4)
    first.until_started(by=owner)
    run.observe("who holds the five jobs", first, *ahead)
    run.premise(all(job.is_held(by=owner) for job in ahead), "the worker has not claimed ahead")

    run.fault(Outlast(first))
    first.at(1.5)
    back = run.reclaim()
    run.observe("what a reclaim gives back", first, *ahead, seen=back)

    second.hold()  # whoever begins it from now on runs it until all are told to end
    other = run.worker("other")
    got = run.offer(second, to=other)
    run.observe("what another worker gets", second, seen=got)

    first.finish()
    # Its turn has come, whoever else may be running it; one that has lost it may pass it over.
    run.wait("job-2 begun by owner", lambda events: starts(events, second.name, owner.name), within=2)
    for job in ahead:
        job.finish()
    run.all_finished_within([first, *ahead], 10, bound="they were told to end")
    run.observe("the end", first, *ahead, columns=("id", "state", "attempt", "claim"))
