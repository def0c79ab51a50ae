"""A job that kills its worker is begun as often as it has attempts, and no more; the jobs behind it are done meanwhile.

Nobody is left to tell the queue that such an attempt has failed. If a queue counts an attempt only when its failure is
reported, it never counts these: the job comes back for ever, and kills a worker each time.
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
    """Everything as in the sound queue, but a reclaim gives the attempt back: only a reported failure counts."""

    RECLAIM: ClassVar[LiteralString] = Queue.RECLAIM.replace(
        "recovered = j.recovered + 1,", "recovered = j.recovered + 1, attempt = j.attempt - 1,"
    )


poison_worker = Scenario(
    name="poison-worker",
    claim="A job that kills every worker ends `failed` once its attempts are spent, and the jobs behind it are done.",
    row=15,
    origin="A1 P",
    fault="the job kills the worker that runs it, each time that it is begun",
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
    poison.finish()  # for the sham: the poison works before this is heard
    run.observe("the job just afterwards", poison)
    run.all_finished_within(behind, 10, bound="the supervisor starts the next worker")
    run.observe("the jobs behind it", *behind, columns=("id", "state", "attempt"))

    def decided() -> bool:
        return poison.starts > ATTEMPTS or run.rows([poison])[0]["state"] in OVER

    run.poll(decided, within=15 + ATTEMPTS * run.terms.longer / run.lease)  # each death is a recovery
    run.observe(
        f"the end, after {poison.starts} starts",
        poison,
        columns=("id", "state", "attempt", "max_attempts", "last_error"),
    )
