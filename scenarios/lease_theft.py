"""A worker that was paused past its lease comes back, and its heartbeat is first: it must not take the job back.

The same pause as in late-finish, which differs by the guard that is missing: there at the finish, here at the renewal.
"""

from typing import ClassVar, LiteralString

from bench.checks.ending import nothing_lost, recovered
from bench.checks.fencing import one_owner
from bench.faults.pause import Pause
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Queue


class HeartbeatByAnyone(Queue):
    """Everything as in the sound queue, but a lease is renewed for anyone, whoever holds the job."""

    HEARTBEAT: ClassVar[LiteralString] = """
        UPDATE jobs AS j
        SET leased_until = clock_timestamp() + make_interval(secs => %(lease)s), updated_at = now()
        FROM unnest(%(ids)s::bigint[], %(claims)s::bigint[]) AS own (id, claim)
        WHERE j.id = own.id AND j.state = 'running'
        RETURNING own.id, own.claim
    """


lease_theft = Scenario(
    name="lease-theft",
    claim="The heartbeat of one who has lost a job is refused, and its worker told: the job has one owner.",
    row=8,
    origin="A1",
    fault="the owner is paused until its lease is over and the job has another owner",
    sham="no pause",
    twins=[Twin(HeartbeatByAnyone, "two-owners")],
    checks=[one_owner, recovered, nothing_lost],
    needs=("renewed",),
    family="guards",
)


@lease_theft.script
def _(run: Run) -> None:
    paused = run.worker("paused")
    job = run.enqueue()
    job.until_started(by=paused)
    owner = run.worker("owner")
    job.until_renewed(by=paused)

    with run.fault(Pause(paused, during=job)):
        run.premise(job.since_renewed(by=paused) < 0.3, "the pause came late: another renewal may have been on its way")
        run.until_lease_over(job, within=1.5)
        back = run.reclaim()
        run.observe("what a rival's reclaim gives back", job, seen=back)
        run.offer(job, to=owner)

    job.until_heartbeat(of=paused)
    run.observe("the late one's heartbeat has beaten", job)

    job.finish()
    job.finished_within(10, bound="it was told to end")
    run.observe("the end", job)
