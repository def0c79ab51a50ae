"""A leader that stands still is not dead, and must not keep the others from bringing back what a dead worker has left.

Where one worker reclaims for all, it leads by something that it holds. If that is a lock of its session, it holds it as
long as its connection is open: a process that is frozen, swapped out or stopped in a debugger never lets go, and
nobody is elected in its place. So leadership, too, needs a term.

The one that leads is the first, wherever one leads; it has a job of its own, so that it wants no other.
"""

from bench.checks.ending import nothing_lost, recovered
from bench.events import first_start, starts
from bench.faults.kill import Kill
from bench.faults.pause import Pause
from bench.job import Job
from bench.scenario import Scenario, Twin
from bench.script import MARGIN, POLL, Run
from bench.subject import Worker
from bench.waits import HEARD
from queue_core import Queue


class LeadsWhileItLives(Queue):
    """Everything as in the sound queue, but only one worker reclaims: the one whose session holds a certain lock."""

    def reclaim(self, limit: int = 1000) -> list[int]:
        leads = self.connection.execute("SELECT pg_try_advisory_lock(hashtext('who reclaims'))").fetchone()
        return super().reclaim(limit) if leads == (True,) else []


SLACK = 2 * POLL + MARGIN  # one poll to reclaim and one to claim; the margin is for the machine

frozen_leader = Scenario(
    name="frozen-leader",
    claim="A killed worker's job is back in time, though the worker that came first, and may lead, is frozen.",
    row=53,
    origin="P",
    fault="the first of three workers is paused, and the second is killed in the middle of a job",
    sham="no worker is paused, and none is killed",
    twins=[Twin(LeadsWhileItLives, "stranded")],
    checks=[recovered, nothing_lost],
    knobs={"interval": 0.5},
)


def begun_by(run: Run, worker: Worker) -> list[Job]:
    """Put jobs in until this worker has begun one, which comes first in the answer.

    There are others only where somebody else claims ahead and can't begin them.
    """
    jobs: list[Job] = []
    start = None
    while start is None and len(jobs) < 8:
        jobs.append(run.enqueue(f"job-{len(jobs) + 1}"))
        within = max(1.0, HEARD / run.lease)
        run.wait(f"a job begun by {worker.name}", lambda events: first_start(events, worker.name), within)
        start = first_start(run.history.events(), worker.name)
    run.premise(start is not None, f"{worker.name} begins none of {len(jobs)} jobs")
    assert start is not None
    return sorted(jobs, key=lambda job: job.name != start["job"])


@frozen_leader.script
def _(run: Run) -> None:
    interval = run.knob("interval")
    first = run.worker("first", reclaim_every=interval)
    own = run.enqueue("own")
    own.until_started(by=first)
    run.let_pass(run.terms.own_reclaim / run.lease)  # by then it leads, if anybody does

    second = run.worker("second", reclaim_every=interval)
    job, *others = begun_by(run, second)
    for other in others:
        other.finish()
    run.worker("third", reclaim_every=interval)
    own.end_if_run_again()  # the frozen one's own job is taken back as well, and must not be in the way

    with run.fault(Pause(first, during=own)):
        run.fault(Kill(second, during=job))
        killed = run.history.now()
        run.observe("just afterwards", own, job, columns=("id", "state", "leased_by", "lease_left", "attempt"))
        # Two jobs are left behind, and there are queues that take back one at a time.
        within = 1 + interval + run.terms.own_reclaim / run.lease + SLACK
        job.runs_within(within, bound="lease + two reclaim intervals, two polls and a margin")
        run.observe("after that time", own, job, columns=("id", "state", "leased_by", "lease_left", "attempt"))
        again = starts(run.history.events(), job.name)[1:]
        if again:
            run.figure("back after", f"{again[0]['t'] - killed:.2f} s, with the first worker frozen")

    own.finish()
    job.finish()
    run.all_finished_within([own, job, *others], 10, bound="they were told to end, and all go on")
    run.observe("the end", own, job, *others, columns=("id", "state", "attempt"))
