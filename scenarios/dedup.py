"""Who looks for a key and then inserts sees nothing of the one who has done so and not yet committed.

No look can help, since there is nothing to be seen yet. A unique index can: the second insert waits until the first has
committed or rolled back, and only then is it known which of the two it is.
"""

from collections.abc import Sequence
from typing import ClassVar, LiteralString

from bench.checks.ending import nothing_lost, recovered
from bench.checks.transactions import key_freed, one_alive
from bench.faults.errors import Errors
from bench.faults.midway import Midway
from bench.orders import FINISH, fail
from bench.scenario import Scenario, Twin
from bench.script import Run
from queue_core import NewJob, Queue


class NotUnique(Queue):
    """Everything as in the sound queue, but the index on the keys of live jobs is not unique: it only helps to look."""

    LIVE_KEY: ClassVar[LiteralString] = Queue.LIVE_KEY.replace("UNIQUE INDEX", "INDEX")


class FailedKeepsItsKey(Queue):
    """Everything as in the sound queue, but a job that has failed for good keeps its key."""

    def enqueue_many(self, jobs: Sequence[NewJob]) -> list[int]:
        keeps = "SELECT key, id FROM jobs WHERE state = 'failed' AND key = ANY (%s)"
        failed = dict(self.connection.execute(keeps, ([job.key for job in jobs],)).fetchall())
        return [failed.get(job.key) or Queue.enqueue_many(self, [job])[0] for job in jobs]


dedup = Scenario(
    name="dedup",
    claim="A key has one job alive, however many put one in at once; one that is rolled back or ended frees the key.",
    row=37,
    origin="A2 P",
    fault="another producer has put in the same key, and its transaction is open; and a job of that key fails for good",
    sham="one producer, and no failure",
    twins=[Twin(NotUnique, "duplicate-job"), Twin(FailedKeepsItsKey, "swallowed")],
    checks=[one_alive, key_freed, recovered, nothing_lost],
    needs=("key", "transaction"),
)

KEY, OTHER_KEY = "invoice 1842", "invoice 1843"
COLUMNS = ("id", "state", "attempt")


@dedup.script
def _(run: Run) -> None:
    mine, other = run.producer("mine"), run.producer("other")
    worker = run.worker("worker", slots=2)

    theirs = Midway(other, "theirs", commits=True, key=KEY)
    with run.fault(theirs):
        asked = mine.enqueue_later("mine", key=KEY)
        waits = mine.until_waiting(asked)
        run.observe("theirs is put in and not committed: my enqueue", seen="waits" if waits else "is answered")
    job = asked.result()
    job.until_started(by=worker)
    run.observe("theirs is committed: what I got", job, columns=COLUMNS, seen=job.name)

    run.fault(Errors({job: fail("no such customer", "permanent")}))
    for each in [job, *theirs.jobs]:
        each.finish()
    run.until_over([job, *theirs.jobs], within=5)
    run.observe("it has ended", job, columns=COLUMNS)
    again = mine.enqueue("again", orders=[FINISH], key=KEY)
    run.until_over([again], within=5)
    run.observe("what I got for the same key", again, columns=COLUMNS, seen=again.name)

    with run.fault(Midway(other, "withdrawn", commits=False, key=OTHER_KEY)):
        asked = mine.enqueue_later("last", orders=[FINISH], key=OTHER_KEY)
        waits = mine.until_waiting(asked)
        run.observe("theirs is put in and not committed: my enqueue", seen="waits" if waits else "is answered")
    last = asked.result()
    run.until_over([last], within=5)
    run.observe("theirs is rolled back: what I got", last, columns=COLUMNS, seen=last.name)
