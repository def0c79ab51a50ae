"""The schema itself refuses a queued job with a lease, and a running one without: by insert and by update alike.

Nothing else would refuse such a row: it breaks no type and no foreign key. But it misleads the reclaim, which passes
over a running job without `leased_until` for ever, and gives back one without `leased_by`, which nobody had.
"""

from itertools import product
from typing import Any, ClassVar, LiteralString

from bench.checks.rows import schema_refuses
from bench.faults.write import Write
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Queue


class NoLeaseCheck(Queue):
    """Everything as in the sound queue, but the table has no constraint on the lease."""

    LEASE_CHECK: ClassVar[LiteralString] = "SELECT 'no constraint'"


impossible_states = Scenario(
    name="impossible-states",
    claim="The schema refuses a lease outside `running`, and `running` without a lease, on every path.",
    row=12,
    origin="A1",
    fault="every illegal combination of state and lease is written, by insert and by update",
    sham="only the legal combinations are written",
    twins=[Twin(NoLeaseCheck, "impossible-state")],
    checks=[schema_refuses],
    needs=("table",),
)

NONE, PAST, OWNER = "NULL", "now() - interval '1 hour'", "'nobody'"

LEGAL = [
    ("queued", NONE, NONE),
    ("running", "now() + interval '1 hour'", OWNER),
    ("done", NONE, NONE),
    ("failed", NONE, NONE),
]
ILLEGAL = [
    *(
        (state, until, owner)
        for state, until, owner in product(("queued", "done", "failed"), (NONE, PAST), (NONE, OWNER))
        if (until, owner) != (NONE, NONE)
    ),
    ("running", NONE, NONE),
    ("running", NONE, OWNER),
    ("running", PAST, NONE),
]

HALF_LEASED = (
    "SELECT id, state, leased_until IS NOT NULL AS until, leased_by IS NOT NULL AS owner FROM jobs"
    " WHERE state = 'running' AND (leased_until IS NULL OR leased_by IS NULL) ORDER BY id"
)
TAKEN, CHECK_VIOLATION = "00000", "23514"  # SQLSTATEs


def write(run: Run, rows: list[tuple[str, str, str]]) -> dict[str, Any]:
    """Write each row by insert and by update: how many were taken or refused by a CHECK, and which were taken."""
    answered, accepted = 0, []
    for state, until, owner in rows:
        written = f"{state}, leased_until {until}, leased_by {owner}"
        insert = f"INSERT INTO jobs (kind, state, leased_until, leased_by) VALUES ('x', '{state}', {until}, {owner})"
        update = f"UPDATE jobs SET state = '{state}', leased_until = {until}, leased_by = {owner} WHERE kind = 'victim'"
        for path, statement in (("insert", insert), ("update", update)):
            answer = run.execute(statement)
            answered += answer in (TAKEN, CHECK_VIOLATION)
            if answer == TAKEN:
                accepted.append(f"{written}, by {path}")
    return {"answered": answered, "accepted": accepted}


@impossible_states.script
def _(run: Run) -> None:
    run.execute("INSERT INTO jobs (kind) VALUES ('victim')")
    legal = write(run, LEGAL)
    run.premise(len(legal["accepted"]) == 2 * len(LEGAL), "the database refused a legal row")
    run.reclaim()  # finds nothing: the one legal lease has an hour to go

    run.fault(Write("table jobs", lambda: write(run, ILLEGAL), attempts=2 * len(ILLEGAL)))
    run.observe("running jobs that lack `leased_until` or `leased_by`", table=run.query(HALF_LEASED))
    back = run.reclaim()
    run.observe("what a reclaim gives back, and what it passes over", seen=back, table=run.query(HALF_LEASED))
