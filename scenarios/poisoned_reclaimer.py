"""One row that can't be changed must not keep the reclaim from the others.

It is no fancy: a constraint is added without a look at the old rows, and one of them violates it. From then on every
update of that row is refused, and with it the whole statement that it is a part of. The reclaim of six is refused for
the sake of one, at each pass, for ever; nothing is wrong with the other five.
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


SLACK = 2 * POLL + MARGIN


poisoned_reclaimer = Scenario(
    name="poisoned-reclaimer",
    claim="Of six abandoned jobs, one of which can't be changed, the other five are back within two passes.",
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
    before = run.load(2, "before", orders=[])
    poisoned = run.enqueue("poisoned")
    after = run.load(3, "after", orders=[])
    others, jobs = [*before, *after], [*before, poisoned, *after]
    owner = run.worker("owner", slots=6)
    run.until_started(jobs)

    run.fault(Kill(owner, during=poisoned))
    with run.fault(Unwritable(run, poisoned)):
        run.observe("six jobs of one owner", *jobs)
        run.worker("rescuer", slots=6, reclaim_every=interval)
        for job in others:
            job.finish()
        run.all_finished_within(others, 1 + 2 * interval + SLACK, bound="lease + two passes, two polls and a margin")
        run.observe("the one that can't be changed is there to be seen, and so are the others", *jobs)

    poisoned.finish()
    poisoned.finished_within(1 + interval + SLACK, bound="lease + reclaim interval, and two polls and a margin")
    run.observe("it can be changed again: the end", *jobs)
