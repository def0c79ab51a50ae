"""A worker that lost a job and claimed it again is two owners under one name: only the claim's number tells them apart.

The first execution's finish comes from the right worker and for the right job, and is still too late.
"""

from typing import ClassVar, LiteralString

from bench.checks.ending import nothing_lost, recovered
from bench.checks.fencing import late_finish_refused
from bench.faults.pause import Pause
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Queue


class FencedByName(Queue):
    """Everything as in the sound queue, but a finish is fenced by the worker's name instead of the claim's number."""

    COMPLETE: ClassVar[LiteralString] = Queue.COMPLETE.replace("AND j.claim = own.claim", "")


self_reclaim = Scenario(
    name="self-reclaim",
    claim="The finish of a claim that is over is refused, even if the job's owner has the same name.",
    row=9,
    origin="P",
    fault="the worker is paused until its lease is over, and its other slot gets the job again",
    sham="no pause",
    twins=[Twin(FencedByName, "stale-finish-accepted")],
    checks=[late_finish_refused, recovered, nothing_lost],
    needs=("slots",),
    family="guards",
)


@self_reclaim.script
def _(run: Run) -> None:
    worker = run.worker("worker", slots=2)
    job = run.enqueue()
    first = job.until_started(by=worker)

    with run.fault(Pause(worker, during=job)):
        run.until_lease_over(job, within=1.5)
        back = run.reclaim()
        run.observe("what a reclaim gives back", job, seen=back)
    got = run.offer(job, to=worker, since=1)  # its first start does not count
    run.observe("what its other slot gets", job, columns=("id", "state", "leased_by", "attempt", "claim"), seen=got)

    job.finish(execution=first)
    job.until_outcome(of=worker)
    run.observe("after the first execution's finish", job, columns=("id", "state", "leased_by", "attempt", "claim"))

    job.finish()
    job.finished_within(10, bound="it was told to end")
    run.observe("the end", job, columns=("id", "state", "attempt"))
