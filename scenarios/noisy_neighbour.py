"""However many heavy jobs there are, email goes out: it has a queue of its own, and a worker that does nothing else.

The heavy jobs do not end until they are told to, and in the order of the claims they come before the email. So whether
the email is begun meanwhile is no matter of speed.
"""

from typing import ClassVar, LiteralString

from bench.checks.ending import nothing_lost, recovered
from bench.checks.timing import in_time
from bench.faults.flood import Flood
from bench.orders import FINISH
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Queue


class OnePool(Queue):
    """Everything as in the sound queue, but a claim takes jobs of every queue: all workers are one pool."""

    CLAIM: ClassVar[LiteralString] = Queue.CLAIM.replace("AND queue = %(queue)s ", "")


noisy_neighbour = Scenario(
    name="noisy-neighbour",
    claim="Heavy jobs that take up all workers of their own queue do not hold up email, which has a worker of its own.",
    row=40,
    origin="A2",
    fault="six heavy jobs come in, twice as many as there are slots in all, and none ends before it is told to",
    sham="no heavy jobs",
    twins=[Twin(OnePool, "held-up")],
    checks=[in_time, recovered, nothing_lost],
    needs=("queue", "backlog"),
    recovery=False,
)


@noisy_neighbour.script
def _(run: Run) -> None:
    run.worker("for-heavy", queue="heavy", slots=2)
    run.worker("for-email", queue="email")
    flood = Flood(run, "heavy", 6, queue="heavy")
    with run.fault(flood):
        run.until_state(flood.jobs[:2], "running", within=1)  # their own slots are taken before the email comes
        email = run.enqueue("email", queue="email", orders=[FINISH])
        email.started_within(3, bound="its own worker is idle, and polls every 0.1 L", late="held-up")
        columns = ("id", "state", "leased_by")
        run.observe("the email, and the heavy jobs that came before it", email, *flood.jobs, columns=columns)

    run.all_finished_within([email, *flood.jobs], 10, bound="the heavy jobs were told to end")
    run.observe("the end", email, columns=("id", "state", "attempt"))
