"""A row that the database will not have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.faults.base import Evidence, Fault, NoReceipt

if TYPE_CHECKING:
    from bench.job import Job
    from bench.script import Run

TAKEN, CHECK_VIOLATION = "00000", "23514"


class Unwritable(Fault):
    """A constraint that came after a job, and that its row violates: until it is dropped, no update of it is taken.

    Receipt: what the database answers to an update that changes nothing, then and afterwards. For a table like
    queue_core's.
    """

    kind = "unwritable row"

    def __init__(self, run: Run, job: Job, table: str = "jobs") -> None:
        self.run = run
        self.job = job
        self.target = job.name
        self.table = table

    def inject(self) -> Evidence:
        # NOT VALID: the rows that are there are not looked at before somebody changes them.
        self.run.execute(f"ALTER TABLE {self.table} ADD CONSTRAINT unwritable CHECK (id <> {self.job.id}) NOT VALID")
        return self._answers(CHECK_VIOLATION, "can still be written")

    def lift(self) -> Evidence:
        self.run.execute(f"ALTER TABLE {self.table} DROP CONSTRAINT unwritable")
        return self._answers(TAKEN, "can't be written yet")

    def _answers(self, expected: str, else_: str) -> Evidence:
        answer = self.run.execute(f"UPDATE {self.table} SET state = state WHERE id = {self.job.id}")
        if answer != expected:
            raise NoReceipt(f"the row of {self.target} {else_}: the database answered {answer}")
        return {"answered": answer}
