"""The row that needs a job and the job itself are written in one transaction: both are there, or neither is.

Two transactions would do as long as nobody stops between them. Whichever of the two is committed first, the other may
never come: an order that nobody will ship, or a worker that ships what nobody has ordered.
"""

from collections.abc import Sequence

from bench.checks.ending import nothing_lost, recovered
from bench.checks.transactions import both_or_neither
from bench.faults.undo import KillClient, Rollback
from bench.job import Job
from bench.producer import Producer
from bench.scenario import Scenario, Twin
from bench.script import Run, Table
from queue_core import NewJob, Queue


class OnItsOwn(Queue):
    """Everything as in the sound queue, but an enqueue goes over a connection of its own, and is committed there."""

    def enqueue_many(self, jobs: Sequence[NewJob]) -> list[int]:
        info = self.connection.info
        with self.connection.connect(info.dsn, password=info.password) as own:
            return Queue(own, self.aging).enqueue_many(jobs)


class CommitsFirst(Queue):
    """Everything as in the sound queue, but an enqueue first commits what is there, and begins anew."""

    def enqueue_many(self, jobs: Sequence[NewJob]) -> list[int]:
        self.connection.execute("COMMIT")
        self.connection.execute("BEGIN")
        return super().enqueue_many(jobs)


transactional_enqueue = Scenario(
    name="transactional-enqueue",
    claim="A row and its job commit or roll back together, also when the client dies before it has committed.",
    row=36,
    origin="A1 A2",
    fault="one client rolls back, and another is killed, after both row and job were written",
    sham="both commit",
    twins=[Twin(OnItsOwn, "job-without-row"), Twin(CommitsFirst, "row-without-job")],
    checks=[both_or_neither, recovered, nothing_lost],
    needs=("transaction", "postgres"),
    recovery=False,
)


def order(run: Run, client: Producer, name: str) -> Job:
    """An order, and the job that ships it, in one transaction, which is left open."""
    client.begin()
    client.execute(f"INSERT INTO orders VALUES ('{name}')")
    return client.enqueue(name, lasts=0)


def orders(run: Run, jobs: Sequence[Job]) -> Table:
    """For each order, whether its row is there, and the state of its job."""
    names = [name for (name,) in run.query("SELECT name FROM orders")[1]]
    rows = ["there" if job.name in names else "absent" for job in jobs]
    states = [str(row["state"]) for row in run.inspect(jobs)]
    return ["order", "row", "job"], [list(each) for each in zip([job.name for job in jobs], rows, states, strict=True)]


@transactional_enqueue.script
def _(run: Run) -> None:
    run.execute("CREATE TABLE orders (name text PRIMARY KEY)")
    one, another = run.producer("client-1"), run.producer("client-2")

    kept = order(run, one, "kept")
    one.commit()

    withdrawn = order(run, one, "withdrawn")
    run.fault(Rollback(one))
    one.commit()  # in a sham; after a rollback there is nothing to commit

    cut_off = order(run, another, "cut-off")
    run.observe("the orders, with the last one's transaction open", table=orders(run, [kept, withdrawn, cut_off]))
    run.fault(KillClient(another))
    another.commit()  # in a sham; one that was killed can't

    jobs = [kept, withdrawn, cut_off]
    run.observe("the orders, with no transaction open", table=orders(run, jobs))
    run.worker("worker")
    run.until_over(jobs, within=5 + run.terms.longer / run.lease)
    run.sample("orders", orders(run, jobs))
    run.observe("the orders, after a worker came", table=orders(run, jobs))
