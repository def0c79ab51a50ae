"""Jobs that were put in before there was ever a worker are run as soon as there is one.

A queue is deployed before its workers are, and is empty of them again after each bad night. A worker that begins at the
end of the stream, or that only hears of new jobs, never learns of what was there before it came.
"""

from typing import ClassVar, LiteralString

from bench.checks.ending import nothing_lost, recovered
from bench.events import starts
from bench.faults.early import Early
from bench.scenario import Scenario, Twin
from bench.script import Run
from bench.waits import HEARD
from queue_core import Queue


class BeginsAtTheEnd(Queue):
    """Everything as in the sound queue, but a claim takes only what was put in since its worker connected."""

    CLAIM: ClassVar[LiteralString] = Queue.CLAIM.replace(
        "state = 'queued'",
        "state = 'queued' AND created_at > (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())",
    )


first_worker = Scenario(
    name="first-worker",
    claim="Jobs that were put in before any worker was ever started are run once one is.",
    row=48,
    origin="P",
    fault="three jobs are put in before the first worker is started",
    sham="no job is put in before the first worker is ready",
    twins=[Twin(BeginsAtTheEnd, "stranded")],
    checks=[recovered, nothing_lost],
    recovery=False,
)

COLUMNS = ("id", "state", "attempt")


@first_worker.script
def _(run: Run) -> None:
    early = Early(run, "early", 3)
    run.fault(early)
    worker = run.worker("worker", listen=True)
    ready = run.history.now()

    within = max(3.0, HEARD / run.lease)  # it has to look once, and that is all
    run.all_finished_within(early.jobs, within, bound="they are there, and a worker takes jobs")
    run.observe("what came before the worker", *early.jobs, columns=COLUMNS)

    later = run.load(2, "later")
    run.all_finished_within(later, 10, bound="a worker takes jobs")
    run.observe("the end", *early.jobs, *later, columns=COLUMNS)
    begun = [start["t"] - ready for job in early.jobs for start in starts(run.history.events(), job.name, worker.name)]
    if begun:
        run.figure("begun after", f"{max(begun):.2f} s, counted from when the worker took jobs")
