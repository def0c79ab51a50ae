"""The handle that a scenario's script gets. It never says which arm it is in; all that it does goes into the history.

Times are in leases (L) unless a name says seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from bench import contract
from bench.children import how, last_words
from bench.contract import AdapterFault, Row
from bench.events import all_finished, count_of
from bench.faults.base import Evidence, Fault, NoReceipt
from bench.history import Event, History
from bench.job import Job
from bench.offers import Offers
from bench.orders import FINISH, Order
from bench.producer import Producer
from bench.staff import POLL, Staff
from bench.stage import Stage
from bench.subject import Control, Worker
from bench.terms import Terms
from bench.waits import Unmet

if TYPE_CHECKING:
    from bench.barrier import Barrier
    from bench.postgres.cluster import Cluster
    from bench.services.daemon import Daemon
    from bench.witness import Desk

__all__ = ["MARGIN", "POLL", "ROW", "Run", "Step", "Table", "Unmet"]

MARGIN = 1 / 3
"""Leases. A renewal comes each third of a lease, so a machine that stalls for more than a third may lose one."""

ROW = ("id", "state", "leased_by", "lease_alive", "attempt")

SERVER = "the server"
"""The target of a fault that is done to the database, and so to every worker."""

Table = tuple[list[str], list[list[str]]]
"""Columns and rows, as they are printed."""


class Wishes(TypedDict, total=False):
    """What a job may be given. `delay` is in leases; `key` lets one job of that key be alive at a time."""

    max_attempts: int
    priority: int
    delay: float
    queue: str
    key: str
    version: int


class Run(Offers, Staff):
    """One arm under way. `settle`, `adapter_fault` and `close` are the bench's; all else is for scripts."""

    def __init__(
        self,
        stage: Stage,
        history: History,
        desk: Desk,
        control: Control,
        describe: Mapping[str, Any],
        terms: Terms,
    ) -> None:
        super().__init__()
        self.history = history
        self.desk = desk
        self._stage = stage
        self.terms = terms
        self.lease = stage.lease
        self.knob = stage.knob
        self._control = control
        self._describe = describe
        self._jobs: list[Job] = []
        self._faults: dict[int, Fault] = {}

    @property
    def dsn(self) -> str:
        """The arm's own database."""
        return self._stage.dsn

    @property
    def server(self) -> Cluster | Daemon:
        """The arm's own server. Raises LookupError where its scenario is not `private`."""
        if self._stage.server is None:
            raise LookupError(f"{self._stage.arm.scenario.name} has no server of its own: its Scenario is not private")
        return self._stage.server

    # The queue.

    def offers(self, option: str) -> bool:
        """Whether the queue can be asked for one of the `options`."""
        return option in self._describe.get("options", [])

    def enqueue(
        self, name: str = "job", *, lasts: float | None = None, orders: Sequence[Order] = (), **wishes: Unpack[Wishes]
    ) -> Job:
        """Enqueue a job under test. Its puppet obeys `orders` and then holds, or finishes after `lasts`."""
        return self._enqueue([name], "job", orders, lasts, wishes)[0]

    def load(
        self, count: int, name: str = "load", orders: Sequence[Order] = (FINISH,), **wishes: Unpack[Wishes]
    ) -> list[Job]:
        """Enqueue many jobs in one go, NAME-1 and on; each ends as soon as it has begun, unless it is ordered else."""
        names = [f"{name}-{number}" for number in range(1, count + 1)]
        return self._enqueue(names, "load", orders, None, wishes)

    def _enqueue(
        self, names: Sequence[str], role: str, orders: Sequence[Order], lasts: float | None, wishes: Wishes
    ) -> list[Job]:
        self.desk.plan(names, orders, None if lasts is None else lasts * self.lease)
        asked = self.history.now()
        answer = self._control.ask("enqueue", jobs=self.messages(names, wishes))
        return self.enqueued(names, answer, role, wishes, asked)

    def producer(self, name: str) -> Producer:
        """Start a process of the subject's that puts jobs in, in transactions of its own if it is told so."""
        producer = Producer(self, name, self._stage)
        self.producers.append(producer)
        producer.until_ready()
        return producer

    def messages(self, names: Sequence[str], wishes: Wishes) -> list[dict[str, Any]]:
        """The jobs as they are sent to the subject."""
        timed = {"delay": wishes["delay"] * self.lease} if "delay" in wishes else {}
        return [{"job": name, **wishes, **timed} for name in names]

    def enqueued(
        self,
        names: Sequence[str],
        answer: Mapping[str, Any],
        role: str,
        wishes: Wishes,
        asked: float,
        by: Producer | None = None,
    ) -> list[Job]:
        """Take the subject's answer to an enqueue, whoever `asked` it when, into the history."""
        contract.check_enqueue(answer, len(names))
        jobs = []
        for name, id in zip(names, answer["ids"], strict=True):
            about = {"job": name, "id": id, "role": role, "asked": round(asked, 6), **wishes}
            if by:
                about["by"] = by.name
            jobs.append(self._known(about) or self._new(about, by))
        return jobs

    def _known(self, about: Event) -> Job | None:
        """The job that an enqueue was answered with, if it is not a new one but an earlier one of the same key."""
        known = self.desk.names.get(about["id"])
        if known is None or self._said(known) == "absent":
            return None
        if "key" not in about:
            raise AdapterFault(f"enqueue: the id {about['id']} was given to {known} before")
        self.history.add("deduplicated", **about, to=known)
        return Job(self, known, about["id"])

    def _new(self, about: Event, by: Producer | None) -> Job:
        """A job that is in the queue now, or will be when its producer commits."""
        job = Job(self, about["job"], about["id"])
        self.desk.names[job.id] = job.name
        if by and by.open is not None:
            by.open.append(about)
            self.history.add("uncommitted", **about)
        else:
            self.history.add("enqueued", **about)
        if about["role"] != "decoy":
            self._jobs.append(job)
        return job

    def _said(self, job: str) -> str | None:
        """The state of a job when its queue was last asked for the record: its id may come again if it had none."""
        rows = (e for e in reversed(self.history.events()) if e["event"] == "row" and e["job"] == job)
        return next((row["row"]["state"] for row in rows), None)

    def inspect(self, jobs: Sequence[Job]) -> list[Row]:
        """What the queue says of these jobs, into the history and back."""
        rows = self.rows(jobs)
        for job, row in zip(jobs, rows, strict=True):
            self.history.add("row", job=job.name, row=row)
        return rows

    def rows(self, jobs: Sequence[Job]) -> list[Row]:
        """What the queue says of these jobs now."""
        ids = [job.id for job in jobs]
        answer = self._control.ask("inspect", ids=ids)
        contract.check_inspect(answer, ids)
        return [Row(row, self.terms.columns) for row in answer["rows"]]

    def reclaim(self) -> str:
        """Run the queue's reclaim once; how many jobs it gave back and their ids, such as "1 job: [1]"."""
        return self.reclaimed(self.history.now(), self._control.ask("reclaim"))

    def reclaimed(self, since: float, answer: Mapping[str, Any], by: Producer | None = None) -> str:
        """Take the answer to a reclaim, whoever asked for it at `since`, into the history.

        Where nobody can ask for one, the queue's own is given the time to come by.
        """
        contract.check_reclaim(answer)
        if answer["ids"] is None:
            self.let_pass(self.terms.own_reclaim / self.lease)
            return "its own"
        jobs = [self.desk.names.get(id, id) for id in answer["ids"]]
        about = {"worker": by and by.name, "jobs": jobs, "ids": answer["ids"], "since": round(since, 6)}
        self.history.add("reclaimed", **about)
        return f"{len(jobs)} {'job' if len(jobs) == 1 else 'jobs'}: [{', '.join(answer['ids'])}]"

    def ask(self, request: str, **fields: Any) -> dict[str, Any]:
        """Ask the subject for one of its figures or favours: `stats`, `explain`, `purge`. The answer is logged, too."""
        answer = self._control.ask(request, **fields)
        self.history.add("answered", request=request, **fields, answer=answer)
        return answer

    def execute(self, statement: str) -> str:
        """Send one statement to the arm's own database: its SQLSTATE, `00000` when it was taken."""
        import psycopg  # late: a twin's worker process loads this file

        with psycopg.connect(self.dsn, autocommit=True) as connection:
            try:
                connection.execute(statement.encode())
            except psycopg.Error as error:
                return error.sqlstate or "?????"
        return "00000"

    def query(self, statement: str) -> Table:
        """What one query to the arm's own database answers, as psql would print it."""
        import psycopg  # late, as above

        with psycopg.connect(self.dsn, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            columns = [column.name for column in cursor.description or []]
            return columns, [[_printed(value) for value in row] for row in cursor]

    @contextmanager
    def holding(self, job: Job | str) -> Iterator[Barrier]:
        """The bench holds a lock on the job's row meanwhile, so that whoever has read it cannot yet write it.

        Given a statement instead of a job, it holds whatever lock that takes. Where a queue's rows can't be locked
        nobody waits, and a race is left to luck: a scenario that must not be so `needs` it.
        """
        from bench.barrier import NoBarrier, hold  # late, as above

        if not isinstance(job, str) and "hold" not in self._describe:
            yield NoBarrier()
            return
        statement, arguments = (job, ()) if isinstance(job, str) else (self._describe["hold"], (job.id,))
        name = None if isinstance(job, str) else job.name
        with hold(self.dsn, statement, arguments) as barrier:
            self.history.add("held", job=name)
            yield barrier
            self.history.add("let-go", job=name, waiting=barrier.waiting(), seen=barrier.seen())

    # The fault.

    def fault(self, fault: Fault) -> Step:
        """The fault step: done in a faulted arm, left out in a sham. For a fault that lasts: `with run.fault(...):`."""
        step = Step(self, count_of(self.history.events(), "fault") + 1)
        about = {"step": step.number, "kind": fault.kind, "target": fault.target}
        if not self._stage.arm.fault:
            self.history.add("fault", **about, injected=False)
            return step
        hindrance = fault.hindrance(self.history.events())
        self.history.add("fault", **about, injected=not hindrance)
        if hindrance:
            self.premise(False, f"there was no ground for the fault {fault.kind}: {hindrance}")
        self._faults[step.number] = step.fault = fault
        self.receive(step.number, fault.inject)
        return step

    def receive(self, step: int, evidence: Callable[[], Evidence | None]) -> None:
        """Take a fault's receipt into the history. Raises Unmet where there is none."""
        try:
            found = evidence()
        except NoReceipt as error:
            self.history.add("no-receipt", step=step, why=str(error))
            raise Unmet from error
        if found is not None:
            self.history.add("receipt", step=step, evidence=found)

    # What is seen.

    def observe(
        self,
        title: str,
        *jobs: Job,
        columns: Sequence[str] = ROW,
        seen: object = None,
        predicts: Mapping[str, object] | None = None,
        table: Table | None = None,
    ) -> None:
        """A numbered observation: the rows as the database has them now, and what `seen` rules out.

        The rows are those of the jobs, or a `table` that was asked for. An explanation that predicted something else
        than what was seen is struck out.
        """
        if table is None:
            rows = self.inspect(jobs) if jobs else []
            table = list(columns) if jobs else [], [[row[column] or "" for column in columns] for row in rows]
        predicts = predicts or {}
        self.history.add(
            "observation",
            n=count_of(self.history.events(), "observation") + 1,
            title=title,
            columns=table[0],
            rows=table[1],
            seen=None if seen is None else str(seen),
            predictions={name: str(value) for name, value in predicts.items()},
            ruled_out=[name for name, value in predicts.items() if value != seen],
        )

    def sample(self, name: str, table: Table) -> None:
        """Figures for a check to read, as the database had them at this moment."""
        self.history.add("sample", name=name, columns=table[0], rows=table[1])

    def figure(self, name: str, value: str) -> None:
        """A number worth printing beside the verdict."""
        self.history.add("figure", name=name, value=value)

    # The end.

    def settle(self) -> None:
        """The last rows, and the receipts that only the whole history has.

        A finish may be in the row, or the row be gone, before the witness has read of it: it is given as long as the
        machine may stall.
        """
        if self._jobs:
            rows = self.inspect(self._jobs)
            over = {
                job.name
                for job, row in zip(self._jobs, rows, strict=True)
                if row["state"] == "done" or (not row.is_there and job.is_running)
            }
            self.history.until(partial(all_finished, jobs=over), MARGIN * self.lease)
        events = self.history.events()
        received = {event["step"] for event in events if event["event"] == "receipt"}
        for number, fault in self._faults.items():
            if number not in received:
                self.receive(number, partial(fault.confirm, events))

    def adapter_fault(self) -> str:
        """What the adapter did that no queue could have: empty when nothing."""
        events = self.history.events()
        known = {event["job"] for event in events if event["event"] in ("enqueued", "uncommitted", "scheduled")}
        told = {event["target"] for event in events if event["event"] == "fault" and event["injected"]}
        pids: dict[int, int] = {}
        poisoned: set[int] = set()
        for event in events:
            if event["event"] == "started":
                if event["job"] not in known:
                    return f"worker {event['worker']} started {event['job']!r}, and no such job was enqueued"
                pids[event["execution"]] = event["pid"]
            elif event["event"] == "ordered" and event["order"]["order"] == "exit":
                poisoned.add(pids[event["execution"]])
        exits = {event["pid"]: event for event in events if event["event"] == "exited"}
        everyone: list[Worker | Producer] = [*self.processes, *self.producers]
        for worker in everyone:
            gone = exits.get(worker.pid)
            expected = worker.dismissed or worker.name in told or SERVER in told or worker.pid in poisoned
            if gone and not expected:
                end = f"{how(gone['status'])}, and nobody told it to{last_words(worker.log)}"
                return f"worker {worker.name} ended {end}"
        return ""


class Step:
    """A fault step; as a context, it lifts its fault at the end. In a sham arm it has none."""

    def __init__(self, run: Run, number: int) -> None:
        self.number = number
        self.fault: Fault | None = None
        self._run = run

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        if self.fault:
            self._run.receive(self.number, self.fault.lift)
            self._run.history.add("fault-ended", step=self.number)


def _printed(value: object) -> str:
    """A value as psql prints it."""
    if isinstance(value, bool):
        return "t" if value else "f"
    return "" if value is None else str(value)
