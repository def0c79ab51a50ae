"""Jobs are in the queue's table that no script put in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.faults.base import Evidence, Fault, NoReceipt
from bench.history import Event

if TYPE_CHECKING:
    from bench.script import Run

# A crash may lose what the bench wrote last: nobody asks for it then.
INSERT = """
    SET synchronous_commit = off;
    INSERT INTO jobs (queue, kind, state, attempt, run_at, turn, created_at, claimed_at, finished_at)
    SELECT '{queue}', 'written', '{state}', ended::int, came, came, came,
           CASE WHEN ended THEN came END, CASE WHEN ended THEN came END
    FROM (
        SELECT now() - make_interval(secs => {age} * (1 + n / {count}::float8)) AS came,
               '{state}' IN ('done', 'failed') AS ended
        FROM generate_series(1, {count}) AS n
    ) AS jobs
"""
THESE = "FROM jobs WHERE kind = 'written' AND state = '{state}' AND queue = '{queue}'"
DONE = "00000"


class Rows(Fault):
    """So many jobs are written into the queue's table, in one statement; when the fault is lifted they are deleted.

    They came, and where their state says so ended, between one and two times `age` seconds ago. That is data: no clock
    is faked. Receipt: how many of them the table has, counted; at the end, how many are left.
    """

    kind = "write"

    def __init__(self, run: Run, count: int, state: str, age: float = 0.0, queue: str = "default") -> None:
        self.run = run
        self.count = count
        self.target = f"{count:,} {state} jobs"
        self.values = {"count": count, "state": state, "age": age, "queue": queue}

    def hindrance(self, events: Sequence[Event]) -> str:
        there = self._counted()
        return f"the table has {there} of them already" if there else ""

    def inject(self) -> Evidence:
        answer = self.run.execute(INSERT.format(**self.values))
        there = self._counted()
        if answer != DONE or there != self.count:
            raise NoReceipt(f"{there} of the {self.target} are in the table (SQLSTATE {answer})")
        return {"rows": there}

    def lift(self) -> Evidence:
        answer = self.run.execute(f"DELETE {THESE.format(**self.values)}")
        left = self._counted()
        if answer != DONE or left:
            raise NoReceipt(f"{left} of the {self.target} are still in the table (SQLSTATE {answer})")
        return {"rows": 0}

    def _counted(self) -> int:
        return int(self.run.query(f"SELECT count(*) {THESE.format(**self.values)}")[1][0][0])
