"""Scripts whose arms have a server of their own."""

from collections.abc import Callable

from bench.checks.ending import nothing_lost
from bench.faults.base import Fault
from bench.faults.crash import Crash, Restart
from bench.job import Job
from bench.scenario import Scenario, Script
from bench.script import Run


def scenario(script: Script, name: str = "private") -> Scenario:
    """One without twins, so of two arms: with the fault and without."""
    return Scenario(name, "-", 34, "test", "a crash", "none", [], [nothing_lost], private=True, run=script)


def once(fault: Callable[[Run, Job], Fault]) -> Scenario:
    """The fault in the middle of a job, which then ends."""

    def script(run: Run) -> None:
        worker, job = run.worker("worker"), run.enqueue()
        job.until_started(by=worker)
        run.fault(fault(run, job))
        job.finish()
        job.until_finished(by=worker)

    return scenario(script)


def again_and_again(run: Run) -> None:
    """One crash after another, until the bench ends."""
    worker, job = run.worker("worker"), run.enqueue()
    job.until_started(by=worker)
    while True:
        for fault in (Crash, Restart):
            run.fault(fault(run, during=job))
            run.let_pass(0.01)


crash = once(Crash)
restart = once(Restart)
endless = scenario(again_and_again, "endless")
