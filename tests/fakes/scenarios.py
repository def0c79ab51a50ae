"""The smallest scripts that show what a fake does wrong."""

from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import handed_out_once, no_overlap
from bench.checks.stopping import clean_exit, no_start_after_sigterm
from bench.faults.crowd import Crowd
from bench.faults.terminate import Terminate
from bench.scenario import Scenario
from bench.script import Run

one_job = Scenario(
    name="one-job",
    claim="Each job runs once, to its end.",
    row=1,
    origin="test",
    fault="another worker comes",
    sham="no other worker comes",
    twins=[],
    checks=[no_overlap, handed_out_once, recovered, nothing_lost],
)


@one_job.script
def _(run: Run) -> None:
    run.worker("worker-1")
    jobs = [run.enqueue(lasts=0.5), *run.load(2)]
    run.fault(Crowd(run, "worker", 1, first=2))
    run.all_finished_within(jobs, 2, bound="workers are idle")
    run.reclaim()
    run.observe("the end", *jobs)


told_to_stop = Scenario(
    name="told-to-stop",
    claim="A worker that is told to stop takes no other job.",
    row=2,
    origin="test",
    fault="SIGTERM",
    sham="no signal",
    twins=[],
    checks=[no_start_after_sigterm, clean_exit, no_overlap],
)


@told_to_stop.script
def _(run: Run) -> None:
    worker = run.worker("worker")
    job = run.enqueue()
    job.until_started(by=worker)
    run.fault(Terminate(worker, during=job))
    run.enqueue("next").finish()
    job.finish()
    job.until_finished(by=worker)
    run.exited_within(worker, 1)
