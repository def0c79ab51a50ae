"""Jobs come before anybody is there to run them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.faults.base import Evidence, Fault
from bench.history import Event

if TYPE_CHECKING:
    from bench.job import Job
    from bench.script import Run


class Early(Fault):
    """Jobs are put in, NAME-1 and on, and no worker was ever started. Receipt: what the queue says of them."""

    kind = "jobs before workers"

    def __init__(self, run: Run, name: str, count: int) -> None:
        self.run = run
        self.target = name
        self.count = count
        self.jobs: Sequence[Job] = []
        """The jobs; none in a sham."""

    def hindrance(self, events: Sequence[Event]) -> str:
        return "a worker was started before" if any(event["event"] == "spawned" for event in events) else ""

    def inject(self) -> Evidence:
        self.jobs = self.run.load(self.count, self.target)
        return {"workers": 0, "states": [row["state"] for row in self.run.inspect(self.jobs)]}
