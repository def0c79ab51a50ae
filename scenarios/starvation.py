"""A steady flow of urgent jobs keeps nobody waiting for ever, since waiting is worth priority.

Here 100 points of priority are worth one lease of waiting. So once a job of priority 0 has waited for a lease, no later
urgent job goes before it. What is judged is that order, and not how long it takes: that depends on the machine.
"""

from typing import ClassVar, LiteralString

from bench.checks.ending import nothing_lost, recovered
from bench.checks.timing import in_time
from bench.events import starts
from bench.faults.flow import Flow
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Queue


class NoAging(Queue):
    """Everything as in the sound queue, but a claim takes the highest priority, however long the others have waited."""

    CLAIM: ClassVar[LiteralString] = Queue.CLAIM.replace("ORDER BY turn, id", "ORDER BY priority DESC, run_at, id")


URGENT = 100
WORTH = 1.0
"""Leases of waiting that URGENT points of priority are worth."""

starvation = Scenario(
    name="starvation",
    claim="A steady flow of priority 100 does not starve priority 0: who has waited long enough goes first.",
    row=39,
    origin="A2",
    fault="urgent jobs come in steadily, each before the only worker is free again",
    sham="no urgent job comes in",
    twins=[Twin(NoAging, "starved")],
    checks=[in_time, recovered, nothing_lost],
    recovery=False,
    prepare={"aging": WORTH / URGENT},
    needs=("table", "priority", "aging"),
)

BEGUN = """
    SELECT payload->>'job' AS job, priority, round(extract(epoch FROM run_at - min(run_at) OVER ()), 2) AS put_in,
           round(extract(epoch FROM claimed_at - min(run_at) OVER ()), 2) AS begun
    FROM jobs ORDER BY claimed_at, id
"""


@starvation.script
def _(run: Run) -> None:
    low = run.enqueue("low", lasts=0.1)
    put_in = run.history.now()
    flow = Flow(run, "urgent", every=0.3, priority=URGENT)
    with run.fault(flow):
        run.worker("worker")
        flow.go_on(4)  # by then `low` has waited for 1.2 L
        flow.go_on(2)
        low.started_within(3, bound="two urgent jobs that came in after its turn have been begun", late="starved")
        run.observe("in which order the jobs were begun, in seconds", table=run.query(BEGUN))

    low.finished_within(10, bound="the flow is over")
    waited = starts(run.history.events(), low.name)[0]["t"] - put_in
    run.figure("low waited", f"{waited:.2f} s")
