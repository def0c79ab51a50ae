"""A job is handed out once, however many claim it at the same moment.

The race is not left to luck. The bench holds a lock on the job's row while everybody looks: whoever selects first and
updates afterwards has then read the row, and waits at its update. When all wait, the bench lets go. (Of a stranger
whose rows can't be locked it is left to luck: there a hundred jobs and ten claimers must do.)
"""

from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import handed_out_once
from bench.faults.crowd import Crowd
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Job, Queue


class SelectThenUpdate(Queue):
    """Everything as in the sound queue, but a claim is two statements: a select, and then an update by id."""

    def claim(self, worker: str, limit: int, lease: float, queue: str = "default", version: int = 1) -> list[Job]:
        found = self.connection.execute(
            "SELECT id, kind, payload, version, priority, run_at, turn, max_attempts FROM jobs"
            " WHERE state = 'queued' AND queue = %s AND run_at <= now() ORDER BY turn, id LIMIT %s",
            (queue, limit),
        ).fetchall()
        jobs = []
        for id, kind, payload, version, priority, run_at, turn, max_attempts in found:
            taken = self.connection.execute(
                "UPDATE jobs SET state = 'running', attempt = attempt + 1, claim = claim + 1, leased_by = %s,"
                " leased_until = clock_timestamp() + make_interval(secs => %s), finished_at = NULL"
                " WHERE id = %s RETURNING claim, attempt",
                (worker, lease, id),
            ).fetchone()
            if taken:
                jobs.append(
                    Job(id, taken[0], queue, kind, payload, version, priority, run_at, turn, taken[1], max_attempts)
                )
        return jobs


claim_race = Scenario(
    name="claim-race",
    claim="Each job is handed out once: one job to one of eight claimers, and a hundred jobs to ten.",
    row=4,
    origin="A1 A2",
    fault="eight claimers at once, then ten",
    sham="one claimer",
    twins=[Twin(SelectThenUpdate, "double-claim")],
    checks=[handed_out_once, recovered, nothing_lost],
    recovery=False,
)


@claim_race.script
def _(run: Run) -> None:
    job = run.enqueue()
    with run.holding(job) as barrier:
        first = run.worker("claimer-1")
        crowd = Crowd(run, "claimer", 7, first=2)
        run.fault(crowd)
        run.until_gathered(barrier, [first, *crowd.workers], within=0.5)
    job.until_waiters_began(within=2)
    run.offer(job, to=first)
    run.observe("the bench has let go of the row", job)

    run.fault(Crowd(run, "claimer", 2, first=9))
    many = run.load(100)
    job.finish()
    job.finished_within(10, bound="a claimer is idle")
    run.all_finished_within(many, 30, bound="claimers are idle")  # one that polls, and a job each time
    run.observe("the end", job)
