"""The handle that a scenario's script gets. It never says which arm it is in; all that it does goes into the history.

Times are in leases (L) unless a name says seconds.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from bench import contract
from bench.children import how, last_words
from bench.contract import AdapterFault, Row
from bench.events import count_of, exit_of, is_finished, is_ready, is_ready_or_gone, starts
from bench.faults import Evidence, Fault, NoReceipt
from bench.history import Event, History
from bench.job import Job
from bench.orders import FINISH, Order
from bench.stage import Stage
from bench.subject import Control, Worker

if TYPE_CHECKING:
    from bench.barrier import Barrier
    from bench.witness import Desk

PATIENCE = 30.0
"""Seconds that anything may take which any queue does at once; beyond that the arm has made no progress."""

MARGIN = 1 / 3
"""Leases. A renewal comes each third of a lease, so a machine that stalls for more than a third may lose one."""

POLL = 1 / 10
"""Leases between a worker's looks at the queue."""

ROW = ("id", "state", "leased_by", "lease_alive", "attempt")

GOT_IT, GOT_NOTHING = "1 job", "0 jobs"
"""What an offer comes to."""

OVER = ("done", "failed", "absent")
"""The states of a job that is over."""


Table = tuple[list[str], list[list[str]]]
"""Columns and rows, as they are printed."""


class Unmet(Exception):
    """Something that the rest of the script needs did not come about; the history already says what."""


class Run:
    """One arm under way. `settle`, `adapter_fault` and `close` are the bench's; all else is for scripts."""

    def __init__(
        self, stage: Stage, history: History, desk: Desk, control: Control, describe: Mapping[str, Any]
    ) -> None:
        self.history = history
        self.desk = desk
        self.lease = stage.lease
        self.knob = stage.knob
        self._stage = stage
        self._control = control
        self._describe = describe
        self._workers: list[Worker] = []
        self._jobs: list[Job] = []
        self._names: dict[str, str] = {}
        self._faults: dict[int, Fault] = {}

    # The queue.

    def enqueue(self, name: str = "job", *, lasts: float | None = None, orders: Sequence[Order] = ()) -> Job:
        """Enqueue a job under test. Its puppet obeys `orders` and then holds, or finishes after `lasts`."""
        return self._enqueue([name], "job", orders, lasts)[0]

    def load(self, count: int) -> list[Job]:
        """Enqueue many jobs in one go; each ends as soon as it has begun."""
        return self._enqueue([f"load-{number}" for number in range(1, count + 1)], "load", [FINISH], None)

    def _enqueue(self, names: Sequence[str], role: str, orders: Sequence[Order], lasts: float | None) -> list[Job]:
        for name in names:
            self.desk.plan(name, orders, None if lasts is None else lasts * self.lease)
        answer = self._control.ask("enqueue", jobs=[{"job": name} for name in names])
        contract.check_enqueue(answer, len(names))
        for id in answer["ids"]:
            if id in self._names:
                raise AdapterFault(f"enqueue: the id {id} was given to {self._names[id]} before")
        jobs = [Job(self, name, id) for name, id in zip(names, answer["ids"], strict=True)]
        for job in jobs:
            self._names[job.id] = job.name
            self.history.add("enqueued", job=job.name, id=job.id, role=role)
        if role != "decoy":
            self._jobs += jobs
        return jobs

    def inspect(self, jobs: Sequence[Job]) -> list[Row]:
        """What the queue says of these jobs, into the history and back."""
        rows = self._rows(jobs)
        for job, row in zip(jobs, rows, strict=True):
            self.history.add("row", job=job.name, row=row)
        return rows

    def _rows(self, jobs: Sequence[Job]) -> list[Row]:
        ids = [job.id for job in jobs]
        answer = self._control.ask("inspect", ids=ids)
        contract.check_inspect(answer, ids)
        return [Row(row) for row in answer["rows"]]

    def reclaim(self) -> str:
        """Run the queue's reclaim once; how many jobs it gave back and their ids, such as "1 job: [1]"."""
        since = self.history.now()
        answer = self._control.ask("reclaim")
        contract.check_reclaim(answer)
        jobs = [self._names.get(id, id) for id in answer["ids"]]
        self.history.add("reclaimed", jobs=jobs, ids=answer["ids"], since=round(since, 6))
        return f"{len(jobs)} {'job' if len(jobs) == 1 else 'jobs'}: [{', '.join(answer['ids'])}]"

    def execute(self, statement: str) -> str:
        """Send one statement to the arm's own database: its SQLSTATE, `00000` when it was taken."""
        import psycopg  # late: a twin's worker process loads this file

        with psycopg.connect(self._stage.dsn, autocommit=True) as connection:
            try:
                connection.execute(statement.encode())
            except psycopg.Error as error:
                return error.sqlstate or "?????"
        return "00000"

    def query(self, statement: str) -> Table:
        """What one query to the arm's own database answers, as psql would print it."""
        import psycopg  # late, as above

        with psycopg.connect(self._stage.dsn, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            columns = [column.name for column in cursor.description or []]
            return columns, [[_printed(value) for value in row] for row in cursor]

    @contextmanager
    def holding(self, job: Job) -> Iterator[Barrier]:
        """The bench holds a lock on the job's row meanwhile, so that whoever has read it cannot yet write it."""
        from bench.barrier import hold  # late, as above

        with hold(self._stage.dsn, self._describe["hold"], job.id) as barrier:
            self.history.add("held", job=job.name)
            yield barrier
            self.history.add("let-go", job=job.name, waiting=barrier.waiting(), seen=barrier.seen())

    # The workers.

    def worker(
        self, name: str, *, slots: int = 1, prefetch: int = 0, reclaim_every: float | None = None, wait: bool = True
    ) -> Worker:
        """Start a worker process and wait until it says that it takes jobs. Its own reclaim is off unless set."""
        options = {
            "slots": slots,
            "prefetch": prefetch,
            "poll": self.lease * POLL,
            "reclaim_every": None if reclaim_every is None else reclaim_every * self.lease,
        }
        extra = self._stage.environment | {
            "LEASEPROOF_WITNESS": self._stage.witness,
            "LEASEPROOF_TOKEN": self.desk.token,
            "LEASEPROOF_WORKER": name,
            "LEASEPROOF_OPTIONS": json.dumps(options),
            "PGAPPNAME": name,
        }
        worker = Worker(name, self._stage.launch, extra, self._stage.logs / f"{name}.log", self.history)
        self._workers.append(worker)
        self.history.add("spawned", worker=name, pid=worker.pid, options=options)
        worker.watch()
        if wait:
            self.until_ready([worker])
        return worker

    def workers(self, name: str, count: int, first: int = 1) -> list[Worker]:
        """Start several workers side by side, NAME-`first` and on, and wait until all take jobs."""
        workers = [self.worker(f"{name}-{number}", wait=False) for number in range(first, first + count)]
        self.until_ready(workers)
        return workers

    def until_ready(self, workers: Iterable[Worker]) -> None:
        """Wait until each takes jobs. Raises AdapterFault when one ends before, or does not say so."""
        for worker in workers:
            pid = worker.pid
            if not self.wait(f"{worker.name} ready", partial(is_ready_or_gone, pid=pid), PATIENCE / self.lease):
                text = f"worker {worker.name} did not say that it is ready in {PATIENCE:g} s{last_words(worker.log)}"
                raise AdapterFault(text)
            events = self.history.events()
            if not is_ready(events, pid):
                status = exit_of(events, pid)
                assert status is not None
                end = f"{how(status['status'])} before it was ready{last_words(worker.log)}"
                raise AdapterFault(f"worker {worker.name} ended {end}")

    def offer(self, job: Job, to: Worker) -> str:
        """What `to` gets when it looks: "1 job" if it takes `job`, "0 jobs" if it does not although it looked.

        A decoy is put beside the job, later in the queue's order: whoever takes the decoy was looking, and could not
        have the job. Raises Unmet when nobody takes either.
        """
        if starts(self.history.events(), job.name, to.name):
            return GOT_IT
        decoys = sum(event["event"] == "enqueued" and event["role"] == "decoy" for event in self.history.events())
        name = f"decoy-{decoys + 1}"
        (decoy,) = self._enqueue([name], "decoy", [FINISH], None)
        self.need(
            f"{to.name} took {name} or {job.name}",
            lambda events: starts(events, job.name, to.name) or starts(events, name),
        )
        if starts(self.history.events(), job.name, to.name):
            return GOT_IT
        self.until_over([decoy])
        return GOT_NOTHING

    def dismiss(self, worker: Worker) -> None:
        """Tell a worker to stop, as the end of its part and not as a fault, and give it a lease's time to go."""
        worker.dismissed = True
        worker.signal(signal.SIGTERM)
        self.exited_within(worker, 1)

    # Waiting.

    def need(self, what: str, found: Callable[[Sequence[Event]], Any]) -> None:
        """Wait for what any queue does at once. Raises Unmet when it does not come: the queue makes no progress."""
        if not self.wait(what, found, PATIENCE / self.lease, must=True):
            raise Unmet

    def wait(
        self,
        what: str,
        found: Callable[[Sequence[Event]], Any],
        within: float,
        job: str | None = None,
        bound: str = "",
        must: bool = False,
    ) -> bool:
        """Wait at most so long; into the history goes whether it came, and how long it took."""
        since, seconds = self.history.now(), within * self.lease
        came = bool(self.history.until(found, seconds))
        took = round(self.history.now() - since, 6)
        self.history.add("wait", what=what, within=seconds, came=came, took=took, job=job, bound=bound, must=must)
        return came

    def let_pass(self, leases: float) -> None:
        """Let so many leases pass."""
        self.history.until(lambda _: False, leases * self.lease)

    def all_finished_within(self, jobs: Sequence[Job], within: float, bound: str) -> bool:
        """Wait for the finish of each, and then for the queue to say so: it is told after the witness is."""
        for job in jobs:
            name = job.name
            if not self.wait(f"{name} finished", partial(is_finished, job=name), within, name, bound):
                return False
        return self.until_over(jobs)

    def until_over(self, jobs: Sequence[Job]) -> bool:
        """Wait until the queue itself says that the jobs are over; False if it does not in a lease's time."""
        return self._poll(lambda: all(row["state"] in OVER for row in self._rows(jobs)), 1)

    def until_state(self, jobs: Sequence[Job], state: str, within: float) -> bool:
        """Wait until the queue says that the jobs are in this state; False if it does not in time."""
        return self._poll(lambda: all(row["state"] == state for row in self._rows(jobs)), within)

    def until_lease_over(self, job: Job, within: float) -> bool:
        """Wait until the queue itself says that the job's lease has run out; False if it does not in time."""
        over = self._poll(lambda: self._rows([job])[0].get("lease_alive") == "f", within)
        self.inspect([job])
        return over

    def until_gathered(self, barrier: Barrier, workers: Sequence[Worker], within: float) -> None:
        """Wait until all have looked since the lock was taken, then until all wait at it, or `within`."""
        names = {worker.name for worker in workers}
        looked = self._poll(lambda: names <= {*barrier.seen(), *barrier.waiting()}, PATIENCE / self.lease)
        self.premise(looked, f"not all of {', '.join(sorted(names))} had looked when the bench let go of the row")
        self._poll(lambda: names <= set(barrier.waiting()), within)

    def exited_within(self, worker: Worker, within: float) -> bool:
        """Wait until a worker has ended; False if it does not in time."""
        return self.wait(f"{worker.name} ended", lambda events: exit_of(events, worker.pid), within)

    def _poll(self, reached: Callable[[], bool], within: float) -> bool:
        """Ask again and again for what tells no event; at most so long."""
        deadline = self.history.now() + within * self.lease
        while not reached():
            if self.history.now() > deadline:
                return False
            self.let_pass(1 / 50)
        return True

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

    def premise(self, holds: bool, text: str) -> None:
        """What must be so for the rest to mean anything; `text` says how it is when it does not hold. Raises Unmet."""
        self.history.add("premise", text=text, true=holds)
        if not holds:
            raise Unmet

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

    def figure(self, name: str, value: str) -> None:
        """A number worth printing beside the verdict."""
        self.history.add("figure", name=name, value=value)

    # The end.

    def settle(self) -> None:
        """The last rows, and the receipts that only the whole history has."""
        if self._jobs:
            self.inspect(self._jobs)
        events = self.history.events()
        received = {event["step"] for event in events if event["event"] == "receipt"}
        for number, fault in self._faults.items():
            if number not in received:
                self.receive(number, partial(fault.confirm, events))

    def adapter_fault(self) -> str:
        """What the adapter did that no queue could have: empty when nothing."""
        events = self.history.events()
        known = {event["job"] for event in events if event["event"] == "enqueued"}
        told = {event["target"] for event in events if event["event"] == "fault" and event["injected"]}
        for event in events:
            if event["event"] == "started" and event["job"] not in known:
                return f"worker {event['worker']} started {event['job']!r}, and no such job was enqueued"
        for worker in self._workers:
            gone = exit_of(events, worker.pid)
            if gone and worker.name not in told and not worker.dismissed:
                end = f"{how(gone['status'])}, and nobody told it to{last_words(worker.log)}"
                return f"worker {worker.name} ended {end}"
        return ""

    def close(self) -> None:
        """End all worker processes."""
        for worker in self._workers:
            worker.close()


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
