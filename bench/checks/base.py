"""What an anomaly, a check and an execution are, and what several checks ask of a history."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from typing import TypeVar

from bench.events import ENDINGS
from bench.history import Event


@dataclass(frozen=True)
class Anomaly:
    """One named way to be wrong, in a sentence, with the positions of the events that show it."""

    name: str
    text: str
    events: tuple[int, ...]


Check = Callable[[Sequence[Event]], Iterator[Anomaly]]


@dataclass(frozen=True)
class Execution:
    """One run of a job as the witness saw it. `start`, `end` are positions; `end` is past the last while it goes on."""

    number: int
    job: str
    worker: str
    attempt: int | None
    start: int
    end: int
    ending: str

    def overlaps(self, other: "Execution") -> bool:
        return self.start < other.end and other.start < self.end


def executions(events: Sequence[Event]) -> list[Execution]:
    """All executions in the order of their starts.

    None outlives its process: that this was reaped may be written before the puppet's last word, or before its silence
    is noticed. Of a tree that was killed as one, nothing outlives the process at its top.
    """
    endings = {event["execution"]: i for i, event in enumerate(events) if event["event"] in ENDINGS}
    exits: dict[int, int] = {}
    for i, event in enumerate(events):
        if event["event"] == "exited":
            exits[event["pid"]] = i
        elif event["event"] == "receipt" and "status" in event["evidence"] and "pids" in event["evidence"]:
            top, *others = event["evidence"]["pids"]
            exits |= {pid: exits[top] for pid in others if top in exits and pid not in exits}
    found = []
    for i, event in of_kind(events, "started"):
        end = endings.get(event["execution"], len(events))
        ending = events[end]["event"] if end < len(events) else "running"
        if i < exits.get(event["pid"], -1) < end:
            end, ending = exits[event["pid"]], "died" if ending == "running" else ending
        found.append(Execution(event["execution"], event["job"], event["worker"], event["attempt"], i, end, ending))
    return found


def by_job(events: Sequence[Event]) -> dict[str, list[Execution]]:
    """The executions of each job, in the order of their starts."""
    runs: dict[str, list[Execution]] = {}
    for run in executions(events):
        runs.setdefault(run.job, []).append(run)
    return runs


# Positions.

K = TypeVar("K", bound=Hashable)


def of_kind(events: Sequence[Event], kind: str) -> Iterator[tuple[int, Event]]:
    """The events of a kind, each with its position."""
    return ((i, event) for i, event in enumerate(events) if event["event"] == kind)


def index(found: Iterable[tuple[K, int]]) -> defaultdict[K, list[int]]:
    """The positions of each key, in order; none for a key that is not there."""
    positions: defaultdict[K, list[int]] = defaultdict(list)
    for key, i in found:
        positions[key].append(i)
    return positions


def between(positions: Sequence[int], start: int, end: int) -> Sequence[int]:
    """Those of ordered positions that lie in range(start, end)."""
    return positions[bisect_left(positions, start) : bisect_left(positions, end)]


def first(positions: Sequence[int], start: int, end: float) -> int | None:
    """The first of ordered positions that lies in range(start, end); None if none does."""
    n = bisect_left(positions, start)
    return positions[n] if n < len(positions) and positions[n] < end else None


def last_rows(events: Sequence[Event]) -> dict[str, int]:
    """The position of the last row of each job."""
    return {event["job"]: i for i, event in of_kind(events, "row")}


# Reclaims.


def reclaims(events: Sequence[Event]) -> Iterator[tuple[list[Execution], list[bool]]]:
    """The executions of each job, and for each two neighbours whether a reclaim gave it back between their starts.

    Of a queue that reclaims by itself and tells nobody, it is taken to have: unless the earlier one had finished. Then
    its finish may have been lost on the way, and the job given back for that: where its lease had the time to run out
    (it began at the claim, a margin before the start at most), or where it was a connection's and a fault came between.
    """
    given_back = index((job, i) for i, event in of_kind(events, "reclaimed") for job in dict.fromkeys(event["jobs"]))
    subject = events[0]["subject"]
    silent = subject.get("reclaim", "called") != "called" and "reclaimed" not in subject.get("tells", ())
    receipts = [i for i, _ in of_kind(events, "receipt")]

    def may_be_back(earlier: Execution, later: Execution) -> bool:
        if earlier.ending != "finished" or earlier.end > later.start:
            return True
        if subject.get("ownership") == "connection" and any(earlier.start < i < later.start for i in receipts):
            return True
        lasted = events[later.start]["t"] - events[earlier.start]["t"]
        return bool(lasted >= events[0]["lease"] - events[0]["margin"])

    for job, runs in by_job(events).items():
        if silent:
            yield runs, [may_be_back(earlier, later) for earlier, later in pairwise(runs)]
        else:
            yield runs, _given_back(events, runs, given_back[job])


def _given_back(events: Sequence[Event], runs: Sequence[Execution], positions: Sequence[int]) -> list[bool]:
    """Each reclaim counts once.

    It counts from when it was asked for, `since`: the next start may be reported before its answer is.
    """
    asked = sorted(positions, key=lambda i: events[i]["since"], reverse=True)
    due: list[int] = []
    found = []
    for earlier, later in pairwise(runs):
        while asked and events[asked[-1]]["since"] <= events[later.start]["t"]:
            heappush(due, asked.pop())
        while due and due[0] < earlier.start:
            heappop(due)
        found.append(bool(due))
        if due:
            heappop(due)
    return found


# Signals.


@dataclass(frozen=True)
class Told:
    """SIGTERM to a worker, as positions: the fault, its receipt, the exit if it came, the start of its namesake."""

    worker: str
    sent: int
    taken: int
    left: int | None
    succeeded: int


def told(events: Sequence[Event]) -> Iterator[Told]:
    """Each worker that was told to stop."""
    receipts = index((event["step"], i) for i, event in of_kind(events, "receipt"))
    spawns = index((event["worker"], i) for i, event in of_kind(events, "spawned"))
    exits = index((event["worker"], i) for i, event in of_kind(events, "exited"))
    for sent, event in of_kind(events, "fault"):
        if event["kind"] == "SIGTERM" and receipts[event["step"]]:
            worker, taken = event["target"], receipts[event["step"]][0]
            spawned = first(spawns[worker], taken, len(events))
            succeeded = len(events) if spawned is None else spawned
            yield Told(worker, sent, taken, first(exits[worker], sent, succeeded), succeeded)


def left_when_told(events: Sequence[Event]) -> Iterator[tuple[Told, Execution]]:
    """Each execution that was left by a worker which had been told to stop."""
    died = {run.start: run for run in executions(events) if run.ending == "died"}
    starts = index((run.worker, run.start) for run in died.values())
    for signal in told(events):
        for start in between(starts[signal.worker], 0, signal.taken):
            # From the signal on, not from its receipt: one that leaves at once is gone before that is written.
            if signal.sent < died[start].end:
                yield signal, died[start]
