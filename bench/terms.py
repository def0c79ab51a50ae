"""What a subject's `describe` means for a script: what it tells, what it shows, and how much longer it may take.

A script is written for a queue that takes a lease's length and half of one between its reclaims. To be fair to another,
every promise is given as much longer as that one says of itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

USUAL_INTERVAL = 0.5
"""Leases between two reclaims, as scripts have it."""


HURRIED = 30.0
"""Seconds of slack that are waited for where a recovery is not."""

USUAL_RETRY = 30.0
"""Seconds that a failed job waits at most before it is tried again, where a queue says nothing of it."""


@dataclass(frozen=True)
class Terms:
    """`lease`, `interval` (between the queue's own reclaims) and `slack` are in seconds.

    `is_hurried`: a recovery takes longer than the run waits, so no wait in vain tells anything of an abandoned job.
    `retry_after`: so many seconds a failed job waits at most before it is tried again; None where a worker is told.
    `tells`: the events that its workers send; `columns`: those of a row, None where it promises all that is looked at.
    """

    lease: float
    interval: float
    slack: float
    retry_after: float | None
    tells: frozenset[str]
    columns: frozenset[str] | None
    is_hurried: bool = False

    @classmethod
    def of(cls, describe: Mapping[str, Any], lease: float) -> "Terms":
        """What `describe` says, with the bench's own lease where it says nothing of one."""
        own = describe.get("lease") or lease
        columns = describe.get("columns")
        return cls(
            lease=own,
            interval=describe.get("reclaim_every") or own * USUAL_INTERVAL,
            slack=describe.get("slack", 0.0),
            retry_after=None if "backoff" in describe.get("options", []) else describe.get("retry_after", USUAL_RETRY),
            tells=frozenset(describe.get("tells", [])),
            columns=None if columns is None else frozenset(columns),
        )

    def waited_for(self, longest: float, lease: float) -> "Terms":
        """The same; where a recovery takes longer than a run waits, hurried ones by the bench's own `lease`."""
        if self.recovery <= longest:
            return self
        return replace(
            self, lease=lease, interval=lease * USUAL_INTERVAL, slack=min(self.slack, HURRIED), is_hurried=True
        )

    def hides(self, column: str) -> bool:
        """Whether its rows have no such column, as it says itself."""
        return self.columns is not None and column not in self.columns

    @property
    def recovery(self) -> float:
        """Seconds in which an abandoned job is back, by its own word."""
        return self.lease + self.interval + self.slack

    @property
    def longer(self) -> float:
        """Seconds by which every promise of a script is extended."""
        return self.slack + max(0.0, self.interval - self.lease * USUAL_INTERVAL)

    @property
    def own_reclaim(self) -> float:
        """Seconds in which the queue's own reclaim has come by, where nobody can ask for one; a slow one is let be."""
        return self.lease if self.is_hurried else self.interval + self.slack
