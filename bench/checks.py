"""The checks: pure functions of a history, each of which yields the anomalies that it finds.

An anomaly is one named way to be wrong. Its evidence is given as positions in the history, so that a reader can look.
Times are the witness's, on the bench's clock; what the queue says of itself (`row`) is corroboration.
"""

import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

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
    """One run of a job as the witness saw it; `end` and `ending` are of the history's last event while it goes on."""

    number: int
    job: str
    worker: str
    start: int
    end: int
    ending: str

    def overlaps(self, other: "Execution") -> bool:
        return self.start < other.end and other.start < self.end


def executions(events: Sequence[Event], role: str | None = None) -> list[Execution]:
    """All executions in the order of their starts, or those of jobs that have the role."""
    roles = roles_of(events)
    endings = {event["execution"]: i for i, event in enumerate(events) if event["event"] in ENDINGS}
    return [
        Execution(
            event["execution"],
            event["job"],
            event["worker"],
            i,
            endings.get(event["execution"], len(events)),
            events[endings[event["execution"]]]["event"] if event["execution"] in endings else "running",
        )
        for i, event in enumerate(events)
        if event["event"] == "started" and (role is None or roles.get(event["job"]) == role)
    ]


def roles_of(events: Sequence[Event]) -> dict[str, str]:
    """Each job's role: `job`, `load` or `decoy`."""
    return {event["job"]: event["role"] for event in events if event["event"] == "enqueued"}


def no_overlap(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`double-execution`: two executions of one job at the same moment."""
    seen: dict[str, list[Execution]] = {}
    for later in executions(events):
        for earlier in seen.setdefault(later.job, []):
            if earlier.overlaps(later):
                yield Anomaly(
                    "double-execution",
                    f"{later.job} was started by {later.worker} while {earlier.worker} was still running it",
                    (earlier.start, later.start),
                )
        seen[later.job].append(later)


def handed_out_once(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`double-claim`: a job that nobody had given back was handed out again."""
    for earlier, later in _handed_out_again(events):
        yield Anomaly(
            "double-claim",
            f"{later.job} was handed to {earlier.worker} and, with nothing given back between, to {later.worker}",
            (earlier.start, later.start),
        )


def held_by_state(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`freed-at-death`, `claimed-while-running`: handed out with no reclaim, before or after the lease ran out."""
    for earlier, later in _handed_out_again(events):
        over = [
            i
            for i, event in enumerate(events[: later.start])
            if event["event"] == "row" and event["job"] == later.job and event["row"].get("lease_alive") == "f"
        ]
        when = "after its lease had run out" if over else "with its lease not yet over"
        yield Anomaly(
            "claimed-while-running" if over else "freed-at-death",
            f"{later.worker} got {later.job} from {earlier.worker} {when}, and no reclaim had given it back",
            (earlier.start, *over[-1:], later.start),
        )


def _handed_out_again(events: Sequence[Event]) -> Iterator[tuple[Execution, Execution]]:
    """Pairs of executions of one job between which nothing gave the job back: no reclaim, no failure."""
    last: dict[str, Execution] = {}
    for later in executions(events):
        earlier = last.get(later.job)
        if earlier is not None and not _given_back(events, earlier, later):
            yield earlier, later
        last[later.job] = later


def _given_back(events: Sequence[Event], earlier: Execution, later: Execution) -> bool:
    """Whether a reclaim or a failure gave the job back between two starts.

    A reclaim counts from when it was asked for: the next start may be reported before its answer is.
    """
    for i, event in enumerate(events[earlier.start :], start=earlier.start):
        if event["event"] == "reclaimed" and later.job in event["jobs"] and event["since"] <= events[later.start]["t"]:
            return True
        if event["event"] == "raised" and event["execution"] == earlier.number and i < later.start:
            return True
    return False


def recovered(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`stranded`: a job that the queue accepted was not finished by anybody, though the bench waited out its bound."""
    finished = {event["job"] for event in events if event["event"] == "finished"}
    missed = [(i, event) for i, event in enumerate(events) if event["event"] == "wait" and not event["came"]]
    for i, event in enumerate(events):
        if event["event"] == "enqueued" and event["role"] != "decoy" and event["job"] not in finished:
            waited = [(j, wait) for j, wait in missed if wait.get("job") == event["job"] and wait.get("bound")]
            bound = f" within {waited[-1][1]['within']:.2f} s ({waited[-1][1]['bound']})" if waited else ""
            yield Anomaly("stranded", f"{event['job']} was not finished{bound}", (i, *(j for j, _ in waited[-1:])))


def nothing_lost(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`lost`: the queue says done, or has no record, of a job that nobody finished."""
    finished = {event["job"] for event in events if event["event"] == "finished"}
    for job, i in _last_rows(events).items():
        state = events[i]["row"]["state"]
        if state in ("done", "absent") and job not in finished:
            yield Anomaly("lost", f"the queue says that {job} is {state}, and nobody finished it", (i,))


def attempts_counted(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`attempt-not-counted`: at the end a job's attempts are not as many as its executions."""
    runs = executions(events)
    for job, i in _last_rows(events).items():
        starts = [run.start for run in runs if run.job == job]
        attempt = events[i]["row"].get("attempt")
        if attempt is not None and attempt != str(len(starts)):
            text = f"{job} was started {len(starts)} times, and its row says attempt {attempt}"
            yield Anomaly("attempt-not-counted", text, (*starts, i))


def _last_rows(events: Sequence[Event]) -> dict[str, int]:
    """The position of the last row of each job."""
    return {event["job"]: i for i, event in enumerate(events) if event["event"] == "row"}


def effect_once(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`effect-twice`: the outside world saw two effects under one key."""
    first: dict[str, int] = {}
    for i, event in enumerate(events):
        if event["event"] != "effect":
            continue
        if event["key"] in first:
            yield Anomaly("effect-twice", f"the effect {event['key']} was made again", (first[event["key"]], i))
        first.setdefault(event["key"], i)


def _signalled(events: Sequence[Event]) -> dict[str, int]:
    """The position of the receipt of SIGTERM for each worker that got one as a fault."""
    targets = {
        event["step"]: event["target"] for event in events if event["event"] == "fault" and event["kind"] == "SIGTERM"
    }
    return {
        targets[event["step"]]: i
        for i, event in enumerate(events)
        if event["event"] == "receipt" and event["step"] in targets
    }


def no_start_after_sigterm(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`claimed-after-sigterm`: a worker that was told to stop began another job."""
    signalled = _signalled(events)
    for run in executions(events):
        told = signalled.get(run.worker)
        if told is not None and run.start > told:
            yield Anomaly("claimed-after-sigterm", f"{run.worker} began {run.job} after SIGTERM", (told, run.start))


def served_to_the_end(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`abandoned`: a worker that was told to stop left the job that it was running."""
    signalled = _signalled(events)
    for run in executions(events):
        told = signalled.get(run.worker)
        if told is not None and run.start < told < run.end and run.ending == "died":
            yield Anomaly("abandoned", f"{run.worker} left {run.job} on SIGTERM", (run.start, told, run.end))


def clean_exit(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`unclean-exit`: a drained worker ended in a way that its `describe` does not accept."""
    accepted = events[0]["subject"]["drain"]["exit_codes"]
    signalled = _signalled(events)
    for i, event in enumerate(events):
        if event["event"] == "exited" and event["worker"] in signalled and event["status"] not in accepted:
            text = f"{event['worker']} ended with {event['status']} after SIGTERM; accepted is {accepted}"
            yield Anomaly("unclean-exit", text, (signalled[event["worker"]], i))


def unstarted_freed(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`not-freed`: a worker drained and left, and a job that it never started still bears its name."""
    signalled = _signalled(events)
    left = {
        event["worker"]: i
        for i, event in enumerate(events)
        if event["event"] == "exited" and event["worker"] in signalled
    }
    started = {(run.job, run.worker) for run in executions(events)}
    told: set[str] = set()
    for i, event in enumerate(events):
        if event["event"] != "row" or event["job"] in told:
            continue
        owner = event["row"].get("leased_by") or ""
        if owner in left and i > left[owner] and (event["job"], owner) not in started:
            told.add(event["job"])
            text = f"{event['job']} is still held for {owner}, which never began it and is gone"
            yield Anomaly("not-freed", text, (signalled[owner], left[owner], i))


def late_finish_refused(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`stale-finish-accepted`: one who had lost the job finished it, and the queue took that over the owner's head.

    The row is judged as it was between the late finish and the owner's, since the final state hides it.
    """
    for stale, owner in _superseded(events):
        for i, event in enumerate(events[stale.end : owner.end], start=stale.end):
            if event["event"] == "outcome" and event["accepted"] and _of(event, stale):
                text = f"the finish of {stale.worker} was taken while {owner.worker} held {stale.job}"
            elif event["event"] == "row" and event["job"] == stale.job and event["row"]["state"] in ("done", "failed"):
                text = (
                    f"{stale.job} is {event['row']['state']} by {stale.worker}, and {owner.worker} is still running it"
                )
            else:
                continue
            yield Anomaly("stale-finish-accepted", text, (stale.start, owner.start, stale.end, i))
            break


def one_owner(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`two-owners`: one who had lost the job was told by its heartbeat that it still holds it."""
    for stale, owner in _superseded(events, ended=False):
        for i, event in enumerate(events[owner.start : owner.end], start=owner.start):
            if event["event"] == "renewed" and event["worker"] == stale.worker and stale.job in event["kept"]:
                text = (
                    f"{stale.worker} renewed {stale.job} while {owner.worker} held it: both believe that it is theirs"
                )
                yield Anomaly("two-owners", text, (stale.start, owner.start, i))
                break


def _superseded(events: Sequence[Event], ended: bool = True) -> Iterator[tuple[Execution, Execution]]:
    """Pairs of executions of one job on two workers: one that lost it, and the next, which began before that ended.

    With `ended`, only those in which the first one ended by itself while the second was running.
    """
    last: dict[str, Execution] = {}
    for later in executions(events):
        earlier = last.get(later.job)
        late = earlier and earlier.ending == "finished" and earlier.end < later.end
        if earlier and earlier.worker != later.worker and earlier.overlaps(later) and (late or not ended):
            yield earlier, later
        last[later.job] = later


def _of(outcome: Event, run: Execution) -> bool:
    return bool(outcome["job"] == run.job and outcome["worker"] == run.worker)


def schema_refuses(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`impossible-state`: the database took a row that can mean nothing."""
    for i, event in enumerate(events):
        if event["event"] == "receipt":
            for row in event["evidence"].get("accepted", []):
                yield Anomaly("impossible-state", f"the database took {row}", (i,))


def undisturbed(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`disturbed`: in an arm without its fault something happened all the same. Judged in every sham arm."""
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


def progress(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`no-progress`: what any queue does at once did not come, with all the patience of the bench. In every arm."""
    for i, event in enumerate(events):
        if event["event"] == "wait" and event["must"] and not event["came"]:
            yield Anomaly("no-progress", f"not in {event['within']:.0f} s: {event['what']}", (i,))
