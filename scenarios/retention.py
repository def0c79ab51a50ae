"""Old jobs are deleted in bounded batches; the claims go on, and the failures that are to be kept are kept.

How much was deleted, and in which transaction, is not the purge's own word: a trigger notes it. Through the table that
it writes to, the bench also holds the purge in the middle of a batch, while a worker claims.

One big DELETE would not block a claim: it locks jobs that are over, which no claim looks at. But its transaction has no
bound, and while it lasts VACUUM removes nothing of what a queue lives by, its updates. What does block claims is to
lock the whole table.
"""

from typing import Any, ClassVar, LiteralString

from bench.checks.ending import nothing_lost, recovered
from bench.checks.retention import in_bounded_batches, kept_as_told
from bench.checks.timing import in_time
from bench.faults.rows import Rows
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Retention


class NoPurge(Retention):
    """Everything as in the sound retention, but nothing is ever deleted."""

    def purge(self) -> int:
        return 0


class AllAtOnce(Retention):
    """Everything as in the sound retention, but all that is old goes in one statement."""

    PURGE: ClassVar[LiteralString] = Retention.PURGE.replace("LIMIT %(batch)s", "")


class FailedAsDone(Retention):
    """Everything as in the sound retention, but with old done jobs the failed ones go as well."""

    PURGE: ClassVar[LiteralString] = Retention.PURGE.replace("= %(state)s", "IN ('done', 'failed')")


class LocksTable(Retention):
    """Everything as in the sound retention, but each batch first locks the table, so that nobody gets in between."""

    def delete(self, statement: LiteralString, **params: Any) -> int:
        with self.connection.transaction():
            self.connection.execute("LOCK TABLE jobs IN EXCLUSIVE MODE")
            return super().delete(statement, **params)


retention = Scenario(
    name="retention",
    claim="Old done jobs go in bounded batches, failed ones stay as long as told, and claims go on meanwhile.",
    row=43,
    origin="A2",
    fault="there are done and failed jobs of two hours ago",
    sham="there is no old job",
    twins=[
        Twin(NoPurge, "grows"),
        Twin(AllAtOnce, "unbounded-batch"),
        Twin(FailedAsDone, "failure-forgotten"),
        Twin(LocksTable, "claims-blocked"),
    ],
    checks=[kept_as_told, in_bounded_batches, in_time, recovered, nothing_lost],
    knobs={"done": 250, "failed": 25, "batch": 100},
    full={"done": 20_000, "failed": 2_000, "batch": 1000},
    needs=("table", "purge"),
)

HOUR = 3600.0

NOTE = """
    CREATE TABLE deletions (transaction xid8, rows bigint);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF EXISTS (SELECT FROM gone) THEN  -- a purge that finds nothing does not wait for the bench
            INSERT INTO deletions SELECT pg_current_xact_id(), count(*) FROM gone;
        END IF;
        RETURN NULL;
    END
    $$;
    CREATE TRIGGER note AFTER DELETE ON jobs REFERENCING OLD TABLE AS gone
        FOR EACH STATEMENT EXECUTE FUNCTION note();
"""
OLD = """
    WITH transactions AS (SELECT sum(rows) AS rows FROM deletions GROUP BY transaction)
    SELECT count(*) FILTER (WHERE state = 'done') AS old_done, count(*) FILTER (WHERE state = 'failed') AS old_failed,
           (SELECT count(*) FROM transactions) AS deleting_transactions,
           (SELECT coalesce(max(rows), 0) FROM transactions) AS rows_of_the_largest
    FROM jobs WHERE finished_at < now() - interval '1 hour'
"""


def look(run: Run, title: str) -> None:
    """What is left that ended more than an hour ago, and what was deleted in how many transactions."""
    run.sample("old", run.query(OLD))
    run.observe(title, table=run.query(OLD))


@retention.script
def _(run: Run) -> None:
    batch = int(run.knob("batch"))
    run.premise(run.execute(NOTE) == "00000", "the trigger could not be made")
    job, cleaner = run.enqueue(lasts=0), run.producer("cleaner")
    run.fault(Rows(run, int(run.knob("done")), "done", age=2 * HOUR))
    run.fault(Rows(run, int(run.knob("failed")), "failed", age=2 * HOUR))
    run.execute("ANALYZE jobs")  # as autovacuum does before long: without it, each batch reads the whole table
    look(run, "before a purge")

    with run.holding("LOCK TABLE deletions"):
        purge = cleaner.ask_later("purge", done_after=HOUR, failed_after=None, batch=batch)
        cleaner.until_waiting(purge)
        run.worker("worker", reclaim_every=0.5)
        begun = job.started_within(3, bound="a worker is idle", late="claims-blocked")
        run.observe("a claim while the purge is in a batch", seen="a job was begun" if begun else "no job was begun")
    purge.result()
    look(run, "after a purge: done jobs are kept for an hour, failed ones for ever")

    run.ask("purge", done_after=HOUR, failed_after=HOUR, batch=batch)
    look(run, "after another: failed ones are kept for an hour, too")
    job.finished_within(10, bound="a worker is idle")
