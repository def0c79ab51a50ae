"""A worker whose clock is wrong, behind or ahead, changes nothing: all times of a lease are the database's.

The clock is really wrong: the worker runs under libfaketime, and its job tells what it reads there. By a clock that is
behind, a lease would be over before it began. By one that is ahead, it would hold a dead worker's job for too long.
"""

import time
from collections.abc import Collection

from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import no_overlap
from bench.faults.kill import Kill
from bench.faults.skew import Skew
from bench.scenario import Scenario, Twin
from bench.script import MARGIN, POLL, Run
from queue_core import Job, Queue


class LeaseByTheWorkersClock(Queue):
    """Everything as in the sound queue, but a renewed lease ends by the worker's clock instead of the database's."""

    def heartbeat(self, worker: str, held: Collection[Job], lease: float) -> set[Job]:
        row = self.connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
        assert row is not None
        return super().heartbeat(worker, held, time.time() + lease - row[0])


skewed_clock = Scenario(
    name="skewed-clock",
    claim="A worker's wrong clock costs it no job while it lives, and holds none up once it is dead.",
    row=22,
    origin="P",
    fault="the worker's clock is 1.5 leases behind, then as much ahead; then the worker is killed",
    sham="its clock is right, and it lives",
    twins=[Twin(LeaseByTheWorkersClock, "double-execution")],
    checks=[no_overlap, recovered, nothing_lost],
    knobs={"skew": 1.5, "interval": 0.5},
    clock=True,  # the bench can set a worker's clock
)

COLUMNS = ("id", "state", "leased_by", "lease_left", "attempt")


@skewed_clock.script
def _(run: Run) -> None:
    skew, interval, clock = run.knob("skew"), run.knob("interval"), run.clock("worker")
    worker = run.worker("worker", clock=clock)
    job = run.enqueue()
    job.until_started(by=worker)
    rival = run.worker("rival")

    with run.fault(Skew(worker, job, clock, -skew * run.lease)):
        run.let_pass(1)  # time for three renewals
        back = run.reclaim()
        run.observe("the first skew, behind: what a reclaim gives back", job, columns=COLUMNS, seen=back)
        run.offer(job, to=rival)
    with run.fault(Skew(worker, job, clock, skew * run.lease)):
        run.let_pass(1)
        run.observe("the second, ahead: how much of the lease is left", job, columns=COLUMNS)
        run.worker("rescuer", reclaim_every=interval)
        run.fault(Kill(worker, during=job))

    job.runs_within(1 + interval + 2 * POLL + MARGIN, bound="lease + reclaim interval, two polls and a margin")
    job.finish()
    job.finished_within(10, bound="it was told to end")
    run.observe("the end", job, columns=("id", "state", "attempt"))
