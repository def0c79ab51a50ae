"""SKIP LOCKED is about throughput, not correctness: without it nothing is claimed twice, but claimers stand in a queue.

The bench locks the row of the first job, as a claimer does in the middle of its claim; the jobs behind it are free. Who
waits is not measured by a clock: the server itself says who waits for a lock.
"""

from typing import ClassVar, LiteralString

from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import handed_out_once
from bench.checks.throughput import nobody_waited
from bench.faults.hold import Hold
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Queue


class WithoutSkipLocked(Queue):
    """Everything as in the sound queue, but a claim waits for locked rows instead of passing them over."""

    CLAIM: ClassVar[LiteralString] = Queue.CLAIM.replace("FOR UPDATE SKIP LOCKED", "FOR UPDATE")


skip_locked = Scenario(
    name="skip-locked",
    claim="A claimer passes over the job that another is just claiming, and takes the next; nobody waits.",
    row=26,
    origin="A1 A2",
    fault="the first job's row is locked, as by a claimer in the middle of its claim",
    sham="no lock",
    twins=[Twin(WithoutSkipLocked, "claimers-waited")],
    checks=[nobody_waited, handed_out_once, recovered, nothing_lost],
    knobs={"claimers": 4},
    needs=("hold", "table"),
)

WAITING = """
    SELECT split_part(application_name, ' ', 1) AS claimer, wait_event_type = 'Lock' AS waits,
           (SELECT count(*) FROM jobs WHERE state = 'queued') AS queued
    FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'claimer-% main' ORDER BY 1
"""


@skip_locked.script
def _(run: Run) -> None:
    first = run.enqueue("first")
    behind = run.load(6)
    with run.fault(Hold(run, first)):
        run.workers("claimer", int(run.knob("claimers")))
        run.until_over(behind, within=0.5)  # in vain if claimers wait
        run.observe("which claimers wait for a lock, and how many jobs are still queued", table=run.query(WAITING))
    first.finish()
    run.all_finished_within([first, *behind], 20, bound="claimers are idle")
    run.observe("the end", first)
