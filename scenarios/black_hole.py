"""A worker whose network swallows everything learns by its own clock that its lease is over.

Nobody can tell it: no answer comes, and no error. While it waits for an answer, the job is given to somebody else, and
an effect would be the second. So it must count by itself, from the moment at which it last asked for a renewal that was
granted, and make no effect once the length of a lease has passed.
"""

from bench.checks.cut_off import no_stale_effect
from bench.checks.ending import nothing_lost, recovered
from bench.events import settled_effect
from bench.faults.black_hole import BlackHole
from bench.orders import effect
from bench.scenario import Scenario, Twin
from bench.script import MARGIN, Run
from queue_core import Worker


class NoLocalDeadline(Worker):
    """Everything as in the sound worker, but it takes a job for its own until the database says otherwise."""

    def overdue(self, deadline: float) -> bool:
        return False


black_hole = Scenario(
    name="black-hole",
    claim="A worker whose database has fallen silent makes no effect once its lease is over by its own clock.",
    row=24,
    origin="P",
    fault="all that the worker and its database send each other is swallowed",
    sham="the relay between them passes everything on",
    twins=[Twin(NoLocalDeadline, "stale-effect")],
    checks=[no_stale_effect, recovered, nothing_lost],
    needs=("deadline", "postgres"),
)


@black_hole.script
def _(run: Run) -> None:
    relay = run.relay()
    worker = run.worker("worker", via=relay)
    job = run.enqueue()
    first = job.until_started(by=worker)
    rival = run.worker("rival")

    with run.fault(BlackHole(relay, worker, during=job)):
        run.until_lease_over(job, within=2)
        back = run.reclaim()
        run.observe("what a rival's reclaim gives back", job, seen=back)
        got = run.offer(job, to=rival)
        run.observe("the job has a second owner", job, seen=got)

        # The order does not go through the relay. The handler asks its worker, not the database, whether the job is its
        # own: if it withholds the mail it knew, and did not merely hang.
        run.let_pass(MARGIN)
        job.order(effect("mail to customer 1842", guard="owner"), execution=first)
        run.need("a mail, or none", lambda events: settled_effect(events, first))
        answer = settled_effect(run.history.events(), first)
        run.observe("the first owner was told to send a mail", seen=answer and answer["event"])

    job.finish()
    job.finished_within(10, bound="it was told to end")
    run.observe("the end", job, columns=("id", "state", "attempt"))
