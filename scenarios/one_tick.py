"""A tick is fired once, though its leader dies at it and the next one can't know how far it had come.

The lock that makes one scheduler the leader only saves work: it says who may fire from now on, and nothing of what has
been fired. That says the unique key of the tick, which is entered in the transaction that puts in the job.
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
    """Everything as in the sound scheduler, but what keeps a tick from being fired again is its job, while it lives."""

    def fire(self, schedule: Schedule, tick: datetime) -> bool:
        about = {"schedule": schedule.name, "tick": tick.isoformat()}
        self._open().enqueue(schedule.kind, about, key=str(about))
        return True


one_tick = Scenario(
    name="one-tick",
    claim="Of two schedulers one leads; if it dies at a tick, the other takes over, and no tick is fired twice.",
    row=38,
    origin="A1 A2 P",
    fault="kill -9 of the scheduler that leads, when it has fired a tick and the job is done",
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
    run.observe("a tick was fired; who leads", table=run.query(LEADERS))

    run.fault(Depose(run, schedulers))
    until_next_tick(run)
    run.observe("the next tick was fired, too; who leads", table=run.query(LEADERS))
    run.observe("how many jobs were begun for each tick", table=ticks(run))
