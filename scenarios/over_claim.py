"""A claim of one job takes one, whatever the planner believes of the table.

With `id IN (SELECT ... LIMIT 1 FOR UPDATE SKIP LOCKED)` the planner is free to run the selection again for each row of
the table. Each run passes over the rows that are taken already, and takes one more. The planner does so if it believes
that the table has a single row, as it had before the jobs came. Fresh statistics never show this.
"""

from typing import ClassVar, LiteralString

from bench.checks.claims import within_room
from bench.checks.ending import nothing_lost, recovered
from bench.faults.stale import StaleStatistics
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Queue


class SelectionInIn(Queue):
    """Everything as in the sound queue, but a claim says `id IN (SELECT ...)`, which may be run more than once."""

    CLAIM: ClassVar[LiteralString] = Queue.CLAIM.replace("= ANY (ARRAY(", "IN (").replace("))", ")")


over_claim = Scenario(
    name="over-claim",
    claim="A claim of n jobs takes at most n, whatever statistics it was planned with.",
    row=28,
    origin="P",
    fault="the statistics are from when the table had one row: a lock keeps every ANALYZE away",
    sham="the statistics are fresh",
    twins=[Twin(SelectionInIn, "over-claim")],
    checks=[within_room, recovered, nothing_lost],
    needs=("table",),
)

# All must fit into one page. The planner scales by pages: with two it believes in two rows, and selects only once.
BEHIND = 10

HELD = "SELECT leased_by, count(*) FROM jobs WHERE state = 'running' GROUP BY leased_by"
BELIEVED = """
    SELECT count(*) AS jobs, count(*) FILTER (WHERE state = 'running') AS held,
           (SELECT reltuples::bigint FROM pg_class WHERE oid = 'jobs'::regclass) AS believed
    FROM jobs
"""


@over_claim.script
def _(run: Run) -> None:
    first = run.enqueue("first")
    run.execute("ANALYZE jobs")  # so the planner believes in one row
    with run.fault(StaleStatistics(run, "jobs")):
        behind = run.load(BEHIND, "behind")
        run.execute("ANALYZE (SKIP_LOCKED) jobs")  # passes over a table that is locked
        worker = run.worker("worker", slots=1)
        first.until_started(by=worker)
        run.sample("held", run.query(HELD))
        run.observe("what a claim of one job has taken", table=run.query(BELIEVED))
        run.observe("the last job in the queue", behind[-1])

    first.finish()
    run.all_finished_within([first, *behind], 10, bound="the worker is idle")
    run.observe("the end", first, behind[-1], columns=("id", "state", "attempt"))
