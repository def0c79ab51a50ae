"""A process of the subject's that puts jobs in: a client, whose transaction may be open, and which may be killed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Unpack

import psutil

from bench.children import alive_tree
from bench.orders import Order
from bench.stage import Stage
from bench.subject import Control

if TYPE_CHECKING:
    from bench.job import Job
    from bench.script import Run, Wishes


class Producer:
    """A second control process, of which only `enqueue`, `execute` and `transaction` are asked.

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
        self._open: list[Job] | None = None
        self.history.add("spawned", worker=name, pid=self.pid, options={})
        self._reaper = threading.Thread(target=self._reap, daemon=True)
        self._reaper.start()
        self.ask("describe")
        self.history.add("ready", worker=name, pid=self.pid)

    def _reap(self) -> None:
        status = self._control.wait()
        self.history.add("exited", worker=self.name, pid=self.pid, status=status)

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
        (job,) = self.run.enqueued([name], answer, "job", wishes, asked, by=self.name, uncommitted=self._open)
        return job

    def begin(self) -> None:
        """Open a transaction."""
        self.ask("transaction", do="begin")
        self._open = []

    def commit(self) -> None:
        """Commit, if it is still there to do so."""
        if self.tree():
            self.ask("transaction", do="commit")
            self.run.acknowledge(self._open or [])
            self._open = None

    def rollback(self) -> None:
        """Roll back: what it has put in since it began was never there."""
        self.ask("transaction", do="rollback")
        self._open = None

    def tree(self) -> list[psutil.Process]:
        """The process and all its descendants that are alive."""
        return alive_tree(self.pid)

    def close(self) -> None:
        """End it, whatever state it is in."""
        self._control.close()
        self._reaper.join()
        self._asker.shutdown(wait=True)
