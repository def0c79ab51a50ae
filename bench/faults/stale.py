"""The planner knows a table as it was long ago."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from bench.faults.base import Evidence, Fault, NoReceipt

if TYPE_CHECKING:
    from bench.script import Run


class StaleStatistics(Fault):
    """A lock keeps every ANALYZE from a table, as one of CREATE INDEX CONCURRENTLY does; reads and writes go on.

    Receipt: how many rows there were at its end, and how many the planner believed in.
    """

    kind = "stale statistics"

    def __init__(self, run: Run, table: str) -> None:
        self.run = run
        self.target = table
        self._held = ExitStack()

    def inject(self) -> None:
        self._held.enter_context(self.run.holding(f"LOCK TABLE {self.target} IN SHARE UPDATE EXCLUSIVE MODE"))

    def lift(self) -> Evidence:
        with self._held:
            _, ((rows, believed),) = self.run.query(
                f"SELECT (SELECT count(*) FROM {self.target}), reltuples::bigint"
                f" FROM pg_class WHERE oid = '{self.target}'::regclass"
            )
        if int(believed) >= int(rows):
            raise NoReceipt(f"the planner believes in {believed} rows of {self.target}, and there are {rows}")
        return {"rows": int(rows), "believed": int(believed)}
