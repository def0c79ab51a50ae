"""A worker claims no more than it has room for, so that a large load is left for the workers that come to help.

As long as there is one worker, it may claim all that there is and do no harm. But every worker that joins it then finds
nothing to do, though most of the jobs only wait.
"""

from collections import Counter

from bench.checks.ending import nothing_lost, recovered
from bench.checks.fairness import nobody_hoards
from bench.events import first_start
from bench.faults.flood import Flood
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Worker


class ClaimsAll(Worker):
    """Everything as in the sound worker, but it claims up to a thousand jobs, whatever room it has."""

    def room(self) -> int:
        return 1000


batch_fairness = Scenario(
    name="batch-fairness",
    claim="A worker claims no more than it has slots and prefetch for, and leaves the rest to a worker that is idle.",
    row=41,
    origin="A2",
    fault="twenty jobs come in at once, and none ends before it is told to",
    sham="they do not come in: there is a single job",
    twins=[Twin(ClaimsAll, "hoarded")],
    checks=[nobody_hoards, recovered, nothing_lost],
    recovery=False,
    needs=("backlog",),
)


@batch_fairness.script
def _(run: Run) -> None:
    run.worker("first", prefetch=2)
    job = run.enqueue()
    job.until_started()
    flood = Flood(run, "load", 20)
    with run.fault(flood):
        run.until_state(flood.jobs[:2], "running", within=1)  # the first worker has its fill: a slot and two ahead
        run.worker("second", prefetch=2)
        run.wait("the second has begun a job", lambda events: first_start(events, "second"), within=1)  # if one is left
        holders = Counter(row["leased_by"] or "nobody" for row in run.rows([job, *flood.jobs]))
        held = (["worker", "jobs"], [[name, str(count)] for name, count in sorted(holders.items())])
        run.sample("held", held)
        run.observe("who holds how many of the jobs", table=held)

    job.finish()
    run.all_finished_within([job, *flood.jobs], 30, bound="they were told to end")
    run.observe("the end", job, columns=("id", "state", "attempt"))
