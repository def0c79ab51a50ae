"""The server that has the jobs goes down in the middle of one, twice: at once when told to, and by kill -9.

What was acknowledged is still there: the queued job is queued, the running one is its owner's, the done one is done and
does not run again. And nobody restarts the worker: it comes back by itself.
"""

from typing import ClassVar, LiteralString

from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import handed_out_once, no_overlap
from bench.faults.crash import Crash, Restart
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import Queue


class Unlogged(Queue):
    """Everything as in the sound queue, but the table is UNLOGGED: faster, and emptied by a crash."""

    TABLE: ClassVar[LiteralString] = Queue.TABLE.replace("CREATE TABLE", "CREATE UNLOGGED TABLE")


database_crash = Scenario(
    name="database-crash",
    claim="A crash of the database loses no job and makes none run again, and the worker comes back by itself.",
    row=34,
    origin="A2 P",
    fault="the server is ended at once, and later by kill -9, each time in the middle of a job, and started again",
    sham="the server stays up",
    twins=[Twin(Unlogged, "lost")],
    checks=[nothing_lost, handed_out_once, no_overlap, recovered],
    recovery=False,
    private=True,  # each arm has a server of its own to crash
)


@database_crash.script
def _(run: Run) -> None:
    worker = run.worker("worker")
    done = run.enqueue("done", lasts=0)
    run.all_finished_within([done], 10, bound="a worker is idle")
    running = run.enqueue("running")
    running.until_started(by=worker)
    queued = run.enqueue("queued", lasts=0)

    run.fault(Restart(run, during=running))
    run.observe("the jobs, with the server up", done, running, queued, columns=("id", "state", "leased_by", "attempt"))
    running.finish()
    run.all_finished_within([running, queued], 10, bound="the worker reconnects")

    last = run.enqueue("last")
    last.until_started(by=worker)
    run.fault(Crash(run, during=last))
    run.observe("the jobs, with the server up again", done, running, queued, last, columns=("id", "state", "attempt"))
    last.finish()
    last.finished_within(10, bound="the worker reconnects")
    run.observe("the end", done, running, queued, last, columns=("id", "state", "attempt"))
