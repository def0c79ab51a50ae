"""A claim costs hardly more with 100,000 ended jobs in the table (or a million, with --full) than with none.

The cost is not a time, which depends on the machine. It is how many buffers the server touches, as EXPLAIN counts
them. A claim reads the jobs in the order of their `turn`. That of an ended job is mostly earlier than that of a waiting
one, so an index that holds the ended jobs as well has them all in front.
"""

from typing import ClassVar, LiteralString

from bench.checks.ending import nothing_lost
from bench.checks.weight import claim_costs_no_more
from bench.faults.rows import Rows
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Queue


class EndedJobsInIndex(Queue):
    """Everything as in the sound queue, but the index of the claim is not partial: it holds the ended jobs as well."""

    INDEXES: ClassVar[LiteralString] = Queue.INDEXES.replace(
        "(queue, turn, id, run_at) WHERE state = 'queued'", "(queue, turn, id, run_at)"
    )


history_weight = Scenario(
    name="history-weight",
    claim="A claim touches hardly more of the database with a long history of done jobs than with none.",
    row=42,
    origin="A2",
    fault="done jobs fill the table",
    sham="no history",
    twins=[Twin(EndedJobsInIndex, "claim-cost-grows")],
    checks=[claim_costs_no_more, nothing_lost],
    knobs={"rows": 100_000},
    full={"rows": 1_000_000},
    needs=("table", "explain"),
)

AGE = 86_400.0
"""Seconds since the last of the done jobs ended."""

OTHERS = """
    INSERT INTO jobs (queue, kind) SELECT 'others', 'x' FROM generate_series(1, 2000)
"""
"""Jobs of another queue, in every arm: without them the table is so small that the planner reads it as a whole."""

TABLE = """
    SELECT count(*) FILTER (WHERE state = 'queued') AS queued, count(*) FILTER (WHERE state = 'done') AS done,
           pg_size_pretty(pg_table_size('jobs')) AS table, pg_size_pretty(pg_indexes_size('jobs')) AS indexes
    FROM jobs
"""


def cost(run: Run, title: str) -> int:
    """How many buffers a claim of one job touches now, once the table is vacuumed and analyzed, as by autovacuum."""
    run.execute("VACUUM (ANALYZE) jobs")
    claim = run.ask("explain")
    run.premise(claim["jobs"] == 1, "the claim that was explained would have got no job")
    buffers: int = claim["buffers"]
    run.observe(title, seen=f"{buffers} buffers", table=run.query(TABLE))
    return buffers


@history_weight.script
def _(run: Run) -> None:
    run.execute(OTHERS)
    run.enqueue()  # what a claim would take; there is no worker
    before = cost(run, "what a claim touches with no history")
    run.fault(Rows(run, int(run.knob("rows")), "done", age=AGE))
    after = cost(run, "what a claim touches now")
    done = int(run.query(TABLE)[1][0][1])
    run.figure("buffers of a claim", f"{before} with no done job, {after} with {done:,}")
