"""A reclaim that acts on what it has read before undoes what was finished meanwhile.

Two leases have run out. The owner of the job `abandoned` is dead; the owner of the other is alive, and may still finish
it, since nobody has taken it back. A reclaim (1) reads both rows and waits at the first, which the bench has locked;
meanwhile (2) the living owner finishes; then (3) the lock goes, and the reclaim writes.

The sound reclaim does not get into this place: it locks what it reads, and passes over what it can't lock. Whoever
reads first and writes later must ask again as it writes. The twin asks for the number of the claim, and that is not
enough: the job is done, and it is still the same claim.
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
    claim="A job that was finished while a reclaim was under way stays done.",
    row=10,
    origin="P",
    fault="one owner is killed, and both jobs' rows are locked until their leases are over",
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
    (abandoned,) = run.load(1, "abandoned", orders=[])
    abandoned.until_started(by=dying)
    owner = run.worker("owner")
    job = run.enqueue()
    job.until_started(by=owner)
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
        job.finish(by=owner)
        job.until_outcome(of=owner)
        run.observe("the living owner has finished", abandoned, job, columns=COLUMNS)
        run.premise(job.row["state"] == "done", "its finish was refused, so there is nothing to undo")
    back = reclaim.result()
    run.observe("what came of that reclaim", abandoned, job, columns=COLUMNS, seen=back)

    back = run.reclaim()
    run.observe("what the next reclaim gives back", abandoned, job, columns=COLUMNS, seen=back)
    abandoned.finish()
    job.finish()
    run.all_finished_within([abandoned, job], 10, bound="they are free, and a worker is idle")
    run.observe("the end", abandoned, job, columns=COLUMNS)
