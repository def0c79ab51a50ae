"""How a script offers a job to a worker: what it gets when it looks is seen, and not waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench.events import starts
from bench.history import Event
from bench.orders import FINISH, Order
from bench.waits import Waits

if TYPE_CHECKING:
    from bench.job import Job
    from bench.script import Wishes
    from bench.subject import Worker

DECOYS = 8
"""How many are put in at most until somebody begins one."""

GOT_IT, GOT_NOTHING = "1 job", "0 jobs"
"""What an offer comes to."""


class Offers(Waits):
    """The offering part of a script's handle."""

    _describe: Mapping[str, Any]

    def _enqueue(
        self, names: Sequence[str], role: str, orders: Sequence[Order], lasts: float | None, wishes: Wishes
    ) -> list[Job]:
        raise NotImplementedError

    def offer(self, job: Job, to: Worker, since: int = 0) -> str:
        """What `to` gets when it looks: "1 job" if it takes `job`, "0 jobs" if it does not although it looked.

        A decoy is put beside the job, later in the queue's order: whoever takes the decoy was looking, and could not
        have the job. Where nobody begins it there is another, since one who claims ahead may have it and not begin it.
        Of the job's starts there, the first `since` don't count. Raises Unmet when nobody takes either.
        """
        decoys: list[Job] = []

        def got_it(events: Sequence[Event]) -> bool:
            return len(starts(events, job.name, to.name)) > since

        def taken(events: Sequence[Event]) -> bool:
            return got_it(events) or any(starts(events, decoy.name) for decoy in decoys)

        if got_it(self.history.events()):
            return GOT_IT
        while not decoys or (len(decoys) < DECOYS and not self.history.until(taken, max(1.0, self.lease))):
            decoys.append(self._decoy())
        self.need(
            f"{to.name} took {' or '.join(decoy.name for decoy in decoys)} or {job.name}",
            taken,
            unless="it deals jobs out to workers that are busy" if self._describe.get("deals") else "",
        )
        if got_it(self.history.events()):
            return GOT_IT
        self.until_over([decoy for decoy in decoys if decoy.starts])
        return GOT_NOTHING

    def _decoy(self) -> Job:
        count = sum(event["event"] == "enqueued" and event["role"] == "decoy" for event in self.history.events())
        return self._enqueue([f"decoy-{count + 1}"], "decoy", [FINISH], None, {})[0]
