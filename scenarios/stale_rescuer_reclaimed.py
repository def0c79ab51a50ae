"""A reclaim that is held up acts on what it has read before; who has the job by then must keep it.

The same delay as in stale-rescuer, which differs by the guard that is missing: there the job is done by the time the
reclaim writes, here it has another owner. To ask for the state is not enough: the job is `running`, as the reclaim had
read it, and only the number says that it is not the claim that had run out.
"""

from typing import ClassVar, LiteralString

from bench.checks.ending import nothing_lost, recovered
from bench.checks.fencing import owner_left_alone
from bench.faults.hold import Hold
from bench.faults.kill import Kill
from bench.faults.terminate import Terminate
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Queue


class ReclaimBlindToClaim(Queue):
    """Everything as in the sound queue, but a reclaim reads without a lock, and writes without a look at the claim."""

    RECLAIM: ClassVar[LiteralString] = (
        Queue.RECLAIM.replace("FOR UPDATE SKIP LOCKED", "")
        .replace("AND j.leased_until < now()", "")
        .replace("AND j.claim = expired.claim", "")
    )


stale_rescuer_reclaimed = Scenario(
    name="stale-rescuer-reclaimed",
    claim="A job that was handed on while a reclaim was under way is left to its new owner.",
    row=11,
    origin="P",
    fault="one owner is killed, and its job's row locked; another's is, until both leases are over; then SIGTERM to it",
    sham="nobody is killed or told to stop, and no row is locked",
    twins=[Twin(ReclaimBlindToClaim, "owner-evicted")],
    checks=[owner_left_alone, recovered, nothing_lost],
    needs=("hold", "grace"),
    family="guards",
)

COLUMNS = ("id", "state", "leased_by", "lease_alive", "attempt", "claim")


@stale_rescuer_reclaimed.script
def _(run: Run) -> None:
    dying = run.worker("dying")
    (ahead,) = run.load(1, "ahead", orders=[])
    ahead.until_started(by=dying)
    former = run.worker("former", grace=0)
    job = run.enqueue()
    job.until_started(by=former)
    owner = run.worker("owner")
    rescuer = run.producer("rescuer")

    run.fault(Kill(dying, during=ahead))
    with run.fault(Hold(run, ahead)):
        with run.fault(Hold(run, job)):  # for which its owner's heartbeat waits, too, and so the lease runs out
            run.until_lease_over(ahead, job, within=1.5)
            reclaim = rescuer.reclaim_later()
            waits = rescuer.until_waiting(reclaim)
            run.observe(
                "a reclaim comes by", ahead, job, columns=COLUMNS, seen="it waits" if waits else "it is through"
            )
        run.fault(Terminate(former, during=job))  # with no time to end the job, so that it gives it back
        run.exited_within(former, 0.5)
        got = run.offer(job, to=owner)
        run.observe("what the next owner gets", ahead, job, columns=COLUMNS, seen=got)
    back = reclaim.result()
    run.observe("what came of that reclaim", ahead, job, columns=COLUMNS, seen=back)

    back = run.reclaim()
    run.observe("what the next reclaim gives back", ahead, job, columns=COLUMNS, seen=back)
    ahead.finish()
    job.finish()
    run.all_finished_within([ahead, job], 2, bound="they are free, and a worker is idle")
    run.observe("the end", ahead, job, columns=COLUMNS)
