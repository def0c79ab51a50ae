"""A worker whose network swallows everything learns by its own clock that its lease is over.

Nobody can tell it: no answer comes, and no error. While it waits for one, the job is given to somebody else. So it must
count the time since its last renewal by itself, and make no effect once a lease has passed.
"""

from bench.checks.cut_off import no_stale_effect
from bench.checks.ending import nothing_lost, recovered
from bench.events import settled_effect
from bench.faults.black_hole import BlackHole
from bench.orders import effect
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Worker


class NoLocalDeadline(Worker):
    """Everything as in the sound worker, but it holds a job for its own until the database says otherwise."""

    def overdue(self, deadline: float) -> bool:
        return False


black_hole = Scenario(
    name="black-hole",
    claim="A worker that is cut off from its database, unnoticed, makes no effect once its lease is over.",
    row=24,
    origin="P",
    fault="all that the worker and its database send each other is swallowed",
    sham="the relay between them passes everything on",
    twins=[Twin(NoLocalDeadline, "stale-effect")],
    checks=[no_stale_effect, recovered, nothing_lost],
    needs=("deadline",),
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
        run.observe("what the rival gets", job, seen=got)

        run.let_pass(0.5)
        job.order(effect("mail to customer 1842", guard="owner"), execution=first)
        run.need("what it made of the effect", lambda events: settled_effect(events, first))
        made = settled_effect(run.history.events(), first)
        run.observe("the one that is cut off was told to send a mail", seen=made and made["event"])

    job.finish()
    job.finished_within(3, bound="it was told to end")
    run.observe("the end", job, columns=("id", "state", "attempt"))
