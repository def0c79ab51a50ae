"""A worker whose connections are all cut in the middle of a job reconnects by itself, and keeps the job.

A restart of a pooler, a failover, an idle timeout of a firewall: connections end, and nothing else is wrong.
"""

from collections.abc import Collection

import psycopg

from bench.checks.alive import kept_alive
from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import no_overlap
from bench.faults.cut import Cut
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Job, Worker


class NoReconnect(Worker):
    """Everything as in the sound worker, but its heartbeat opens no new connection once its own has broken."""

    def renew(self, held: list[Job]) -> Collection[Job]:
        try:
            return super().renew(held)
        except psycopg.OperationalError:
            return held


cut_connection = Scenario(
    name="cut-connection",
    claim="A worker whose connections are cut in the middle of a job reconnects, renews its lease, and finishes.",
    row=23,
    origin="P",
    fault="all connections of the worker are reset",
    sham="no connection is cut",
    twins=[Twin(NoReconnect, "reclaimed-alive")],
    checks=[kept_alive, no_overlap, recovered, nothing_lost],
    needs=("server",),
    recovery=False,
)


@cut_connection.script
def _(run: Run) -> None:
    relay = run.relay()
    worker = run.worker("worker", via=relay)
    job = run.enqueue()
    job.until_started(by=worker)
    run.fault(Cut(relay, worker, during=job))

    run.let_pass(1.7)  # by then any lease from before the cut is over
    back = run.reclaim()
    run.observe("what a reclaim gives back 1.7 L later", job, seen=back)

    job.finish()
    job.finished_within(10, bound="it was told to end")
    run.observe("the end", job, columns=("id", "state", "attempt"))
