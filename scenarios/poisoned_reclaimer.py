"""One row that can't be changed must not keep the reclaim from the others.

There are such rows: a constraint is added without a check of the old ones (NOT VALID), and one violates it. From then
on every update of that row is refused, and with it the whole statement. So a reclaim of six jobs in one statement is
refused because of one of them, at each pass, for ever. Nothing is wrong with the other five.
"""

from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import no_overlap
from bench.faults.kill import Kill
from bench.faults.unwritable import Unwritable
from bench.scenario import Scenario, Twin
from bench.script import MARGIN, POLL, Run
from queue_core import Queue


class AllOrNothing(Queue):
    """Everything as in the sound queue, but a reclaim that was refused as a whole is not tried again row by row."""

    def reclaim_each(self, limit: int) -> list[tuple[int, str]]:
        return []


SLACK = 2 * POLL + MARGIN  # one poll to reclaim and one to claim; the margin is for the machine


poisoned_reclaimer = Scenario(
    name="poisoned-reclaimer",
    claim="Of six abandoned jobs one can't be changed, and the other five are back within two passes of the reclaim.",
    row=25,
    origin="P",
    fault="kill -9 of the owner of six jobs, and a constraint that the row of one of them violates",
    sham="the owner is not killed, and there is no such constraint",
    twins=[Twin(AllOrNothing, "stranded")],
    checks=[recovered, no_overlap, nothing_lost],
    knobs={"interval": 0.25},
    needs=("table",),
)


@poisoned_reclaimer.script
def _(run: Run) -> None:
    interval = run.knob("interval")
    before = run.load(2, "before", orders=[])  # in the order of the ids, as a reclaim goes
    poisoned = run.enqueue("poisoned")
    after = run.load(3, "after", orders=[])
    others, jobs = [*before, *after], [*before, poisoned, *after]
    owner = run.worker("owner", slots=6)
    run.until_started(jobs)

    run.fault(Kill(owner, during=poisoned))
    with run.fault(Unwritable(run, poisoned)):
        run.observe("the six jobs of one owner", *jobs)
        run.worker("rescuer", slots=6, reclaim_every=interval)
        for job in others:
            job.finish()
        run.all_finished_within(others, 1 + 2 * interval + SLACK, bound="lease + two passes, two polls and a margin")
        run.observe("the six jobs after two passes", *jobs)

    poisoned.finish()
    poisoned.finished_within(1 + interval + SLACK, bound="lease + reclaim interval, two polls and a margin")
    run.observe("the end, once all can be changed", *jobs)
