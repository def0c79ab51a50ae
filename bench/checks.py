"""The checks: pure functions of a history, each of which yields the anomalies that it finds.

An anomaly is one named way to be wrong. Its evidence is given as positions in the history, so that a reader can look.
Times are the witness's, on the bench's clock; what the queue says of itself (`row`) is corroboration.
"""

import signal
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

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
    is noticed.
    """
    endings = {event["execution"]: i for i, event in enumerate(events) if event["event"] in ENDINGS}
    exits = {event["pid"]: i for i, event in enumerate(events) if event["event"] == "exited"}
    found = []
    for i, event in enumerate(events):
        if event["event"] == "started":
            end = endings.get(event["execution"], len(events))
            ending = events[end]["event"] if end < len(events) else "running"
            if i < exits.get(event["pid"], -1) < end:
                end, ending = exits[event["pid"]], "died" if ending == "running" else ending
            found.append(Execution(event["execution"], event["job"], event["worker"], event["attempt"], i, end, ending))
    return found


def _by_job(events: Sequence[Event]) -> dict[str, list[Execution]]:
    runs: dict[str, list[Execution]] = {}
    for run in executions(events):
        runs.setdefault(run.job, []).append(run)
    return runs


def _last_rows(events: Sequence[Event]) -> dict[str, int]:
    """The position of the last row of each job."""
    return {event["job"]: i for i, event in enumerate(events) if event["event"] == "row"}


# Is a job at one place at a time, and handed on only by what may hand it on?


def no_overlap(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`double-execution`: two executions of one job at the same moment."""
    for runs in _by_job(events).values():
        for i, later in enumerate(runs):
            for earlier in runs[:i]:
                if earlier.overlaps(later):
                    text = f"{later.job} was started by {later.worker} while {earlier.worker} was still running it"
                    yield Anomaly("double-execution", text, (earlier.start, later.start))


def handed_out_once(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`double-claim`: a job that nobody had given back was handed out again.

    For scripts in which only the bench reclaims: a worker's own reclaim is not in the history.
    """
    for earlier, later in _handed_out_again(events):
        text = f"{later.job} was handed to {earlier.worker} and, with nothing given back between, to {later.worker}"
        yield Anomaly("double-claim", text, (earlier.start, later.start))


def held_by_state(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`freed-at-death`, `claimed-while-running`: an unfinished job was handed on with no reclaim.

    It was freed by its owner's death if the lease was not yet seen to be over, and else by the lease. For scripts in
    which only the bench reclaims, as above.
    """
    for earlier, later in _handed_out_again(events):
        if earlier.end < later.start and earlier.ending != "died":
            continue  # run again after its end: another matter, at-least-once
        rows = [i for i in range(earlier.start, later.start) if _is_row(events[i], later.job)]
        over = [i for i in rows if events[i]["row"].get("lease_alive") == "f"]
        freed = earlier.ending == "died" and earlier.end < later.start and not over
        when = "with its lease not seen to be over" if not over else "after its lease had run out"
        yield Anomaly(
            "freed-at-death" if freed else "claimed-while-running",
            f"{later.worker} got {later.job} from {earlier.worker} {when}, and no reclaim had given it back",
            (earlier.start, *over[-1:], later.start),
        )


def _is_row(event: Event, job: str) -> bool:
    return bool(event["event"] == "row" and event["job"] == job)


def _handed_out_again(events: Sequence[Event]) -> Iterator[tuple[Execution, Execution]]:
    """Neighbouring executions of one job between which nothing gave the job back: no reclaim, no failure."""
    for runs in _by_job(events).values():
        for (earlier, later), reclaimed in zip(pairwise(runs), _reclaims(events, runs), strict=True):
            if not reclaimed and not (earlier.ending == "raised" and earlier.end < later.start):
                yield earlier, later


def _reclaims(events: Sequence[Event], runs: Sequence[Execution]) -> list[bool]:
    """For each two neighbouring executions of a job, whether a reclaim gave it back between; each counts once."""
    spent: set[int] = set()
    found = []
    for earlier, later in pairwise(runs):
        position = _reclaim_between(events, earlier, later, spent)
        found.append(position is not None)
        if position is not None:
            spent.add(position)
    return found


def _reclaim_between(
    events: Sequence[Event], earlier: Execution, later: Execution, spent: Collection[int]
) -> int | None:
    """The position of a reclaim, not spent yet, that gave the job back between two starts.

    It counts from when it was asked for, `since`: the next start may be reported before its answer is.
    """
    for i, event in enumerate(events[earlier.start :], start=earlier.start):
        gives_back = event["event"] == "reclaimed" and later.job in event["jobs"]
        if gives_back and i not in spent and event["since"] <= events[later.start]["t"]:
            return i
    return None


# Does every job come to its end, in the world and in the queue?


def recovered(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`stranded`: a job was not finished by anybody, or later than claimed, or its queue does not know that it was."""
    finished = {event["job"]: i for i, event in enumerate(events) if event["event"] == "finished"}
    rows = _last_rows(events)
    for i, event in enumerate(events):
        if event["event"] != "enqueued" or event["role"] == "decoy":
            continue
        job = event["job"]
        missed = next((j for j, wait in enumerate(events) if _missed(wait, job)), None)
        if missed is not None:
            wait = events[missed]
            yield Anomaly(
                "stranded", f"not within {wait['within']:.2f} s ({wait['bound']}): {wait['what']}", (i, missed)
            )
        elif job not in finished:
            yield Anomaly("stranded", f"{job} was not finished by anybody", (i,))
        elif rows.get(job, -1) > finished[job] and events[rows[job]]["row"]["state"] in ("queued", "running"):
            state = events[rows[job]]["row"]["state"]
            yield Anomaly("stranded", f"{job} was finished, and at the end its queue says {state}", (i, rows[job]))


def _missed(event: Event, job: str) -> bool:
    """Whether a bounded wait for a job was in vain."""
    return bool(event["event"] == "wait" and event["job"] == job and event["bound"] and not event["came"])


def nothing_lost(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`lost`: the queue says done, or has no record, of a job that nobody finished; or failed, and nobody began it."""
    finished = {event["job"] for event in events if event["event"] == "finished"}
    started = {event["job"] for event in events if event["event"] == "started"}
    for job, i in _last_rows(events).items():
        state = events[i]["row"]["state"]
        if state in ("done", "absent") and job not in finished:
            yield Anomaly("lost", f"the queue says that {job} is {state}, and nobody finished it", (i,))
        elif state == "failed" and job not in started:
            yield Anomaly("lost", f"the queue says that {job} has failed, and nobody began it", (i,))


def attempts_counted(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`attempt-not-counted`: a queue that counts attempts at the claim has another count than there were executions."""
    if events[0]["subject"].get("attempts") != "claim":
        return
    runs = _by_job(events)
    for job, i in _last_rows(events).items():
        starts = [run.start for run in runs.get(job, [])]
        attempt = events[i]["row"].get("attempt")
        if attempt is not None and str(attempt) != str(len(starts)):
            text = f"{job} was started {len(starts)} times, and its row says attempt {attempt}"
            yield Anomaly("attempt-not-counted", text, (*starts, i))


def effect_once(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`effect-twice`: the outside world saw two effects under one key."""
    first: dict[str, int] = {}
    for i, event in enumerate(events):
        if event["event"] == "effect":
            if event["key"] in first:
                yield Anomaly("effect-twice", f"the effect {event['key']} was made again", (first[event["key"]], i))
            first.setdefault(event["key"], i)


# Does a worker stop as it should when it is told to?


@dataclass(frozen=True)
class _Told:
    """SIGTERM to a worker: the positions of the fault, of its receipt, and of the start of the next of its name."""

    worker: str
    sent: int
    taken: int
    succeeded: int

    def is_mine(self, run: Execution) -> bool:
        return run.worker == self.worker and run.start < self.succeeded


def _told(events: Sequence[Event]) -> Iterator[_Told]:
    for sent, event in enumerate(events):
        if event["event"] == "fault" and event["kind"] == "SIGTERM":
            receipts = (i for i, e in enumerate(events) if e["event"] == "receipt" and e["step"] == event["step"])
            taken = next(receipts, None)
            if taken is not None:
                worker = event["target"]
                next_one = (i for i in range(taken, len(events)) if _is_of(events[i], "spawned", worker))
                yield _Told(worker, sent, taken, next(next_one, len(events)))


def _is_of(event: Event, kind: str, worker: str) -> bool:
    return bool(event["event"] == kind and event["worker"] == worker)


def no_start_after_sigterm(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`claimed-after-sigterm`: a worker that was told to stop began another job."""
    for told in _told(events):
        for run in executions(events):
            if told.is_mine(run) and run.start > told.taken:
                text = f"{run.worker} began {run.job} after SIGTERM"
                yield Anomaly("claimed-after-sigterm", text, (told.taken, run.start))


def served_to_the_end(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`abandoned`: a worker that was told to stop left the job that it was running."""
    for told in _told(events):
        for run in executions(events):
            # From the signal on, not from its receipt: one that leaves at once is gone before that is written.
            if told.is_mine(run) and run.start < told.taken and told.sent < run.end and run.ending == "died":
                yield Anomaly("abandoned", f"{run.worker} left {run.job} on SIGTERM", (run.start, told.sent, run.end))


def clean_exit(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`unclean-exit`: a worker that was told to stop did not end, or not in a way that its `describe` accepts."""
    accepted = events[0]["subject"]["drain"]["exit_codes"]
    for told in _told(events):
        i = _exit_of(events, told)
        if i is None:
            yield Anomaly("unclean-exit", f"{told.worker} did not end after SIGTERM", (told.taken,))
        elif events[i]["status"] not in accepted:
            text = f"{told.worker} ended with {events[i]['status']} after SIGTERM; accepted is {accepted}"
            yield Anomaly("unclean-exit", text, (told.sent, i))


def _exit_of(events: Sequence[Event], told: _Told) -> int | None:
    return next((i for i in range(told.sent, told.succeeded) if _is_of(events[i], "exited", told.worker)), None)


def unstarted_freed(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`not-freed`: a worker drained and left, and a job that it never started still bears its name."""
    started = {(run.job, run.worker) for run in executions(events)}
    for told in _told(events):
        left = _exit_of(events, told)
        seen: set[str] = set()
        for i in range(told.succeeded if left is None else left, told.succeeded):
            if events[i]["event"] != "row" or events[i]["row"].get("leased_by") != told.worker:
                continue
            job = events[i]["job"]
            if job not in seen and (job, told.worker) not in started:
                seen.add(job)
                text = f"{job} is still held for {told.worker}, which never began it and is gone"
                yield Anomaly("not-freed", text, (told.sent, left or 0, i))


# Is one who has lost a job refused, and told?


def late_finish_refused(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`stale-finish-accepted`: one who had lost the job ended it, and the queue took that over a later owner's head.

    The row is judged as it was between the late end and the owner's, since the final state hides it.
    """
    runs = _by_job(events)
    for stale, owner, _ in _superseded(events):
        mine = runs[stale.job]
        shown = next((i for i in range(owner.start, len(events)) if _accepts(events, i, mine) == stale), None)
        text = f"the end that {stale.worker} made of {stale.job} was taken, and {owner.worker} had it by then"
        if shown is None and stale.ending in ("finished", "raised") and owner.start < stale.end < owner.end:
            # Only as long as nobody else can have ended it: a finish may be in the row before it is witnessed.
            others = [_may_end(events, run) for run in mine if run != stale and run.ending != "died"]
            between = range(stale.end, min([owner.end, *(end for end in others if end > stale.start)]))
            shown = next((i for i in between if _is_row(events[i], stale.job) and _is_over(events[i])), None)
            text = f"{stale.job} is over by {stale.worker}, and {owner.worker} is still running it"
        if shown is not None:
            yield Anomaly("stale-finish-accepted", text, (stale.start, owner.start, shown))


def _accepts(events: Sequence[Event], i: int, runs: Sequence[Execution]) -> Execution | None:
    """The execution of a job whose end was accepted at a position: by its attempt where the queue counts them."""
    event = events[i]
    if event["event"] != "outcome" or not event["accepted"] or event["job"] != runs[0].job:
        return None
    mine = [run for run in runs if run.worker == event["worker"] and run.start < i]
    named = [run for run in mine if run.attempt == event["attempt"]]
    return (named or mine)[-1] if mine else None


def _may_end(events: Sequence[Event], run: Execution) -> int:
    """From where on an execution may have ended: its first order to finish or to fail."""
    for i in range(run.start, min(run.end, len(events))):
        event = events[i]
        mine = event["event"] == "ordered" and event["execution"] == run.number
        if mine and event["order"].get("order") in ("finish", "fail"):
            return i
    return run.end


def _is_over(row: Event) -> bool:
    return row["row"]["state"] in ("done", "failed")


def one_owner(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`two-owners`: one who had lost the job was told by its heartbeat that it still holds it."""
    for stale, owner, anew in _superseded(events):
        for i in range(owner.start, min(owner.end, anew)):
            if _is_of(events[i], "renewed", stale.worker) and stale.job in events[i]["kept"]:
                text = f"{stale.worker} renewed {stale.job} while {owner.worker} held it: both believe it to be theirs"
                yield Anomaly("two-owners", text, (stale.start, owner.start, i))
                break


def _superseded(events: Sequence[Event]) -> Iterator[tuple[Execution, Execution, int]]:
    """Each execution whose job was reclaimed from it, with each later one, and where its worker got the job anew."""
    for runs in _by_job(events).values():
        for i, reclaimed in enumerate(_reclaims(events, runs)):
            if reclaimed:
                again = (run.start for run in runs[i + 1 :] if run.worker == runs[i].worker)
                anew = next(again, len(events))
                yield from ((runs[i], owner, anew) for owner in runs[i + 1 :] if owner.start <= anew)


def schema_refuses(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`impossible-state`: the database took a row that can mean nothing."""
    for i, event in enumerate(events):
        if event["event"] == "receipt":
            for row in event["evidence"].get("accepted", []):
                yield Anomaly("impossible-state", f"the database took {row}", (i,))


# Judged in every arm, and in every arm without its fault.


def progress(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`no-progress`: what any queue does at once did not come, with all the patience of the bench."""
    for i, event in enumerate(events):
        if event["event"] == "wait" and event["must"] and not event["came"]:
            yield Anomaly("no-progress", f"not in {event['within']:.0f} s: {event['what']}", (i,))


def undisturbed(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`disturbed`: in an arm without its fault something happened all the same."""
    count: dict[str, int] = {}
    for i, event in enumerate(events):
        match event["event"]:
            case "started":
                count[event["job"]] = count.get(event["job"], 0) + 1
                if count[event["job"]] > 1:
                    yield Anomaly("disturbed", f"{event['job']} was started again, and nothing was done to it", (i,))
            case "reclaimed" if event["jobs"]:
                yield Anomaly("disturbed", f"a reclaim gave back {', '.join(event['jobs'])} of a living worker", (i,))
            case "died":
                yield Anomaly("disturbed", f"{event['worker']} died in {event['job']}, and nobody killed it", (i,))
            case "exited" if event["status"] == -signal.SIGKILL:
                yield Anomaly("disturbed", f"{event['worker']} was killed, and the arm has no fault", (i,))
            case "receipt":
                yield Anomaly("disturbed", "a fault was injected into an arm that has none", (i,))
            case _:
                pass
