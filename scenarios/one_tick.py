"""A tick of a schedule is fired once, even if a scheduler fires it and dies, and the next can't know how far it got.

The next leader fires every tick since its own start, in case it was not fired. The leader's lock says who fires now and
nothing of the past. What keeps a tick from being fired twice is its unique key, entered in its job's transaction.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, LiteralString

from bench.checks.schedules import one_job_a_tick
from bench.events import count_of
from bench.faults.depose import LEADERS, Depose
from bench.history import Event
from bench.scenario import Scenario, Twin
from bench.script import Run, Table
from queue_core import Schedule, Scheduler


class NoTickKey(Scheduler):
    """Everything as in the sound scheduler, but the table of fired ticks has no unique key."""

    TICK_KEY: ClassVar[LiteralString] = Scheduler.TICK_KEY.replace("UNIQUE INDEX", "INDEX")


class TickGoesWithItsJob(Scheduler):
    """Everything as in the sound scheduler, but a tick is kept from being fired again only while its job is alive."""

    def fire(self, schedule: Schedule, tick: datetime) -> bool:
        about = {"schedule": schedule.name, "tick": tick.isoformat()}
        self._open().enqueue(schedule.kind, about, key=str(about))
        return True


one_tick = Scenario(
    name="one-tick",
    claim="Of two schedulers one leads; if it dies after a tick, the other takes over, and no tick is fired twice.",
    row=38,
    origin="A1 A2 P",
    fault="kill -9 of the scheduler that leads, when it has fired a tick and the tick's job is done",
    sham="the leader lives on",
    twins=[Twin(NoTickKey, "duplicate-tick"), Twin(TickGoesWithItsJob, "duplicate-tick")],
    checks=[one_job_a_tick],
    needs=("scheduler", "outcome"),
)


def until_next_tick(run: Run) -> None:
    """Wait until the job of a tick from after now is done, and nothing else is under way. Raises Unmet."""
    now = datetime.fromisoformat(run.query("SELECT clock_timestamp()")[1][0][0])

    def found(events: Sequence[Event]) -> bool:
        begun = [datetime.fromisoformat(event["tick"]) for event in events if event["event"] == "started"]
        return bool(begun) and max(begun) > now and count_of(events, "outcome") == len(begun)

    run.need("the job of the next tick done", found)


def ticks(run: Run) -> Table:
    """How many jobs were begun for each tick."""
    begun = Counter(event["tick"] for event in run.history.events() if event["event"] == "started")
    return ["tick", "jobs"], [[tick, str(jobs)] for tick, jobs in begun.items()]


@one_tick.script
def _(run: Run) -> None:
    schedulers = [run.scheduler(name, job="tick", every=1) for name in ("scheduler-1", "scheduler-2")]
    run.worker("worker")
    until_next_tick(run)
    run.observe("who leads, after a tick", table=run.query(LEADERS))

    run.fault(Depose(run, schedulers))
    until_next_tick(run)
    run.observe("who leads, after the next tick", table=run.query(LEADERS))
    run.observe("how many jobs were begun for each tick", table=ticks(run))
