"""A worker may be up and finish nothing: the ages tell so, and the depth of the queue does not.

The process is there and its connections are open, and the queue is as deep as it was. What changes is the time. A lease
has run out and nobody takes the job back; the oldest job has waited for longer than promised; and for longer than
promised no job was done. Each of the three rings an alarm.
"""

from bench.checks.alarms import alarms_ring_true
from bench.checks.ending import nothing_lost, recovered
from bench.faults.pause import Pause
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Limits, Queue, alarms

DEEP = 100
"""How many jobs make a deep queue, to somebody who looks at nothing else."""


class DepthOnly(Queue):
    """Everything as in the sound queue, but only a deep queue rings an alarm."""

    def alarms(self, limits: Limits) -> list[str]:
        return alarms(self.stats(), Limits(depth=DEEP))


silent_worker = Scenario(
    name="silent-worker",
    claim="A worker that is up and finishes nothing sets off three alarms: expired lease, oldest wait and silence.",
    row=46,
    origin="A1 A2",
    fault="the only worker is paused in the middle of a job, and nobody reclaims",
    sham="the worker is not paused",
    twins=[Twin(DepthOnly, "unseen")],
    checks=[alarms_ring_true, recovered, nothing_lost],
    needs=("table", "stats"),
)

FIGURES = """
    SELECT count(*) FILTER (WHERE state = 'queued') AS depth,
           count(*) FILTER (WHERE state = 'running' AND leased_until < now()) AS expired,
           round(extract(epoch FROM now() - min(run_at) FILTER (WHERE state = 'queued')), 2) AS oldest,
           CASE WHEN bool_or(state IN ('queued', 'running')) THEN round(extract(epoch FROM now() - greatest(
               min(coalesce(claimed_at, run_at)) FILTER (WHERE state IN ('queued', 'running')), max(finished_at)
           )), 2) END AS silence
    FROM jobs
"""


def look(run: Run, title: str, **limits: float) -> None:
    """Read the figures, ask the queue for its alarms, and read again: a limit that is passed in both must ring."""
    run.sample("figures", run.query(FIGURES))
    ringing = run.ask("stats", limits=limits)["alarms"]
    figures = run.query(FIGURES)
    run.sample("figures", figures)
    names = ", ".join(alarm.partition(":")[0] for alarm in ringing)
    run.observe(title, seen=f"alarm: {names}" if names else "no alarm", table=figures)


@silent_worker.script
def _(run: Run) -> None:
    promised = {"expired": 0, "oldest": run.lease, "silence": run.lease}
    worker = run.worker("worker")
    job = run.enqueue()
    job.until_started(by=worker)
    behind = run.load(3, "behind")
    look(run, "which alarms ring when all is fresh", **promised)

    with run.fault(Pause(worker, during=job)):
        job.finish()  # which a paused worker can't hear
        run.let_pass(1.5)
        look(run, "which alarms ring 1.5 L later, with 1 L promised", **promised)

    run.all_finished_within([job, *behind], 10, bound="the worker is there")
    look(run, "the end", **promised)
