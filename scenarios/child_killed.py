"""The process that runs a job is killed, and its worker lives on: the job is back in time, and runs once at a time.

That is what the kernel does when memory runs out: it takes the biggest process, which is the one that works. The parent
is well, keeps its connection and may go on to renew the lease, so nobody looks dead; it has to see the death itself.
A worker that is one process dies of it as a whole.
"""

from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import no_overlap
from bench.events import starts
from bench.faults.kill import KillChild
from bench.job import Job
from bench.scenario import Scenario, Twin
from bench.script import MARGIN, POLL, Run
from scenarios.worker_death import ReclaimFindsNothing

SLACK = 2 * POLL + MARGIN  # one poll to reclaim and one to claim; the margin is for the machine
BACKOFF = 0.1

child_killed = Scenario(
    name="child-killed",
    claim="The job of a process that is killed is back in time, though the worker that the process was of may live on.",
    row=51,
    origin="P",
    fault="kill -9 of the process that runs the job, and of nothing else",
    sham="no process is killed",
    twins=[Twin(ReclaimFindsNothing, "stranded")],
    checks=[recovered, no_overlap, nothing_lost],
    knobs={"interval": 0.5},
)


def one_job(run: Run) -> Job:
    """A job with attempts to spare, where it can have them: to some queues the death of a child is a failed attempt."""
    return run.enqueue(max_attempts=3) if run.offers("max_attempts") else run.enqueue()


def back_within(run: Run) -> float:
    """The leases in which a job is back whose process was killed, by whatever way."""
    retry = run.retried_within(BACKOFF) if run.offers("max_attempts") else 0.0
    return 1 + run.knob("interval") + retry + SLACK


BOUND = "lease + reclaim interval, or a retry's wait besides, two polls and a margin"


@child_killed.script
def _(run: Run) -> None:
    interval = run.knob("interval")
    worker = run.worker("worker", reclaim_every=interval, backoff=(BACKOFF, BACKOFF))
    job = one_job(run)
    job.until_started(by=worker)
    run.worker("idle", reclaim_every=interval, backoff=(BACKOFF, BACKOFF))

    job.at(0.3)
    run.fault(KillChild(worker, during=job))
    killed = run.history.now()
    run.observe("just afterwards", job, columns=("id", "state", "leased_by", "lease_left", "attempt"))
    job.runs_within(back_within(run), bound=BOUND)
    again = starts(run.history.events(), job.name)[1:]
    if again:
        run.figure("back after", f"{again[0]['t'] - killed:.2f} s, at {again[0]['worker']}")

    job.finish()
    job.finished_within(5, bound="it was told to end")
    run.observe("the end", job, columns=("id", "state", "attempt"))
