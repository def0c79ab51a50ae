"""How a script waits: for events, with a deadline; and what it may ask of the queue again and again, until it is so.

Times are in leases (L) unless a name says seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bench.events import ENDINGS, all_finished, exit_of, starts
from bench.history import Event, History
from bench.terms import Terms

if TYPE_CHECKING:
    from bench.barrier import Barrier
    from bench.contract import Row
    from bench.job import Job
    from bench.subject import Worker

PATIENCE = 30.0
"""Seconds that anything may take which any queue does at once; beyond that the arm has made no progress."""

HEARD = 5.0
"""Seconds that a queue has at least, and a lease if that is longer, to hear of a finish: its worker may have to
reconnect first."""

OVER = ("done", "failed", "absent")
"""The states of a job that is over."""

SETTLED = 0.5
"""Seconds for which a job that was not finished must be over: until it is tried again some queues say that it has
failed, and some have no record of it."""


class Unmet(Exception):
    """Something that the rest of the script needs did not come about; the history already says what."""


class Unfinished:
    """Which of some jobs nobody has finished yet, or somebody is still at; asked again, it reads only what is new."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._left = {job.name: True for job in jobs}
        self._running: dict[int, str] = {}
        self._read = 0

    def after(self, events: Sequence[Event]) -> bool:
        """Whether any are left after these events."""
        for event in events[self._read :]:
            if event["event"] == "started":
                self._running[event["execution"]] = event["job"]
            elif event["event"] in ENDINGS:
                self._running.pop(event["execution"], None)
                if event["event"] == "finished" and event["job"] in self._left:
                    self._left[event["job"]] = False
        self._read = len(events)
        return any(self._left.values()) or any(job in self._left for job in self._running.values())

    def names(self) -> list[str]:
        """Those that were left when it was asked last."""
        return [job for job, left in self._left.items() if left or job in self._running.values()]


class Waits:
    """The waiting part of a script's handle."""

    history: History
    lease: float
    terms: Terms

    def rows(self, jobs: Sequence[Job]) -> list[Row]:
        """What the queue says of these jobs now."""
        raise NotImplementedError

    def inspect(self, jobs: Sequence[Job]) -> list[Row]:
        """What the queue says of these jobs, into the history and back."""
        raise NotImplementedError

    def premise(self, holds: bool, text: str) -> None:
        """What must be so for the rest to mean anything; `text` says how it is when it does not hold. Raises Unmet."""
        self.history.add("premise", text=text, true=holds)
        if not holds:
            raise Unmet

    def need(self, what: str, found: Callable[[Sequence[Event]], Any], patience: float = 1, unless: str = "") -> None:
        """Wait for what any queue does at once. Raises Unmet when it does not come: the queue makes no progress.

        With all the bench's patience, or so many times that. `unless` is why this one need not do so: then the script
        can't ask what it asks.
        """
        if not self.wait(what, found, patience * PATIENCE / self.lease, must=not unless):
            if unless:
                self.history.add("unsupported", reason=f"{unless}, and not in {PATIENCE:g} s: {what}")
            raise Unmet

    def wait(
        self,
        what: str,
        found: Callable[[Sequence[Event]], Any],
        within: float,
        jobs: Sequence[str] | Callable[[], Sequence[str]] = (),
        bound: str = "",
        must: bool = False,
        late: str = "stranded",
    ) -> bool:
        """Wait at most so long; into the history goes whether it came, and how long it took.

        With a `bound` it is a promise, and a wait in vain is the anomaly that `late` names. A promise lasts as much
        longer as the subject says of itself; it is none of a job that was begun in a queue whose recovery is not waited
        for.
        """
        since, seconds = self.history.now(), within * self.lease + (self.terms.longer if bound else 0.0)
        came = bool(self.history.until(found, seconds))
        took = round(self.history.now() - since, 6)
        about = {"what": what, "within": seconds, "came": came, "took": took, "bound": bound, "must": must}
        names = list(jobs() if callable(jobs) else jobs)
        judged = bound and not (self.terms.is_hurried and any(starts(self.history.events(), name) for name in names))
        self.history.add("wait", **about, jobs=names, late=late if judged else "")
        return came

    def retried_within(self, backoff: float) -> float:
        """Leases that a failed job waits at most before it is tried again: `backoff`, where a worker can be told."""
        return backoff if self.terms.retry_after is None else self.terms.retry_after / self.lease

    def until_started(self, jobs: Sequence[Job]) -> None:
        """Wait until each has been begun. Raises Unmet."""
        left = {job.name for job in jobs}
        read = 0

        def found(events: Sequence[Event]) -> bool:
            nonlocal read
            left.difference_update(event["job"] for event in events[read:] if event["event"] == "started")
            read = len(events)
            return not left

        self.need(f"{len(jobs)} jobs begun", found, patience=max(1, len(jobs) / 100))

    def let_pass(self, leases: float) -> None:
        """Let so many leases pass."""
        self.history.until(lambda _: False, leases * self.lease)

    def all_finished_within(self, jobs: Sequence[Job], within: float, bound: str, late: str = "stranded") -> bool:
        """Wait until each is finished, and then for the queue to say so: it is told after the witness is."""
        left = Unfinished(jobs)
        what = f"{jobs[0].name} finished" if len(jobs) == 1 else f"{len(jobs)} jobs finished"
        came = self.wait(what, lambda events: not left.after(events), within, left.names, bound, late=late)
        return came and self.until_over(jobs, max(1.0, (HEARD + self.terms.longer) / self.lease))

    def until_over(self, jobs: Sequence[Job], within: float = 1) -> bool:
        """Wait until the queue itself says that the jobs are over; False if it does not in time.

        One that it has no record of is not, as long as the witness sees it run.
        """
        since = math.inf

        def over() -> bool:
            nonlocal since
            rows = list(zip(jobs, self.rows(jobs), strict=True))
            if not all(row["state"] in OVER and (row.is_there or not job.is_running) for job, row in rows):
                since = math.inf
                return False
            since = min(since, self.history.now())
            unsure = [job.name for job, row in rows if row["state"] != "done"]
            return all_finished(self.history.events(), unsure) or self.history.now() >= since + SETTLED

        return self.poll(over, within)

    def until_state(self, jobs: Sequence[Job], state: str, within: float) -> bool:
        """Wait until the queue says that the jobs are in this state; False if it does not in time."""
        return self.poll(lambda: all(row["state"] == state for row in self.rows(jobs)), within)

    def until_lease_over(self, *jobs: Job, within: float) -> bool:
        """Wait until the queue itself says that the jobs' leases have run out; False if it does not in time.

        A queue that does not show it is given the time in which they must have.
        """
        if self.terms.hides("lease_alive"):
            self.let_pass(within)
            return True
        over = self.poll(lambda: all(row.get("lease_alive") == "f" for row in self.rows(jobs)), within)
        self.inspect(jobs)
        return over

    def until_gathered(self, barrier: Barrier, workers: Sequence[Worker], within: float) -> None:
        """Wait until all have looked since the lock was taken, then until all wait at it, or `within`."""
        if not barrier.stages:
            return
        names = {worker.name for worker in workers}
        seen: set[str] = set()  # over time: some connect anew for each look

        def all_looked() -> bool:
            seen.update(barrier.seen(), barrier.waiting())
            return names <= seen

        looked = self.poll(all_looked, PATIENCE / self.lease)
        self.premise(looked, f"not all of {', '.join(sorted(names))} had looked when the bench let go of the row")
        self.poll(lambda: names <= set(barrier.waiting()), within)

    def exited_within(self, worker: Worker, within: float, bound: str = "", late: str = "stranded") -> bool:
        """Wait until a process has ended; False if it does not in time, and in the queue's own slack."""
        pid, more = worker.pid, 0.0 if bound else self.terms.slack / self.lease
        return self.wait(
            f"{worker.name} ended", lambda events: exit_of(events, pid), within + more, bound=bound, late=late
        )

    def poll(self, reached: Callable[[], bool], within: float) -> bool:
        """Ask again and again for what tells no event; False if it is not reached in time."""
        deadline = self.history.now() + within * self.lease
        while not reached():
            if self.history.now() > deadline:
                return False
            self.let_pass(1 / 50)
        return True
