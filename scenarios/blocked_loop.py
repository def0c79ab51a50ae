"""A handler that blocks for longer than the lease, and lets nothing else run, does not cost its worker the job.

In a worker that is one event loop, a call that does not await stops the heartbeat as well: the loop that runs the
handler is the loop that would beat. Nothing burns, nothing logs, and the job is somebody else's when the call returns.
"""

from bench.checks.alive import kept_alive
from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import no_overlap
from bench.faults.block import Block
from bench.scenario import Scenario, Twin
from bench.script import Run
from scenarios.busy_handler import HeartbeatBetweenJobs

blocked_loop = Scenario(
    name="blocked-loop",
    claim="Leases are renewed while a handler blocks its thread, or the event loop that it shares with its worker.",
    row=49,
    origin="P",
    fault="the handler blocks for two and a half leases",
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


@blocked_loop.script
def _(run: Run) -> None:
    worker = run.worker("worker")
    job = run.enqueue(lasts=0.5)  # told to end then, a handler that blocks hears it later
    job.until_started(by=worker)
    more = run.terms.longer / run.lease  # what would be lost has to be taken meanwhile, however long that takes
    run.fault(Block(worker, during=job, seconds=(2.5 + more) * run.lease))
    run.worker("rival", reclaim_every=run.knob("interval"))

    job.at(2 + more)
    back = run.reclaim()
    columns = ("id", "state", "leased_by", "attempt")
    run.observe("what a reclaim gives back, half a lease before the handler is done", job, columns=columns, seen=back)
    job.finished_within(10, bound="the handler blocks for half a lease more at most")
    run.observe("the end", job, columns=("id", "state", "attempt"))
