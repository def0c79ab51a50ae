"""Two who make the same effect at the same moment make it once: the key's uniqueness decides, and not a look before.

A look says what was. Between it and the act anybody may act, so that is where both are held: the bench holds a lock on
the table of the keys that lets everybody read and nobody write, until the server says that both wait at it.
"""

from bench.checks.ending import nothing_lost, recovered
from bench.checks.world import effect_once
from bench.faults.crowd import Crowd
from bench.orders import FINISH, effect
from bench.scenario import Scenario, Twin
from bench.script import Run
from bench.waits import PATIENCE
from queue_core import Once


class LooksBeforeItActs(Once):
    """Everything as in the sound table of keys, but whether an effect is the first is decided by a look before."""

    def take(self, key: str) -> bool:
        made = self.connection.execute("SELECT FROM effects WHERE key = %s", [key]).fetchone()
        self.connection.execute(self.TAKE, {"key": key})
        return made is None


concurrent_effect = Scenario(
    name="concurrent-effect",
    claim="Of two executions that make the same effect at the same moment one makes it, and the other knows.",
    row=30,
    origin="A1 A2",
    fault="a second worker takes a job with the same effect at the same moment",
    sham="one worker takes one job after the other",
    twins=[Twin(LooksBeforeItActs, "effect-twice")],
    checks=[effect_once, recovered, nothing_lost],
    needs=("table", "idempotency"),
)

KEYS = "SELECT key, count(*) FROM effects GROUP BY key"


@concurrent_effect.script
def _(run: Run) -> None:
    with run.holding("LOCK TABLE effects IN SHARE MODE") as barrier:
        webhooks = run.load(2, "webhook", orders=[effect("charge order 1842", guard="once"), FINISH])
        first = run.worker("worker-1")
        crowd = Crowd(run, "worker", 1, first=2)
        run.fault(crowd)
        names = {worker.name for worker in [first, *crowd.workers]}
        wait = run.poll(lambda: names <= set(barrier.waiting()), PATIENCE / run.lease)
        run.premise(wait, f"not all of {', '.join(sorted(names))} came to the table of the keys")
        run.observe("who wants to enter the key", *webhooks, seen=f"{', '.join(barrier.waiting())} wait")

    run.all_finished_within(webhooks, 3, bound="workers are idle")
    run.observe("the end", *webhooks, seen=summary(run))
    run.observe("the table of the keys", table=run.query(KEYS))


def summary(run: Run) -> str:
    """How often the effect was made, and how often not, since it had been."""
    said = [event["event"] for event in run.history.events()]
    return f"made {said.count('effect')}, withheld {said.count('withheld')}"
