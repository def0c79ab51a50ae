"""The effect is made and the worker dies before it can say so: the job runs again, and the world sees one effect.

No queue can avoid the second attempt, since nobody knows how far the first had got. What it can do is to give each
attempt the same idempotency key, by which the outside world (a bank, a mailer) knows the repeat.
"""

from bench.checks.ending import nothing_lost, recovered
from bench.checks.world import effect_once
from bench.events import count_of
from bench.faults.kill import Kill
from bench.orders import effect
from bench.scenario import Scenario, Twin
from bench.script import MARGIN, POLL, Run, Table
from queue_core import Job, Worker


class KeyOfTheAttempt(Worker):
    """Everything as in the sound worker, but each attempt of a job has an idempotency key of its own."""

    def effect_key(self, job: Job) -> str:
        return f"{job.queue}/{job.id}/{job.attempt}"


crash_after_effect = Scenario(
    name="crash-after-effect",
    claim="If a worker dies between its effect and its finish, the effect is made once: each attempt has the same key.",
    row=29,
    origin="A2",
    fault="kill -9 of the owner after its effect was made, and before its job is done",
    sham="the owner is not killed",
    twins=[Twin(KeyOfTheAttempt, "effect-twice")],
    checks=[effect_once, recovered, nothing_lost],
    knobs={"interval": 0.3},
    needs=("idempotency",),
)


def books(run: Run) -> Table:
    """What the outside world was asked for, with which idempotency key, and what it takes each request for."""
    asked = [(event["key"], event["under"]) for event in run.history.events() if event["event"] == "effect"]
    taken_for = ["a repeat" if each in asked[:i] else "new" for i, each in enumerate(asked)]
    return ["asked for", "key", "taken for"], [[*each, what] for each, what in zip(asked, taken_for, strict=True)]


@crash_after_effect.script
def _(run: Run) -> None:
    interval = run.knob("interval")
    dying = run.worker("dying")
    job = run.enqueue(orders=[effect("charge order 1842", guard="key")])
    job.until_started(by=dying)
    run.need("the effect", lambda events: count_of(events, "effect"))

    run.fault(Kill(dying, during=job))
    run.observe("the effect is made: what the queue knows of it", job, columns=("id", "state", "leased_by", "attempt"))
    run.worker("rescuer", reclaim_every=interval)
    job.runs_within(1 + interval + 2 * POLL + MARGIN, bound="lease + reclaim interval, two polls and a margin")

    job.finish()
    job.finished_within(10, bound="it was told to end")
    run.observe("the books of the outside world", table=books(run))
    run.observe("the end", job, columns=("id", "state", "attempt"))
