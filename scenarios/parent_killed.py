"""A worker's main process is killed, and its children live on: its job is back in time, and never runs twice at once.

What was the worker's word to its queue, its heartbeat and its connection, dies with the parent, and the job is given to
another. The child that runs it has not heard of that: it is nobody's now, and it goes on. It must end, or be known to
be at it still. A worker that is one process dies of it as a whole.
"""

from collections.abc import Sequence

from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import no_overlap
from bench.events import runs_alive, starts
from bench.faults.kill import KillParent
from bench.history import Event
from bench.scenario import Scenario, Twin
from bench.script import Run
from scenarios.child_killed import BACKOFF, BOUND, back_within, one_job
from scenarios.worker_death import ReclaimFindsNothing

parent_killed = Scenario(
    name="parent-killed",
    claim="When a worker's main process is killed its job is back in time, or is its child's still, and never both.",
    row=52,
    origin="P",
    fault="kill -9 of the worker's main process, and of none of its children",
    sham="no process is killed",
    twins=[Twin(ReclaimFindsNothing, "stranded")],
    checks=[recovered, no_overlap, nothing_lost],
    knobs={"interval": 0.5},
)


@parent_killed.script
def _(run: Run) -> None:
    interval = run.knob("interval")
    worker = run.worker("worker", reclaim_every=interval, backoff=(BACKOFF, BACKOFF))
    job = one_job(run)
    job.until_started(by=worker)
    run.worker("idle", reclaim_every=interval, backoff=(BACKOFF, BACKOFF))

    job.at(0.3)
    run.fault(KillParent(worker, during=job))
    killed = run.history.now()
    run.observe("just afterwards", job, columns=("id", "state", "leased_by", "lease_left", "attempt"))

    within = back_within(run)
    over = killed + within * run.lease + run.terms.longer

    def back(events: Sequence[Event]) -> bool:
        # All of that time: a child may be at it still, and another be given it meanwhile.
        begun_again = len(starts(events, job.name)) > 1
        return (begun_again or run.history.now() >= over) and runs_alive(events, job.name)

    run.wait(f"{job.name} runs, be it at a child of the dead", back, within, [job.name], bound=BOUND)
    run.observe("after that time", job, columns=("id", "state", "leased_by", "attempt"))
    again = starts(run.history.events(), job.name)[1:]
    if again:
        run.figure("back after", f"{again[0]['t'] - killed:.2f} s, at {again[0]['worker']}")

    job.finish()
    job.finished_within(5, bound="it was told to end")
    run.observe("the end", job, columns=("id", "state", "attempt"))
