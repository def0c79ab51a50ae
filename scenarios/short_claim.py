"""No transaction is open while a job runs: the claim commits at once, and what holds the job from then on is its row.

A job that is held by an open transaction holds up VACUUM, and not only in the table of the jobs: whatever is deleted or
updated in the database stays until the job has ended. So what is vacuumed here is a table without any jobs.
"""

from bench.checks.claims import nothing_held_open
from bench.checks.ending import nothing_lost, recovered
from bench.faults.outlast import Outlast
from bench.scenario import Scenario, Twin
from bench.script import Run
from scenarios.worker_death import ClaimHoldsLock

short_claim = Scenario(
    name="short-claim",
    claim="While a job runs no transaction is open for it, so VACUUM can remove what is deleted meanwhile.",
    row=27,
    origin="A2",
    fault="the job lasts for longer than its lease",
    sham="the job ends within a third of its lease",
    twins=[Twin(ClaimHoldsLock, "long-transaction")],
    checks=[nothing_held_open, recovered, nothing_lost],
    needs=("postgres",),
    recovery=False,
)

LETTERS = "CREATE TABLE letters AS SELECT repeat('x', 100) AS text FROM generate_series(1, 1000)"
DELETED = "CREATE TABLE deleted AS SELECT clock_timestamp() AS at"  # when the letters were
LEFT = "SELECT pg_relation_size('letters') AS bytes_left"
OPEN = """
    SELECT application_name AS connection, state, backend_xid IS NOT NULL AS has_written
    FROM pg_stat_activity, deleted
    WHERE datname = current_database() AND backend_type = 'client backend' AND xact_start < deleted.at ORDER BY 1
"""


def vacuumed(run: Run) -> bool:
    """Whether VACUUM gives the whole table back: it can only when nobody may still want to see a row of it."""
    run.execute("VACUUM letters")
    return run.query(LEFT)[1] == [["0"]]


@short_claim.script
def _(run: Run) -> None:
    run.execute(LETTERS)
    worker = run.worker("worker")
    job = run.enqueue(lasts=0.3)
    job.until_started(by=worker)
    run.fault(Outlast(job))
    run.execute("DELETE FROM letters")
    run.execute(DELETED)

    job.at(1.2)
    run.observe("the job at 1.2 L", job)
    run.sample("open", run.query(OPEN))
    run.observe("transactions that have been open since before 1000 letters were deleted", table=run.query(OPEN))
    run.poll(lambda: vacuumed(run), within=0.3)  # a passing statement may hold it up, too
    run.observe("what VACUUM leaves of the letters", table=run.query(LEFT))

    job.finish()
    job.finished_within(10, bound="it was told to end")
    run.observe("the end", job, columns=("id", "state", "attempt"))
