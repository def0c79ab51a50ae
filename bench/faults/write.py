"""Somebody writes rows past the queue."""

from collections.abc import Callable

from bench.faults.base import Evidence, Fault, NoReceipt


class Write(Fault):
    """Rows are written behind the queue's back. Receipt: what the database answered to each statement."""

    kind = "write"

    def __init__(self, target: str, write: Callable[[], Evidence], attempts: int) -> None:
        self.target = target
        self.write = write
        self.attempts = attempts

    def inject(self) -> Evidence:
        evidence = self.write()
        if evidence["answered"] != self.attempts:
            raise NoReceipt(f"{evidence['answered']} of {self.attempts} writes were taken or refused as they should be")
        return evidence
