"""Two executions that come to the same effect at the same moment make it once, since its key can be entered once.

To look for the key first is no help: the other may look, too, before either enters it. That is where the bench holds
both. Its lock on the table of keys lets everybody read and nobody write, until the server says that both wait for it.
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
    """Everything as in the sound table of keys, but a look before the insert decides whether an effect is the first."""

    def take(self, key: str) -> bool:
        made = self.connection.execute("SELECT FROM effects WHERE key = %s", [key]).fetchone()
        self.connection.execute(self.TAKE, {"key": key})
        return made is None


concurrent_effect = Scenario(
    name="concurrent-effect",
    claim="Of two executions that come to the same effect at the same moment one makes it, and the other learns of it.",
    row=30,
    origin="A1 A2",
    fault="a second worker comes, so that two jobs with the same effect run at the same moment",
    sham="one worker runs one job after the other",
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
        all_wait = run.poll(lambda: names <= set(barrier.waiting()), PATIENCE / run.lease)
        run.premise(all_wait, f"not all of {', '.join(sorted(names))} came to enter the key")
        run.observe("who comes to enter the key", *webhooks, seen=f"{', '.join(barrier.waiting())} wait")

    run.all_finished_within(webhooks, 10, bound="workers are idle")
    run.observe("the end", *webhooks, seen=summary(run))
    run.observe("the table of keys", table=run.query(KEYS))


def summary(run: Run) -> str:
    """How often the effect was made, and how often it was withheld as one that had been made."""
    said = [event["event"] for event in run.history.events()]
    return f"made {said.count('effect')}, withheld {said.count('withheld')}"
