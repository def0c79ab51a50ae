"""Handlers may use up every connection that they share; the heartbeat has one of its own, and never waits for theirs.

A heartbeat that borrows from the handlers' pool looks right until the day on which every handler waits for something
slow. Then the leases of healthy workers run out, all at once.
"""

from collections.abc import Collection

from bench.checks.alive import kept_alive
from bench.checks.ending import nothing_lost, recovered
from bench.faults.borrow import Borrow
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Job, Worker


class HeartbeatFromPool(Worker):
    """Everything as in the sound worker, but its heartbeat borrows a connection from the handlers' pool."""

    def renew(self, held: list[Job]) -> Collection[Job]:
        with self.pool.connection() as connection:
            return self.queue_class(connection).heartbeat(self.name, held, self.lease)


renewal_behind_pool = Scenario(
    name="renewal-behind-pool",
    claim="Leases are renewed while the handlers hold every connection of their pool.",
    row=20,
    origin="P",
    fault="two handlers hold the two connections of their pool for two leases",
    sham="no handler takes a connection",
    twins=[Twin(HeartbeatFromPool, "reclaimed-alive")],
    checks=[kept_alive, recovered, nothing_lost],
    needs=("connection",),
)


@renewal_behind_pool.script
def _(run: Run) -> None:
    worker = run.worker("worker", slots=2)
    jobs = [run.enqueue("one"), run.enqueue("two")]
    run.until_started(jobs)
    run.fault(Borrow(run, worker, jobs))

    run.let_pass(2)
    back = run.reclaim()
    run.observe("what a reclaim gives back two leases later", *jobs, seen=back)

    for job in jobs:
        job.finish()
    run.all_finished_within(jobs, 10, bound="they were told to end")
    run.observe("the end", *jobs, columns=("id", "state", "attempt"))
