"""A reclaim that acts on what it has read before takes the job from whoever got it meanwhile.

The delay is that of stale-rescuer. There the job is done by the time the reclaim writes. Here its former owner has
given it back, and it has a new one. The twin asks for the state, and that is not enough: the job is `running`, as the
reclaim had read it. Only the number tells this claim from the one whose lease had run out.
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
    fault="one owner is killed, both jobs' rows are locked until their leases are over, and the other gets SIGTERM",
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
    (abandoned,) = run.load(1, "abandoned", orders=[])
    abandoned.until_started(by=dying)
    former = run.worker("former", grace=0)
    job = run.enqueue()
    job.until_started(by=former)
    owner = run.worker("owner")
    reclaimer = run.producer("reclaimer")

    run.fault(Kill(dying, during=abandoned))
    with run.fault(Hold(run, abandoned)):
        with run.fault(Hold(run, job)):  # its owner's heartbeat waits for this row, so that the lease runs out
            run.until_lease_over(abandoned, job, within=1.5)
            reclaim = reclaimer.reclaim_later()
            waits = reclaimer.until_waiting(reclaim)
            run.observe(
                "a reclaim comes by", abandoned, job, columns=COLUMNS, seen="it waits" if waits else "it is through"
            )
        run.fault(Terminate(former, during=job))  # its grace is 0: it gives the job back at once
        run.exited_within(former, 1)
        got = run.offer(job, to=owner)
        run.observe("what the new owner gets", abandoned, job, columns=COLUMNS, seen=got)
    back = reclaim.result()
    run.observe("what came of that reclaim", abandoned, job, columns=COLUMNS, seen=back)

    back = run.reclaim()
    run.observe("what the next reclaim gives back", abandoned, job, columns=COLUMNS, seen=back)
    abandoned.finish()
    job.finish()
    run.all_finished_within([abandoned, job], 10, bound="they are free, and a worker is idle")
    run.observe("the end", abandoned, job, columns=COLUMNS)
