"""A process of the subject's that puts jobs in: a client, whose transaction may be open, and which may be killed.

It may also reclaim, so that a reclaim can be held up while the bench looks at the queue.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Unpack

import psutil

from bench.children import alive_tree
from bench.history import Event
from bench.orders import Order
from bench.stage import Stage
from bench.subject import Control
from bench.waits import PATIENCE

if TYPE_CHECKING:
    from bench.job import Job
    from bench.script import Run, Wishes

# The server tells the lower half of a transaction's number; the upper one is that of the number to come next.
OPEN = """
    SELECT (txid_snapshot_xmax(txid_current_snapshot()) >> 32 << 32) + backend_xid::text::bigint FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = '{name}' AND state = 'idle in transaction'
        AND backend_xid IS NOT NULL
"""

WAITING = """
    SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = '{name}' AND wait_event_type = 'Lock'
"""


class Producer:
    """A second control process, of which only `enqueue`, `execute`, `transaction` and `reclaim` are asked.

    What it puts in while its transaction is open is `uncommitted`; the commit acknowledges it, and then it is
    `enqueued`. Whatever it is asked raises AdapterFault when it dies or hangs.
    """

    def __init__(self, run: Run, name: str, stage: Stage) -> None:
        self.run = run
        self.name = name
        self.history = run.history
        self.log = stage.logs / f"{name}.log"
        self.dismissed = False
        self._control = Control(stage.launch, {**stage.environment, "PGAPPNAME": name}, self.log)
        self.pid = self._control.pid
        self._asker = ThreadPoolExecutor(1, thread_name_prefix=name)
        self.open: list[Event] | None = None
        """What it has put in since its transaction began; None while it has none."""
        self.history.add("spawned", worker=name, pid=self.pid, options={})
        self._reaper = threading.Thread(target=self._reap, daemon=True)
        self._reaper.start()

    def _reap(self) -> None:
        status = self._control.wait()
        self.history.add("exited", worker=self.name, pid=self.pid, status=status)

    def until_ready(self) -> None:
        """Wait until it answers."""
        self.ask("describe")
        self.history.add("ready", worker=self.name, pid=self.pid)

    def ask(self, request: str, **fields: Any) -> dict[str, Any]:
        """Send one request and wait for its answer."""
        return self._asker.submit(self._control.ask, request, **fields).result()

    def execute(self, statement: str) -> None:
        """Send one statement of the application's own, in the same transaction if one is open."""
        self.ask("execute", statement=statement)

    def enqueue(
        self, name: str = "job", *, lasts: float | None = None, orders: Sequence[Order] = (), **wishes: Unpack[Wishes]
    ) -> Job:
        """Enqueue a job under test, as `Run.enqueue` does, in the same transaction if one is open."""
        return self.enqueue_later(name, lasts=lasts, orders=orders, **wishes).result()

    def enqueue_later(
        self, name: str = "job", *, lasts: float | None = None, orders: Sequence[Order] = (), **wishes: Unpack[Wishes]
    ) -> Future[Job]:
        """As `enqueue`, and don't wait: the answer may take as long as somebody else's transaction is open."""
        self.run.desk.plan([name], orders, None if lasts is None else lasts * self.run.lease)
        return self._asker.submit(self._enqueue, name, wishes)

    def _enqueue(self, name: str, wishes: Wishes) -> Job:
        asked = self.history.now()
        answer = self._control.ask("enqueue", jobs=self.run.messages([name], wishes))
        (job,) = self.run.enqueued([name], answer, "job", wishes, asked, by=self)
        return job

    def reclaim_later(self) -> Future[str]:
        """Ask for a reclaim, as `Run.reclaim` does, and don't wait: it may be held up."""
        return self._asker.submit(self._reclaim)

    def _reclaim(self) -> str:
        since = self.history.now()
        return self.run.reclaimed(since, self._control.ask("reclaim"), by=self)

    def ask_later(self, request: str, **fields: Any) -> Future[dict[str, Any]]:
        """Ask for a favour, as `Run.ask` does, and don't wait: it may be held up."""
        return self._asker.submit(self._ask, request, fields)

    def _ask(self, request: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        answer = self._control.ask(request, **fields)
        self.history.add("answered", request=request, **fields, answer=answer)
        return answer

    def begin(self) -> None:
        """Open a transaction."""
        self.ask("transaction", do="begin")
        self.open = []

    def commit(self) -> None:
        """Commit, if it is still there to do so."""
        if self.tree():
            self.ask("transaction", do="commit")
            for each in self.open or []:
                self.history.add("enqueued", **each)
            self.open = None

    def rollback(self) -> None:
        """Roll back: what it has put in since it began was never there."""
        self.ask("transaction", do="rollback")
        self.open = None

    def transaction(self) -> str:
        """The number of its open transaction, by the server's word; empty when it has none that has written."""
        numbers = self.run.query(OPEN.format(name=self.name))[1]
        return numbers[0][0] if numbers else ""

    def fate(self, transaction: str) -> str:
        """What became of a transaction, by the server's word: `in progress`, `committed` or `aborted`."""
        return self.run.query(f"SELECT txid_status({transaction})")[1][0][0]

    def until_waiting(self, asked: Future[Any]) -> bool:
        """Wait until what it has asked waits for a lock, by the server's word; False when it is answered instead.

        A reclaim that nobody can ask for is answered when the queue's own has come by.
        """
        waiting = WAITING.format(name=self.name)
        within = (PATIENCE + self.run.terms.own_reclaim) / self.run.lease
        waits = self.run.poll(lambda: asked.done() or bool(self.run.query(waiting)[1]), within)
        self.run.premise(waits, f"what {self.name} asked was not answered, and waited for no lock")
        return not asked.done()

    def tree(self) -> list[psutil.Process]:
        """The process and all its descendants that are alive."""
        return alive_tree(self.pid)

    def close(self) -> None:
        """End it, whatever state it is in."""
        self._control.close()
        self._reaper.join()
        self._asker.shutdown(wait=True)
