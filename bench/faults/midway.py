"""Another client stands in the middle of an enqueue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from bench.faults.base import Evidence, Fault, NoReceipt

if TYPE_CHECKING:
    from bench.job import Job
    from bench.producer import Producer
    from bench.script import Wishes


class Midway(Fault):
    """A client has put in a job and not yet committed; when the fault is lifted it does, or it rolls back.

    Receipt: its transaction is in progress, says the server; at the end, that it was committed, or aborted.
    """

    kind = "open enqueue"

    def __init__(self, client: Producer, job: str, *, commits: bool, **wishes: Unpack[Wishes]) -> None:
        self.client = client
        self.target = client.name
        self.job = job
        self.commits = commits
        self.wishes = wishes
        self.jobs: list[Job] = []
        """What is committed at the end; nothing before."""

    def inject(self) -> Evidence:
        self.client.begin()
        self._put_in = self.client.enqueue(self.job, **self.wishes)
        self._transaction = self.client.transaction()
        if not self._transaction:
            raise NoReceipt(f"{self.target} has written nothing in an open transaction")
        return self._evidence("in progress")

    def lift(self) -> Evidence:
        if self.commits:
            self.client.commit()
            self.jobs = [self._put_in]
            return self._evidence("committed")
        self.client.rollback()
        return self._evidence("aborted")

    def _evidence(self, expected: str) -> Evidence:
        fate = self.client.fate(self._transaction)
        if fate != expected:
            raise NoReceipt(f"transaction {self._transaction} of {self.target} is {fate}, not {expected}")
        return {"transaction": self._transaction, "fate": fate}
