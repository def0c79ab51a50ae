"""A job with a delay is left alone until it is due, even by an idle worker, and is begun soon after.

Its row says when it is due, and each claim asks for that. No process sleeps until then, so no process can die and
take the time or the job with it.
"""

from typing import ClassVar, LiteralString

from bench.checks.ending import nothing_lost, recovered
from bench.checks.schedules import never_early
from bench.events import starts
from bench.faults.later import Later
from bench.scenario import Scenario, Twin
from bench.script import MARGIN, POLL, Run
from queue_core import Queue


class TakesAtOnce(Queue):
    """Everything as in the sound queue, but a claim takes what is queued, whether it is due or not."""

    CLAIM: ClassVar[LiteralString] = Queue.CLAIM.replace(" AND run_at <= now()", "")


delayed = Scenario(
    name="delayed",
    claim="A job with a delay is never begun before its time, and at the latest two polls and a margin after it.",
    row=44,
    origin="A2",
    fault="a job is put in with a delay of one and a half leases",
    sham="only a job that is due at once is put in",
    twins=[Twin(TakesAtOnce, "early")],
    checks=[never_early, recovered, nothing_lost],
    recovery=False,
    knobs={"delay": 1.5},
    needs=("delay",),
)

COLUMNS = ("id", "state", "due", "attempt")
SLACK = 2 * POLL + MARGIN  # two looks at the queue; the margin is for the machine


@delayed.script
def _(run: Run) -> None:
    delay = run.knob("delay")
    run.worker("worker")
    later = Later(run, "later", delay)
    run.fault(later)
    now = run.enqueue("now", lasts=0)
    run.until_over([now], within=5)
    run.observe("the job with the delay, and one that came after it", *later.jobs, now, columns=COLUMNS)

    run.all_finished_within([*later.jobs, now], delay + SLACK, bound="the delay, two polls and a margin")
    run.observe("the end", *later.jobs, now, columns=COLUMNS)
    for start in starts(run.history.events(), later.target):
        run.figure("begun after", f"{start['t'] - later.asked:.2f} s, for a delay of {delay * run.lease:.2f} s")
