"""A job whose first attempts raise is tried again, no later than its queue says, and is done in the end.

A failed attempt is only half of the mechanism: somebody has to bring the job back. Where that is a part of its own, a
scheduler of retries, say, it can be missing, and every failed job then waits for it: queued, never failed, never run.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, LiteralString

from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import no_overlap
from bench.events import ending, finish, starts
from bench.faults.errors import Errors
from bench.history import Event
from bench.orders import fail
from bench.scenario import Scenario, Twin
from bench.script import MARGIN, POLL, Run
from queue_core import Queue


class NobodyBringsItBack(Queue):
    """Everything as in the sound queue, but a retry is put aside for a scheduler, and there is none."""

    RETRY: ClassVar[LiteralString] = Queue.RETRY.replace(
        "run_at = now() + make_interval(secs => %(retry_in)s)", "run_at = 'infinity'"
    )


SLACK = 2 * POLL + MARGIN  # two looks at the queue; the margin is for the machine

retry_gaps = Scenario(
    name="retry-gaps",
    claim="A job that raises in its first two attempts is tried again, each time within its backoff, and is then done.",
    row=50,
    origin="P",
    fault="the handler raises in the first two of three attempts",
    sham="no error",
    twins=[Twin(NobodyBringsItBack, "stranded")],
    checks=[recovered, no_overlap, nothing_lost],
    recovery=False,
    knobs={"backoff": 0.2},
    needs=("max_attempts",),
    retries=True,
)

ATTEMPTS = 3


def gaps(events: Sequence[Event], job: str) -> list[str]:
    """The seconds from the end of each attempt to the start of the next."""
    begun = starts(events, job)
    return [f"{later['t'] - ending(events, earlier)['t']:.2f} s" for earlier, later in pairwise(begun)]


@retry_gaps.script
def _(run: Run) -> None:
    backoff = run.knob("backoff")
    worker = run.worker("worker", backoff=(backoff, backoff))
    job = run.enqueue("letter", max_attempts=ATTEMPTS)
    job.until_started(by=worker)

    run.fault(Errors({job: fail("connection reset")}, times=ATTEMPTS - 1))
    job.finish()  # an attempt that was told to raise does so before it hears this
    wait = run.retried_within(backoff)
    for attempt in range(2, ATTEMPTS + 1):

        def tried_again(events: Sequence[Event], times: int = attempt) -> bool:
            return len(starts(events, job.name)) >= times or finish(events, job.name) is not None

        bound = "the longest wait before a retry, two polls and a margin"
        run.wait(f"{job.name} done, or its attempt {attempt} begun", tried_again, wait + SLACK, [job.name], bound)
    run.observe("after the attempts that raised", job, columns=("id", "state", "due", "attempt", "last_error"))

    job.finished_within(3, bound="it was told to end")
    run.observe("the end", job, columns=("id", "state", "attempt"))
    if waited := gaps(run.history.events(), job.name):
        run.figure("between the attempts", f"{' and '.join(waited)}, for waits of {wait * run.lease:.2f} s at most")
