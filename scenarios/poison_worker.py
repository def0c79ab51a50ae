"""A job that kills its process is begun as often as it has attempts, and no more; those behind it are done meanwhile.

Nobody is left to tell the queue that such an attempt has failed. A queue that counts an attempt where its failure is
told never counts these: the job comes back for ever, and each time takes a worker with it.
"""

from typing import ClassVar, LiteralString

from bench.checks.attempts import attempts_bounded
from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import no_overlap
from bench.faults.poison import Poison
from bench.scenario import Scenario, Twin
from bench.script import Run
from bench.waits import OVER
from queue_core import Queue


class DeathIsNoAttempt(Queue):
    """Everything as in the sound queue, but a reclaim gives the attempt back: only a failure that is told counts."""

    RECLAIM: ClassVar[LiteralString] = Queue.RECLAIM.replace(
        "recovered = j.recovered + 1,", "recovered = j.recovered + 1, attempt = j.attempt - 1,"
    )


poison_worker = Scenario(
    name="poison-worker",
    claim="A job that kills its worker each time has failed once its attempts are spent; those behind it are done.",
    row=15,
    origin="A1 P",
    fault="the job kills the process that runs it, each time, and a supervisor starts the next",
    sham="the job ends as it should",
    twins=[
        Twin(
            DeathIsNoAttempt,
            "endless",
            also={"stranded": "a job that comes back for ever is not finished by anybody"},
        )
    ],
    checks=[attempts_bounded, no_overlap, recovered, nothing_lost],
    needs=("max_attempts",),
)

ATTEMPTS = 3


@poison_worker.script
def _(run: Run) -> None:
    worker = run.worker("worker", reclaim_every=0.25, supervised=True)
    poison = run.enqueue("poison", max_attempts=ATTEMPTS)
    poison.until_started(by=worker)
    behind = run.load(4, "behind")

    run.fault(Poison(worker, during=poison))
    poison.finish()
    run.observe("it has killed its worker: the queue still has it for running", poison)
    run.all_finished_within(behind, 10, bound="the supervisor starts the next worker")
    run.observe("those behind it", *behind, columns=("id", "state", "attempt"))

    def decided() -> bool:
        return poison.starts > ATTEMPTS or run.rows([poison])[0]["state"] in OVER

    run.poll(decided, within=15)
    run.observe(
        f"the end, after {poison.starts} starts",
        poison,
        columns=("id", "state", "attempt", "max_attempts", "last_error"),
    )
