"""The scheduler that leads dies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.faults.base import Evidence, Fault, NoReceipt, wait_for
from bench.faults.kill import kill
from bench.history import Event

if TYPE_CHECKING:
    from bench.script import Run
    from bench.subject import Worker

LEADERS = """
    SELECT split_part(application_name, ' ', 1) AS leader FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND datname = current_database()
"""
"""Who holds an advisory lock."""


class Depose(Fault):
    """kill -9 of the scheduler that leads. Receipt: its wait status, and that it holds no advisory lock any more."""

    kind = "kill -9"

    def __init__(self, run: Run, schedulers: Sequence[Worker]) -> None:
        self.run = run
        leading = [scheduler for scheduler in schedulers if scheduler.name in self._leaders()]
        run.premise(len(leading) == 1, f"{len(leading)} of {len(schedulers)} schedulers hold an advisory lock")
        (self.leader,) = leading
        self.target = self.leader.name

    def _leaders(self) -> list[str]:
        return [name for (name,) in self.run.query(LEADERS)[1]]

    def hindrance(self, events: Sequence[Event]) -> str:
        return "" if self.target in self._leaders() else f"{self.target} does not lead any more"

    def inject(self) -> Evidence:
        evidence = kill(self.leader)
        if not wait_for(lambda: self.target not in self._leaders()):
            raise NoReceipt(f"the server still has an advisory lock of {self.target}")
        return {**evidence, "leads": False}
