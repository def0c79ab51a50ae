"""Thirty jobs may wait too long where ten thousand do not: the age of the oldest job tells so, and the depth does not.

The worker is well all the while. It finishes job after job, all of them urgent, so there is no silence and no expired
lease, and the queue is short. But the turn of those thirty never comes.
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
    claim="The alarm on the age rings when a short queue breaks a promise, and not when a queue is only deep.",
    row=47,
    origin="A1 A2",
    fault="10,000 fresh jobs lie in the queue; later, urgent ones come in steadily and keep 30 others waiting",
    sham="neither: nothing in the queue is old",
    twins=[
        Twin(DepthOnly, "unseen", also={"false-alarm": "it looks at the depth, and 10,000 fresh jobs are deep"}),
        Twin(DepthAsWell, "false-alarm"),
    ],
    checks=[alarms_ring_true, recovered, nothing_lost],
    needs=("table", "stats", "priority"),
    recovery=False,
)

FRESH, WAITING, URGENT = 10_000, 30, 100


@priority_and_age.script
def _(run: Run) -> None:
    promised = {"expired": 0, "oldest": 2 * run.lease, "silence": 2 * run.lease}
    with run.fault(Rows(run, FRESH, "queued", queue="bulk")):
        look(run, "which alarms ring for jobs that are all fresh", **promised)

    waiting = run.load(WAITING, "waiting")
    flow = Flow(run, "urgent", every=0.5, priority=URGENT)
    with run.fault(flow):
        run.worker("worker")
        flow.go_on(5)  # 2.5 L pass, and the thirty wait
        look(run, "which alarms ring for thirty jobs of low priority, with 2 L promised", **promised)

    run.all_finished_within(waiting, 10, bound="no urgent ones come any more")
    look(run, "the end", **promised)
