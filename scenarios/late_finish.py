"""A worker that was paused past its lease comes back and finishes: it is refused, and told; the result is the owner's.

Two executions can't be avoided after such a pause. What can be is that the late one writes over the owner's. The row is
looked at between the two finishes, since the final state hides whose result it is.
"""

from typing import ClassVar, LiteralString

from bench.checks.ending import nothing_lost, recovered
from bench.checks.fencing import late_finish_refused
from bench.faults.pause import Pause
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Queue


class CompleteByAnyone(Queue):
    """Everything as in the sound queue, but a finish is taken from anyone, whoever holds the job."""

    COMPLETE: ClassVar[LiteralString] = """
        UPDATE jobs AS j
        SET state = 'done', leased_by = NULL, leased_until = NULL, finished_at = now(), updated_at = now()
        FROM unnest(%(ids)s::bigint[], %(claims)s::bigint[]) AS own (id, claim)
        WHERE j.id = own.id
        RETURNING own.id, own.claim
    """


late_finish = Scenario(
    name="late-finish",
    claim="A finish that comes after the job was lost is refused, and its worker told; the owner's is accepted.",
    row=7,
    origin="A1 P",
    fault="the owner is paused until its lease is over and the job has another owner",
    sham="no pause",
    twins=[
        Twin(
            CompleteByAnyone,
            "stale-finish-accepted",
            fails_in={"self-reclaim": "a finish that is taken from anyone is taken for any claim, too"},
        )
    ],
    checks=[late_finish_refused, recovered, nothing_lost],
    family="guards",
)


@late_finish.script
def _(run: Run) -> None:
    paused = run.worker("paused")
    job = run.enqueue()
    job.until_started(by=paused)
    owner = run.worker("owner")
    job.until_renewed(by=paused)

    with run.fault(Pause(paused, during=job)):
        run.until_lease_over(job, within=1.5)
        back = run.reclaim()
        run.observe("what a rival's reclaim gives back", job, seen=back)
        run.offer(job, to=owner)

    job.finish(by=paused)
    job.until_outcome(of=paused)
    run.observe("the late one has finished", job)

    job.finish()
    job.finished_within(10, bound="it was told to end")
    run.observe("the end", job)
