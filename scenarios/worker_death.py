"""Who holds a job when its worker dies? Not a lock, and not the lease: the state does, until a reclaim gives it back.

The first observation alone would prove nothing: while the lease is alive, "the lease holds it" and "the state holds it"
predict the same. Only the third, after the lease has run out, tells them apart.
"""

from typing import ClassVar, LiteralString

from bench.checks.ending import attempts_counted, nothing_lost, recovered
from bench.checks.ownership import held_by_state
from bench.faults.kill import Kill
from bench.job import Job
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Job as ClaimedJob
from queue_core import Queue


class ReclaimFindsNothing(Queue):
    """Everything as in the sound queue, but a reclaim finds nothing to give back."""

    def reclaim(self, limit: int = 1000) -> list[int]:
        return []


class ClaimLooksAtLease(Queue):
    """Everything as in the sound queue, but a claim asks whether a lease is over, and not for the state."""

    CLAIM: ClassVar[LiteralString] = Queue.CLAIM.replace(
        "state = 'queued'", "finished_at IS NULL AND coalesce(leased_until < now(), true)"
    )


class ClaimHoldsLock(Queue):
    """Everything as in the sound queue, but a claim keeps its transaction, and so its row lock, until the next one."""

    def claim(
        self, worker: str, limit: int, lease: float, queue: str = "default", version: int = 1
    ) -> list[ClaimedJob]:
        self.connection.execute("COMMIT")
        self.connection.execute("BEGIN")
        return super().claim(worker, limit, lease, queue, version)


worker_death = Scenario(
    name="worker-death",
    claim="The state `running` holds a job; neither a lock nor a live lease does, and only a reclaim gives it back.",
    row=1,
    origin="A1",
    fault="kill -9 of the owner in the middle of the job, at half a lease",
    sham="the owner is not killed",
    twins=[
        Twin(ReclaimFindsNothing, "stranded"),
        Twin(ClaimLooksAtLease, "claimed-while-running"),
        Twin(
            ClaimHoldsLock,
            "freed-at-death",
            also={"attempt-not-counted": "the claim dies with its transaction, and the attempt that it spent with it"},
        ),
    ],
    checks=[held_by_state, recovered, attempts_counted, nothing_lost],
    explanations={
        "lock": "a row lock holds the job",
        "lease": "a live lease holds the job",
        "state": "the state `running` holds the job",
    },
    article={"lease": 6.0},
)


def predictions(job: Job) -> dict[str, str]:
    """What another worker would get now if the lock held the job, or the lease, or the state."""
    return {
        "lock": "0 jobs" if job.is_running else "1 job",
        "lease": "1 job" if job.row["lease_alive"] == "f" else "0 jobs",
        "state": "0 jobs",
    }


@worker_death.script
def _(run: Run) -> None:
    dying = run.worker("dying")
    job = run.enqueue()
    job.until_started(by=dying)
    other = run.worker("other-1")

    job.at(0.5)
    run.fault(Kill(dying, during=job))
    predicted, got = predictions(job), run.offer(job, to=other)
    run.observe("dead owner, live lease: what another worker gets", job, seen=got, predicts=predicted)
    run.premise(job.row["lease_alive"] != "f", "the lease ran out before the first observation was made")
    run.dismiss(other)

    run.until_lease_over(job, within=2)
    run.observe("the lease has run out, and no reclaim has run", job)

    other = run.worker("other-2")
    predicted, got = predictions(job), run.offer(job, to=other)
    run.observe(
        "dead owner, expired lease, no lock: what yet another worker gets",
        job,
        columns=("id", "state", "leased_by", "lease_alive", "locked"),
        seen=got,
        predicts=predicted,
    )
    run.dismiss(other)

    back = run.reclaim()
    run.observe("what the reclaim gives back", job, columns=("id", "state", "leased_by", "attempt"), seen=back)
    run.worker("other-3")
    job.finish()
    job.finished_within(3, bound="it is free at once, and an idle worker polls every 0.1 L")
    run.observe("the end", job, columns=("id", "state", "attempt"))
