"""A handler that computes for longer than the lease, and yields to nobody, does not cost its worker the job.

The heartbeat is a thread of its own. On the thread that runs the handler it would beat before and after, and not in
the middle, which is where it is needed.
"""

from collections.abc import Collection

from bench.checks.alive import kept_alive
from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import no_overlap
from bench.faults.spin import Spin
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Job, Worker


class HeartbeatBetweenJobs(Worker):
    """Everything as in the sound worker, but it renews only while no handler runs, as if on the handlers' thread."""

    def renew(self, held: list[Job]) -> Collection[Job]:
        return held if self.running() else super().renew(held)


busy_handler = Scenario(
    name="busy-handler",
    claim="Leases are renewed while a handler burns the CPU without a pause.",
    row=21,
    origin="P",
    fault="the handler burns CPU for two and a half leases",
    sham="the handler waits for half a lease, and ends",
    twins=[
        Twin(
            HeartbeatBetweenJobs,
            "double-execution",
            also={"reclaimed-alive": "it runs twice because a reclaim took it from a worker that was still at it"},
        )
    ],
    checks=[no_overlap, kept_alive, recovered, nothing_lost],
    knobs={"interval": 0.5},
)


@busy_handler.script
def _(run: Run) -> None:
    worker = run.worker("worker")
    job = run.enqueue(lasts=0.5)  # told to end then, a handler that computes hears it later
    job.until_started(by=worker)
    more = run.terms.longer / run.lease  # what would be lost has to be taken meanwhile, however long that takes
    run.fault(Spin(worker, during=job, seconds=(2.5 + more) * run.lease))
    run.worker("rival", reclaim_every=run.knob("interval"))

    job.at(2 + more)
    back = run.reclaim()
    run.observe("what a reclaim gives back, half a lease before the handler is done", job, seen=back)
    job.finished_within(10, bound="the handler computes for half a lease more at most")
    run.observe("the end", job, columns=("id", "state", "attempt"))
