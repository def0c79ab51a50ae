"""A worker takes no more than it has room for, so a large load is left to those who come to help.

A claim of all that there is costs nothing as long as there is one worker. It is the second one that finds nothing to
do beside a heap of work, however many are started.
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
    """Everything as in the sound worker, but it claims all that there is, whatever room it has."""

    def room(self) -> int:
        return 1000


batch_fairness = Scenario(
    name="batch-fairness",
    claim="A worker claims no more than it has slots and prefetch for, and leaves the rest to one who is idle.",
    row=41,
    origin="A2",
    fault="twenty jobs come in at once while one worker is there, and another joins",
    sham="no load but a single job",
    twins=[Twin(ClaimsAll, "hoarded")],
    checks=[nobody_hoards, recovered, nothing_lost],
)


@batch_fairness.script
def _(run: Run) -> None:
    run.worker("first", prefetch=2)
    job = run.enqueue()
    job.until_started()
    flood = Flood(run, "load", 20)
    with run.fault(flood):
        run.until_state(flood.jobs[:2], "running", within=1)
        run.worker("joins", prefetch=2)
        run.wait("the one that joins has begun a job", lambda events: first_start(events, "joins"), within=1)
        holders = Counter(row["leased_by"] or "nobody" for row in run.rows([job, *flood.jobs]))
        held = (["worker", "jobs"], [[name, str(count)] for name, count in sorted(holders.items())])
        run.sample("held", held)
        run.observe("who holds how many of the jobs", table=held)

    job.finish()
    run.all_finished_within([job, *flood.jobs], 3, bound="they were told to end")
    run.observe("the end", job, columns=("id", "state", "attempt"))
