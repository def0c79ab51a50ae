"""A job as a script sees it. Times are in leases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.events import beat_since, finish, last_renewal, outcome, renewals, running, runs_alive, starts
from bench.history import Event
from bench.orders import FINISH, Order

if TYPE_CHECKING:
    from bench.contract import Row
    from bench.script import Run
    from bench.subject import Worker


class Job:
    """A job under test, by the bench's own name for it; `id` is the queue's."""

    def __init__(self, run: Run, name: str, id: str) -> None:
        self.run = run
        self.name = name
        self.id = id

    @property
    def row(self) -> Row:
        """What the queue says of it now."""
        return self.run.inspect([self])[0]

    @property
    def is_running(self) -> bool:
        """Whether the witness sees an execution of it go on."""
        return running(self.run.history.events(), self.name) is not None

    def is_held(self, by: Worker) -> bool:
        """Whether its queue says that this worker has it; where it does not say who has a job, that somebody does."""
        if self.run.terms.hides("leased_by"):
            return self.row["state"] == "running"
        return self.row["leased_by"] == by.name

    @property
    def starts(self) -> int:
        """How often it was begun."""
        return len(starts(self.run.history.events(), self.name))

    def until_started(self, by: Worker | None = None) -> int:
        """Wait until a worker, or anybody, has begun it; the number of that execution. Raises Unmet."""
        name = by.name if by else None
        self.run.need(f"{self.name} started by {name or 'anybody'}", lambda events: starts(events, self.name, name))
        number: int = starts(self.run.history.events(), self.name, name)[-1]["execution"]
        return number

    def until_waiters_began(self, within: float) -> bool:
        """Wait until all who waited at the barrier when it was let go have begun it; False if they do not in time."""
        waited = {name for e in self.run.history.events() if e["event"] == "let-go" for name in e["waiting"]}

        def found(events: Sequence[Event]) -> bool:
            return waited <= {start["worker"] for start in starts(events, self.name)}

        return self.run.wait(f"{self.name} begun by all who waited for it", found, within)

    def until_finished(self, by: Worker) -> None:
        """Wait until a worker's execution of it has ended as ordered. Raises Unmet."""
        self.run.need(f"{self.name} finished by {by.name}", lambda events: finish(events, self.name, by.name))

    def until_ended(self, by: Worker) -> None:
        """Wait until a worker is through with it, however that came. Raises Unmet."""
        what = f"{by.name} is through with {self.name}"
        self.run.need(what, lambda events: not running(events, self.name, by.name))

    def until_renewed(self, by: Worker) -> None:
        """Wait until its owner has renewed its lease: it will not do so again for a third of a lease. Raises Unmet.

        Where the queue does not tell, as for what follows, it is given a third of a lease for it.
        """
        if not self._told("renewed"):
            return
        before = renewals(self.run.history.events(), by.name, self.name)
        what = f"{by.name} renewed {self.name}"
        self.run.need(what, lambda events: renewals(events, by.name, self.name) > before)

    def since_renewed(self, by: Worker) -> float:
        """How long ago a worker last renewed it, in leases."""
        renewed = last_renewal(self.run.history.events(), by.name, self.name)
        return (self.run.history.now() - renewed) / self.run.lease

    def until_heartbeat(self, of: Worker) -> None:
        """Wait until a heartbeat of a worker was answered since the job's last start, for or against. Raises Unmet."""
        if not self._told("renewed"):
            return
        what = f"a heartbeat of {of.name} since the last start of {self.name}"
        self.run.need(what, lambda events: beat_since(events, self.name, of.name))

    def until_outcome(self, of: Worker) -> None:
        """Wait until the queue has taken, or refused, a worker's finish of it. Raises Unmet."""
        if not self._told("outcome"):
            return
        what = f"the outcome of {self.name} at {of.name}"
        self.run.need(what, lambda events: outcome(events, self.name, of.name))

    def _told(self, event: str) -> bool:
        """Whether the queue's workers tell of such events; where they don't, a third of a lease passes."""
        if event not in self.run.terms.tells:
            self.run.let_pass(1 / 3)
        return event in self.run.terms.tells

    def order(self, order: Order, execution: int | None = None) -> None:
        """Order every execution of it, those to come included, or only one."""
        self.run.desk.tell(self.name, order, execution=execution)

    def hold(self) -> None:
        """Order nobody anything any more: whatever was planned for it, it now holds until it is told otherwise."""
        self.run.desk.plan([self.name])

    def finish(self, by: Worker | None = None, execution: int | None = None) -> None:
        """Order it to end now: every execution, those to come included, or only what runs on `by`, or only one."""
        self.run.desk.tell(self.name, FINISH, worker=by.name if by else None, execution=execution)

    def end_if_run_again(self) -> None:
        """Order its next executions to end at once, and not the one that is under way."""
        self.run.desk.tell_next(self.name, FINISH, times=9)

    def finished_within(self, within: float, bound: str, late: str = "stranded") -> bool:
        """Wait for its finish as long as the claim allows; `bound` says what that is made of."""
        return self.run.all_finished_within([self], within, bound, late)

    def runs_within(self, within: float, bound: str, late: str = "stranded") -> bool:
        """Wait until a living worker runs it, as long as the claim allows; `bound` says what that is made of."""
        what = f"{self.name} runs at a living worker"
        return self.run.wait(what, lambda events: runs_alive(events, self.name), within, [self.name], bound, late=late)

    def started_within(self, within: float, bound: str, late: str = "stranded", times: int = 1) -> bool:
        """Wait until it was begun so often, as long as the claim allows; `bound` says what that is made of."""
        what = f"{self.name} begun" if times == 1 else f"{self.name} begun for the {times}th time"
        name = self.name
        return self.run.wait(what, lambda events: len(starts(events, name)) >= times, within, [name], bound, late=late)

    def at(self, leases: float) -> None:
        """Wait until so long after its first start."""
        first: float = starts(self.run.history.events(), self.name)[0]["t"]
        self.run.let_pass((first - self.run.history.now()) / self.run.lease + leases)
