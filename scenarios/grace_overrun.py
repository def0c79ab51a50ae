"""A job takes longer than a deploy waits: the worker gives it back before it is killed, and another has it at once.

A worker that its orchestrator kills gives nothing back, and its job waits for the lease to end. So a worker needs a
deadline of its own, between SIGTERM and SIGKILL, at which it gives its jobs back.
"""

from bench.checks.ending import nothing_lost, recovered
from bench.checks.stopping import clean_exit
from bench.checks.timing import in_time
from bench.faults.evict import Evict
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Job, Worker


class KeepsRunning(Worker):
    """Everything as in the sound worker, but on a forced stop it does not give back the jobs that have not ended."""

    def release_running(self, jobs: list[Job]) -> None:
        return None


class NoDeadline(Worker):
    """Everything as in the sound worker, but it has no deadline of its own: its stop is never forced."""

    def grace_left(self) -> float:
        return float("inf")


grace_overrun = Scenario(
    name="grace-overrun",
    claim="A job that outlasts its worker's grace is given back before SIGKILL comes, and another begins it at once.",
    row=17,
    origin="A1 A2 P",
    fault="SIGTERM to the worker in the middle of a job that does not end, and SIGKILL if it lives 1.5 leases later",
    sham="no signal",
    twins=[
        Twin(KeepsRunning, "slow-recovery"),
        Twin(NoDeadline, "unclean-exit", also={"slow-recovery": "a worker that is killed gives nothing back"}),
    ],
    checks=[in_time, clean_exit, recovered, nothing_lost],
    recovery=False,
    knobs={"grace": 0.5, "kill": 1.5},
    needs=("grace",),
)


@grace_overrun.script
def _(run: Run) -> None:
    deploy = run.worker("deploy", grace=run.knob("grace"))
    job = run.enqueue()
    job.until_started(by=deploy)
    run.worker("next")

    with run.fault(Evict(deploy, during=job, within=run.knob("kill"))):
        run.observe("the job before the worker's time is up", job)
    freed = job.runs_within(2 / 3, bound="before its lease ends: two thirds of it are left", late="slow-recovery")
    run.observe("its time is up: does a living worker have the job?", job, seen="yes" if freed else "no")

    run.worker("rescuer", reclaim_every=0.5)
    job.finish()
    job.finished_within(5, bound="lease + reclaim interval, for what was not given back")
    run.observe("the end", job, columns=("id", "state", "attempt", "claim"))
