"""Two clients that enqueue under one key at the same moment get one job: a unique index decides, and not a look before.

A look finds nothing of a job that was put in and is not yet committed. The index knows of it: the second insert waits
until the first is committed or rolled back. Once a job has ended its key is free, however it has ended.
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
    """Everything as in the sound queue, but the index on the keys of live jobs is not unique."""

    LIVE_KEY: ClassVar[LiteralString] = Queue.LIVE_KEY.replace("UNIQUE INDEX", "INDEX")


class FailedKeepsItsKey(Queue):
    """Everything as in the sound queue, but a job that has failed for good keeps its key."""

    def enqueue_many(self, jobs: Sequence[NewJob]) -> list[int]:
        keeps = "SELECT key, id FROM jobs WHERE state = 'failed' AND key = ANY (%s)"
        failed = dict(self.connection.execute(keeps, ([job.key for job in jobs],)).fetchall())
        return [failed.get(job.key) or Queue.enqueue_many(self, [job])[0] for job in jobs]


dedup = Scenario(
    name="dedup",
    claim="One job of a key is alive, however many clients put one in; once ended or rolled back, it frees the key.",
    row=37,
    origin="A2 P",
    fault="another client has put in the same key and commits late, or rolls back; and a job of the key fails for good",
    sham="one client, and no failure",
    twins=[Twin(NotUnique, "duplicate-job"), Twin(FailedKeepsItsKey, "swallowed")],
    checks=[one_alive, key_freed, recovered, nothing_lost],
    needs=("key", "transaction"),
    recovery=False,
)

KEY, OTHER_KEY = "invoice 1842", "invoice 1843"
COLUMNS = ("id", "state", "attempt")


@dedup.script
def _(run: Run) -> None:
    client, other = run.producer("mine"), run.producer("other")
    worker = run.worker("worker", slots=2)

    theirs = Midway(other, "theirs", commits=True, key=KEY)
    with run.fault(theirs):
        enqueue = client.enqueue_later("mine", key=KEY)
        waits = client.until_waiting(enqueue)
        run.observe("does my enqueue wait for the other client?", seen="it waits" if waits else "it is answered")
    job = enqueue.result()  # the other client's, if the key was found taken
    job.until_started(by=worker)
    run.observe("which job I got", job, columns=COLUMNS, seen=job.name)

    run.fault(Errors({job: fail("no such customer", "permanent")}))
    for each in [job, *theirs.jobs]:
        each.finish()
    run.until_over([job, *theirs.jobs], within=5)
    run.observe("how it has ended", job, columns=COLUMNS)
    again = client.enqueue("again", orders=[FINISH], key=KEY)
    run.until_over([again], within=5)
    run.observe("which job I got for the same key afterwards", again, columns=COLUMNS, seen=again.name)

    with run.fault(Midway(other, "withdrawn", commits=False, key=OTHER_KEY)):
        enqueue = client.enqueue_later("last", orders=[FINISH], key=OTHER_KEY)
        waits = client.until_waiting(enqueue)
        run.observe("another key: does my enqueue wait?", seen="it waits" if waits else "it is answered")
    last = enqueue.result()
    run.until_over([last], within=5)
    run.observe("which job I got for it", last, columns=COLUMNS, seen=last.name)
