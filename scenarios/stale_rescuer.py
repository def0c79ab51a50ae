"""A reclaim that is held up acts on what it has read before; what was finished meanwhile must stay finished.

It looks at two jobs whose leases are over: one is abandoned, the other's owner is slow, but not dead, and finishes it
while the reclaim waits for the row of the first. The sound reclaim is never in this place: it locks what it reads, and
passes over what it can't lock. Whoever reads first and writes later has to ask again as it writes, and to ask for the
claim's number is not enough: the job is done, and it is still the same claim.
"""

from typing import ClassVar, LiteralString

from bench.checks.ending import nothing_lost, recovered
from bench.checks.fencing import done_stays_done
from bench.faults.hold import Hold
from bench.faults.kill import Kill
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Queue


class ReclaimBlindToState(Queue):
    """Everything as in the sound queue, but a reclaim reads without a lock, and writes without a look at the state."""

    RECLAIM: ClassVar[LiteralString] = (
        Queue.RECLAIM.replace("FOR UPDATE SKIP LOCKED", "")
        .replace("AND j.leased_until < now()", "")
        .replace("AND j.state = 'running'", "")
    )


stale_rescuer = Scenario(
    name="stale-rescuer",
    claim="A job that was finished while a reclaim was under way stays done, whatever the reclaim had read before.",
    row=10,
    origin="P",
    fault="one owner is killed, and its job's row locked; another's is, too, until both leases are over",
    sham="nobody is killed, and no row is locked",
    twins=[Twin(ReclaimBlindToState, "done-undone")],
    checks=[done_stays_done, recovered, nothing_lost],
    needs=("hold", "outcome"),
    family="guards",
)

COLUMNS = ("id", "state", "leased_by", "lease_alive", "attempt", "claim")


@stale_rescuer.script
def _(run: Run) -> None:
    dying = run.worker("dying")
    (ahead,) = run.load(1, "ahead", orders=[])
    ahead.until_started(by=dying)
    owner = run.worker("owner")
    job = run.enqueue()
    job.until_started(by=owner)
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
        job.finish(by=owner)
        job.until_outcome(of=owner)
        run.observe("the owner has finished", ahead, job, columns=COLUMNS)
    back = reclaim.result()
    run.observe("what came of that reclaim", ahead, job, columns=COLUMNS, seen=back)

    back = run.reclaim()
    run.observe("what the next reclaim gives back", ahead, job, columns=COLUMNS, seen=back)
    ahead.finish()
    job.finish()
    run.all_finished_within([ahead, job], 2, bound="they are free, and a worker is idle")
    run.observe("the end", ahead, job, columns=COLUMNS)
