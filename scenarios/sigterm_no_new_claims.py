"""After SIGTERM a worker begins no job, not even one that it has claimed ahead, and gives those back at once."""

from bench.checks.ending import nothing_lost, recovered
from bench.checks.stopping import clean_exit, no_start_after_sigterm, unstarted_freed
from bench.faults.terminate import Terminate
from bench.orders import FINISH
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Job, Worker


class ClaimsGoOn(Worker):
    """Everything as in the sound worker, but it goes on to claim and to begin jobs after it was told to stop."""

    def may_start(self) -> bool:
        return True


class KeepsUnstarted(Worker):
    """Everything as in the sound worker, but when told to stop it does not give back what it has claimed ahead."""

    def release_unstarted(self, jobs: list[Job]) -> None:
        return None


sigterm_no_new_claims = Scenario(
    name="sigterm-no-new-claims",
    claim="After SIGTERM a worker begins no job, and by its exit it has given back what it had claimed ahead.",
    row=6,
    origin="A1 A2 P",
    fault="SIGTERM to a worker that runs one job and has claimed two ahead",
    sham="no signal",
    twins=[Twin(ClaimsGoOn, "claimed-after-sigterm"), Twin(KeepsUnstarted, "not-freed")],
    checks=[no_start_after_sigterm, unstarted_freed, clean_exit, recovered, nothing_lost],
    recovery=False,
)


@sigterm_no_new_claims.script
def _(run: Run) -> None:
    job = run.enqueue("job")
    ahead = [run.enqueue(name, orders=[FINISH]) for name in ("ahead-1", "ahead-2")]
    told = run.worker("told", prefetch=2)
    job.until_started(by=told)
    run.observe("who holds the three jobs", job, *ahead)
    if run.offers("prefetch"):
        run.premise(all(each.is_held(by=told) for each in ahead), "the worker has not claimed ahead")

    run.fault(Terminate(told, during=job))
    run.until_state(ahead, "queued", within=0.5)
    run.observe("the jobs while the first is still running", job, *ahead)

    job.finish()
    job.until_ended(by=told)
    run.exited_within(told, 2)
    run.observe("the jobs after the end of the first", job, *ahead)

    run.worker("next", reclaim_every=0.5)
    run.all_finished_within([job, *ahead], 5, bound="lease + reclaim interval, for what was not given back")
    run.observe("the end", job, *ahead, columns=("id", "state", "attempt"))
