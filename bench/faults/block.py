"""A handler that never gives its thread, or its loop, back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.events import running
from bench.faults.base import Evidence, NoReceipt, OnWorker
from bench.history import Event
from bench.orders import CLOCK, block

if TYPE_CHECKING:
    from bench.job import Job
    from bench.subject import Worker

SIGNS = ("clock", "finished", "raised", "died")
"""What the witness hears of a job that blocks no longer; it died if its worker cancelled it meanwhile."""


PRECISION = 0.05
"""Seconds by which a language's sleep may fall short."""


class Block(OnWorker):
    """The running job blocks for so many seconds. Receipt: for so long the witness heard nothing of it.

    It is asked something at once, and answers when it can. A rival must have had the time to take the job meanwhile.
    """

    kind = "block"

    def __init__(self, worker: Worker, during: Job, seconds: float) -> None:
        super().__init__(worker, during)
        self.job = during
        self.seconds = seconds

    def inject(self) -> None:
        start = running(self.worker.history.events(), self.during, self.target)
        assert start is not None, "see hindrance"
        self.execution = start["execution"]
        self.order = block(self.seconds)
        for order in (self.order, CLOCK):
            self.job.order(order, execution=self.execution)

    def confirm(self, events: Sequence[Event]) -> Evidence:
        mine = [event for event in events if event.get("execution") == self.execution]
        told = next(
            (event["t"] for event in mine if event["event"] == "ordered" and event["order"] == self.order), None
        )
        sign = next((event for event in mine if event["event"] in SIGNS), None)
        if told is None or sign is None:
            raise NoReceipt(f"{self.during} was not told to block, or not heard of any more")
        silent: float = sign["t"] - told
        if silent < self.seconds - PRECISION:
            raise NoReceipt(f"{self.during} was to block for {self.seconds:g} s, and was heard of after {silent:.3f} s")
        self.need_rival(events, before=sign["t"] - self.job.run.terms.interval)
        return {"silent": round(silent, 3), "heard": sign["event"]}
