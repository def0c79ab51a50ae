"""A notification only wakes a worker, and the job is in the table: one that nobody hears costs a poll, and no job.

PostgreSQL keeps no notification for a session that is not there. So a worker that only listens never learns of what was
put in meanwhile. And a worker that does not take up its LISTEN again, once that has broken, is late for all later jobs.
"""

from bench.checks.ending import nothing_lost, recovered
from bench.checks.timing import in_time
from bench.events import starts
from bench.faults.refuse import Refuse
from bench.relay import Relay
from bench.scenario import Scenario, Twin
from bench.script import MARGIN, Run
from queue_core import Worker


class NeverPolls(Worker):
    """Everything as in the sound worker, but it looks at the queue only when it was told to."""

    def may_look(self, told: bool) -> bool:
        return told


class ListensOnce(Worker):
    """Everything as in the sound worker, but a LISTEN that broke is not taken up again."""

    def listen_again(self, failures: int) -> float | None:
        return None


missed_notify = Scenario(
    name="missed-notify",
    claim="A job that is put in while nobody listens waits for a poll at most; later ones wake the worker again.",
    row=35,
    origin="A2 P",
    fault="the connection that listens is cut, and no new one is let through for a while",
    sham="no connection is cut",
    twins=[Twin(NeverPolls, "stranded"), Twin(ListensOnce, "slow-wake")],
    checks=[in_time, recovered, nothing_lost],
    recovery=False,
    knobs={"poll": 2},
    needs=("listen", "table"),
)

LISTENS = """
    SELECT application_name AS listens FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'idle' AND query LIKE 'LISTEN%'
"""
LOOKED = """
    SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'worker main'
        AND state = 'idle' AND query LIKE '%SKIP LOCKED%'
"""
"""A row if the worker's last statement was a look at the queue."""


@missed_notify.script
def _(run: Run) -> None:
    poll = run.knob("poll")
    with Relay(run.dsn) as relay:
        worker = run.worker("worker", listen=True, poll=poll, via=relay)
        run.premise(run.poll(lambda: bool(run.query(LISTENS)[1]), within=5), "the worker does not listen")

        with run.fault(Refuse(relay, run, worker, only="listen")):
            missed = run.enqueue("missed")
            run.observe("who listens as the job is put in", table=run.query(LISTENS))
            missed.started_within(poll + MARGIN, bound="a poll and a margin")
            run.observe("a poll later", missed, columns=("id", "state", "attempt"))

        run.poll(lambda: bool(run.query(LISTENS)[1]), within=2)  # in vain where LISTEN is not taken up again
        missed.finish()
        run.until_over([missed])
        # From its last look on, only a notification can bring the worker back before its next poll.
        run.poll(lambda: bool(run.query(LOOKED)[1]), within=1)
        run.observe("who listens, with connections let through again", table=run.query(LISTENS))

        put_in = run.history.now()
        heard = run.enqueue("heard", lasts=0)
        heard.started_within(poll / 2, bound="it is woken, and does not wait for its next poll", late="slow-wake")
        heard.finished_within(poll + MARGIN, bound="a poll and a margin")
        run.observe("the end", missed, heard, columns=("id", "state", "attempt"))
        for start in starts(run.history.events(), heard.name):
            run.figure("woken after", f"{1000 * (start['t'] - put_in):.0f} ms, with a poll of {poll * run.lease:g} s")
