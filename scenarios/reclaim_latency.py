"""An abandoned job is back within its lease and one reclaim interval, on a queue in which nothing else happens at all.

A reclaim that is triggered by inserts looks right in every demonstration, since a demonstration inserts. It fails on
the quiet night on which it is needed. So here nothing is inserted after the one job.
"""

from bench.checks.ending import nothing_lost, recovered
from bench.faults.kill import Kill
from bench.scenario import Scenario, Twin
from bench.script import MARGIN, POLL, Run
from queue_core import Worker


class ReclaimOnInsert(Worker):
    """Everything as in the sound worker, but its reclaim is due only when a job was inserted since the last one."""

    def reclaim_due(self) -> bool:
        newest = self._main.open().connection.execute("SELECT max(id) FROM jobs").fetchone()
        inserted = newest != vars(self).get("newest")
        vars(self)["newest"] = newest
        return inserted and super().reclaim_due()


SLACK = 2 * POLL + MARGIN  # one poll to reclaim and one to claim; the margin is for the machine


reclaim_latency = Scenario(
    name="reclaim-latency",
    claim="An abandoned job is back within lease + reclaim interval, with no insert to wake anybody.",
    row=13,
    origin="A1",
    fault="kill -9 of the owner in the middle of the job",
    sham="the owner is not killed",
    twins=[Twin(ReclaimOnInsert, "stranded")],
    checks=[recovered, nothing_lost],
    knobs={"interval": 0.5},
)


@reclaim_latency.script
def _(run: Run) -> None:
    interval = run.knob("interval")
    dying = run.worker("dying")
    job = run.enqueue()
    job.until_started(by=dying)
    run.worker("rescuer", reclaim_every=interval)

    job.at(0.3)
    run.fault(Kill(dying, during=job))
    run.observe("what is left of the owner's lease", job, columns=("id", "state", "leased_by", "lease_left", "attempt"))
    death, left = run.history.now(), float(job.row["lease_left"] or 0)
    runs = job.runs_within(1 + interval + SLACK, bound="lease + reclaim interval, two polls and a margin")
    if runs and job.starts > 1:
        delay = run.history.now() - death
        run.figure("back after", f"{delay:.2f} s: {left:.2f} s of lease, {delay - left:.2f} s of reclaim")

    job.finish()
    job.finished_within(5, bound="it was told to end")
    run.observe("the end", job, columns=("id", "state", "attempt"))
