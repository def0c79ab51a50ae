"""Thirty jobs can break a promise that ten thousand keep: what tells so is the age of the oldest, and not the depth.

The worker is well all the while. It finishes job after job, all of them urgent, so there is no silence and no expired
lease, and the queue is short. Those thirty just never have their turn.
"""

from dataclasses import replace

from bench.checks.alarms import alarms_ring_true
from bench.checks.ending import nothing_lost, recovered
from bench.faults.flow import Flow
from bench.faults.rows import Rows
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Limits, Queue, alarms
from scenarios.silent_worker import DEEP, DepthOnly, look


class DepthAsWell(Queue):
    """Everything as in the sound queue, but a deep queue rings an alarm as well, whether or not a promise is broken."""

    def alarms(self, limits: Limits) -> list[str]:
        return alarms(self.stats(), replace(limits, depth=DEEP))


priority_and_age = Scenario(
    name="priority-and-age",
    claim="The age of the oldest job tells a broken promise that depth hides, and is silent where depth cries wolf.",
    row=47,
    origin="A1 A2",
    fault="10,000 fresh jobs lie in the queue; later, urgent ones come in steadily and keep 30 others waiting",
    sham="neither: what is in the queue is fresh",
    twins=[
        Twin(DepthOnly, "unseen", also={"false-alarm": "it looks at the depth, and 10,000 fresh jobs are deep"}),
        Twin(DepthAsWell, "false-alarm"),
    ],
    checks=[alarms_ring_true, recovered, nothing_lost],
    needs=("table", "stats", "priority"),
)

FRESH, WAITING, URGENT = 10_000, 30, 100


@priority_and_age.script
def _(run: Run) -> None:
    promised = {"expired": 0, "oldest": 2 * run.lease, "silence": 2 * run.lease}
    with run.fault(Rows(run, FRESH, "queued", queue="bulk")):
        look(run, "a queue of fresh jobs", **promised)

    waiting = run.load(WAITING, "waiting")
    flow = Flow(run, "urgent", every=0.5, priority=URGENT)
    with run.fault(flow):
        run.worker("worker")
        flow.go_on(5)
        look(run, "thirty jobs of low priority, where two leases are promised", **promised)

    run.all_finished_within(waiting, 5, bound="no urgent ones come any more")
    look(run, "the end", **promised)
