"""A client's open transaction comes to nothing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.faults.base import Evidence, Fault, NoReceipt, wait_for
from bench.faults.kill import kill
from bench.history import Event

if TYPE_CHECKING:
    from bench.producer import Producer


class _Undo(Fault):
    """A client's transaction is ended without a commit. Receipt: its number, and that the server says `aborted`."""

    def __init__(self, client: Producer) -> None:
        self.client = client
        self.target = client.name

    def hindrance(self, events: Sequence[Event]) -> str:
        return "" if self.client.transaction() else f"{self.target} has written nothing in an open transaction"

    @abstractmethod
    def end(self) -> Evidence:
        """Do it, and return what evidence there is besides."""

    def inject(self) -> Evidence:
        number = self.client.transaction()
        evidence = self.end()
        if not wait_for(lambda: self.client.fate(number) == "aborted"):
            raise NoReceipt(f"transaction {number} of {self.target} is {self.client.fate(number)}, not aborted")
        return {**evidence, "transaction": number, "fate": "aborted"}


class Rollback(_Undo):
    """The client thinks better of it, and rolls back."""

    kind = "rollback"

    def end(self) -> Evidence:
        self.client.rollback()
        return {}


class KillClient(_Undo):
    """kill -9 of the client. Receipt besides: the wait status."""

    kind = "kill -9"

    def end(self) -> Evidence:
        return kill(self.client)
