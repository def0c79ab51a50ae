"""How a worker keeps its leases, on two threads.

The heartbeat has a connection of its own, so that neither a busy handler nor a slow claim holds up a renewal; it beats
until the last job has ended, drain included. The watch needs none: by this machine's own clock it knows when a lease is
over that nobody could renew.
"""

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

import psycopg

from queue_core.crew import Crew
from queue_core.holdings import Holdings
from queue_core.link import Link
from queue_core.queue import Job

_log = logging.getLogger("queue_core")


@dataclass(frozen=True)
class Keeper:
    """Keeps the leases of what a worker holds, and gives up those that are lost.

    beats() and watches() are each for a thread of its own, and end when the crew is told that all is over.
    """

    name: str
    """The worker's."""
    holdings: Holdings
    crew: Crew
    """Woken when something was lost."""
    lease: float
    """Seconds that a claim or a renewal lasts."""
    every: float
    """Seconds between renewals."""

    def beats(
        self,
        link: Link,
        held: Callable[[], list[Job]],
        renew: Callable[[list[Job]], Collection[Job]],
        again: Callable[[int], float],
        tell: Callable[[list[Job], list[Job]], None],
    ) -> None:
        """Renew what is held, and tell what was kept and what is lost.

        After each failure the next beat comes in `again(failures in a row)` seconds. The link, over which `renew` goes,
        is dropped then, and at the end.
        """
        failures, pause = 0, self.every
        try:
            while not self.crew.over.wait(pause):
                began = time.monotonic()
                jobs = held()
                try:
                    kept = set(renew(jobs)) if jobs else set()
                except psycopg.OperationalError as error:
                    failures += 1
                    link.drop()
                    pause = again(failures)
                    _log.warning("heartbeat of %s: %s; trying again in %.2f s", self.name, str(error).strip(), pause)
                    continue
                failures = 0
                if jobs:
                    lost = self.holdings.judge(jobs, kept, began + self.lease)
                    self._lost("worker %s lost the lease of %s", lost)
                    tell([job for job in jobs if job in kept], lost)
                pause = max(0.0, began + self.every - time.monotonic())
        finally:
            link.drop()

    def watches(self, links: Collection[Link], overdue: Callable[[float], bool]) -> None:
        """Give up, without asking anybody, what could not be renewed in time; break connections that hang."""
        while not self.crew.over.wait(self.lease / 20):
            self._lost("worker %s could not renew the lease of %s in time", self.holdings.lose_late(overdue))
            for link in links:
                if link.cut_off(self.lease):
                    _log.warning("worker %s had no answer from the database for %.2f s", self.name, self.lease)

    def _lost(self, line: str, jobs: list[Job]) -> None:
        if jobs:
            _log.warning(line, self.name, ", ".join(f"job {job.id}" for job in jobs))
            self.crew.wake()
