"""A history read as a picture: lanes, executions, faults and the notes that go with them.

Only what the history says is used. A history may stop anywhere: it is read while the arm still runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reports.events import Event, at, bounded, jobs_named, kind_of, names
from reports.leases import Lease, leases, overlaps

MOST_IDLE_RECLAIMS = 4
MOST_PROOFS = 8


@dataclass
class Life:
    """One process, from its spawn to its end."""

    start: float
    pid: object = None
    ready: float | None = None
    end: float | None = None
    status: object = None
    """How it exited; a negative status is the signal that ended it."""


@dataclass
class Execution:
    """One run of a job's body."""

    number: object
    job: str
    worker: str
    attempt: object
    role: str
    start: float
    end: float | None = None
    how: str = ""
    accepted: bool | None = None
    """Whether the queue took its end; none where it did not say."""


@dataclass
class Fault:
    """One fault step and what it was done to. `kind` chooses how it is drawn; `word` is the bench's own for it."""

    step: object
    kind: str
    word: str
    targets: list[str]
    at: float
    injected: bool
    what: str = ""
    end: float | None = None
    evidence: list[object] = field(default_factory=list)


@dataclass
class Lane:
    """All that happened in the processes of one name."""

    name: str
    lives: list[Life] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


@dataclass
class Note:
    """One thing worth a line: `kind` chooses its sign."""

    at: float
    kind: str
    text: str


@dataclass
class Story:
    """What a chart needs."""

    lease: float = 1.0
    origin: float = 0.0
    first: float = 0.0
    last: float = 0.0
    complete: bool = False
    live: bool = False
    title: str = ""
    lanes: list[Lane] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    job: str | None = None
    faults: list[Fault] = field(default_factory=list)
    leases: list[Lease] = field(default_factory=list)
    overlaps: list[tuple[float, float]] = field(default_factory=list)
    locks: list[tuple[float, float]] = field(default_factory=list)
    reclaims: list[tuple[float, list[str]]] = field(default_factory=list)
    observations: list[Event] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    @property
    def several(self) -> bool:
        """Whether it takes a job's name to say which one ran."""
        return len({run.job for lane in self.lanes for run in lane.executions if run.role == "job"}) > 1

    def shown_reclaims(self) -> list[tuple[float, list[str]]]:
        """A reclaim that runs by the clock is mostly idle: then only the passes that found something are shown."""
        idle = sum(not jobs for _, jobs in self.reclaims)
        return [(t, jobs) for t, jobs in self.reclaims if jobs or idle <= MOST_IDLE_RECLAIMS]

    def units(self, t: float) -> float:
        """A time in leases, from the first start of the job under test."""
        return (t - self.origin) / self.lease


class _Reader:
    def __init__(self) -> None:
        self.story = Story()
        self.lanes: dict[str, Lane] = {}
        self.executions: dict[object, Execution] = {}
        self.latest: dict[tuple[str, str, str], Execution] = {}
        self.faults: dict[object, Fault] = {}
        self.held: dict[str, float] = {}

    def lane(self, name: object) -> Lane:
        key = str(name)
        if key not in self.lanes:
            self.lanes[key] = Lane(key)
            self.story.lanes.append(self.lanes[key])
        return self.lanes[key]

    def note(self, e: Event, kind: str, text: str) -> None:
        self.story.notes.append(Note(at(e), kind, text))

    def tested(self, job: object) -> bool:
        """Whether the job is one that the scenario is about."""
        return self.story.roles.get(str(job), "job") == "job"

    def on_header(self, e: Event) -> None:
        lease = e.get("lease")
        if isinstance(lease, int | float) and lease > 0:
            self.story.lease = float(lease)

    def on_end(self, e: Event) -> None:
        self.story.complete = True

    def on_spawned(self, e: Event) -> None:
        self.lane(e.get("worker")).lives.append(Life(at(e), e.get("pid")))

    def life(self, e: Event) -> Life:
        lane = self.lane(e.get("worker"))
        same = [x for x in lane.lives if x.pid == e.get("pid")] or [x for x in lane.lives if x.end is None]
        if not same:
            same = [Life(at(e), e.get("pid"), ready=at(e))]
            lane.lives += same
        return same[-1]

    def on_ready(self, e: Event) -> None:
        self.life(e).ready = at(e)

    def on_exited(self, e: Event) -> None:
        life, status = self.life(e), e.get("status")
        life.end, life.status = at(e), status
        if isinstance(status, int) and status > 0:
            self.note(e, "odd", f"{e.get('worker')} exited with status {status}")

    def on_enqueued(self, e: Event) -> None:
        self.story.roles[str(e.get("job"))] = str(e.get("role", "job"))

    def on_started(self, e: Event) -> None:
        job = str(e.get("job"))
        run = Execution(
            e.get("execution"), job, str(e.get("worker")), e.get("attempt"), self.story.roles.get(job, "job"), at(e)
        )
        lane = self.lane(run.worker)
        if not lane.lives:  # a child of a worker tree may report before its parent does
            lane.lives.append(Life(at(e), e.get("pid"), ready=at(e)))
        lane.executions.append(run)
        self.executions[run.number] = run
        self.latest[run.worker, run.job, str(run.attempt)] = run

    def ended(self, e: Event, how: str) -> None:
        run = self.executions.get(e.get("execution"))
        if run and run.end is None:
            run.end, run.how = at(e), how

    def on_finished(self, e: Event) -> None:
        self.ended(e, "finished")

    def on_died(self, e: Event) -> None:
        self.ended(e, "died")

    def on_raised(self, e: Event) -> None:
        self.ended(e, "raised")
        if self.tested(e.get("job")):
            self.note(e, "raised", f"{e.get('job')} raised in {e.get('worker')}: {e.get('error', '')}")

    def on_renewed(self, e: Event) -> None:
        lost = [j for j in names(e.get("lost")) if self.tested(j)]
        if lost:
            self.note(e, "refused", f"{e.get('worker')} tried to renew {jobs_named(lost)}: refused, its lease was lost")

    def on_outcome(self, e: Event) -> None:
        if not self.tested(e.get("job")):
            return
        attempt = "" if e.get("attempt") is None else f", attempt {e.get('attempt')}"
        end = "accepted" if e.get("accepted") else "refused, its lease was lost"
        kind = "accepted" if e.get("accepted") else "refused"
        run = self.latest.get((str(e.get("worker")), str(e.get("job")), str(e.get("attempt"))))
        if run:
            run.accepted = bool(e.get("accepted"))
        verb = {"raised": "failed", "finished": "finished"}.get(run.how if run else "", "ended")
        self.note(e, kind, f"{e.get('worker')} {verb} {e.get('job')}{attempt}: {end}")

    def on_reclaimed(self, e: Event) -> None:
        jobs = names(e.get("jobs"))
        self.story.reclaims.append((at(e), jobs))

    def on_fault(self, e: Event) -> None:
        kind = str(e.get("kind", "fault"))
        injected = bool(e.get("injected", True))
        fault = Fault(e.get("step"), kind_of(kind), kind, names(e.get("target")), at(e), injected)
        self.story.faults.append(fault)
        self.faults[fault.step] = fault
        targets = list(fault.targets)
        fault.what = " ".join([kind, *targets]) if len(targets) < 4 else f"{kind} {targets[0]} to {targets[-1]}"
        if fault.injected:
            self.note(e, fault.kind, fault.what)
            if fault.kind != "other":  # the others are drawn on a line of their own
                for lane in [lane for target in fault.targets for lane in self.struck(target)]:
                    lane.faults.append(fault)
        else:
            self.note(e, "sham", f"here the fault would be ({fault.what}); it is left out")

    def struck(self, target: str) -> list[Lane]:
        """The lanes a fault is drawn on. One that is done to a job is drawn where that job runs."""
        if target in self.lanes or target not in self.story.roles:
            return [self.lane(target)]
        runs = [run for run in self.executions.values() if run.job == target and run.end is None]
        return [self.lanes[name] for name in dict.fromkeys(run.worker for run in runs)]

    def on_receipt(self, e: Event) -> None:
        if fault := self.faults.get(e.get("step")):
            fault.evidence.append(_short(e.get("evidence")))

    def on_fault_ended(self, e: Event) -> None:
        fault = self.faults.get(e.get("step"))
        if fault and fault.injected:
            fault.end = at(e)
            self.note(e, "lifted", f"{fault.what} is over")

    def on_held(self, e: Event) -> None:
        self.held[str(e.get("job"))] = at(e)
        what = f"a row lock on {e.get('job')}" if e.get("job") else "a lock"
        self.note(e, "lock", f"the bench holds {what}")

    def on_let_go(self, e: Event) -> None:
        since = self.held.pop(str(e.get("job")), None)
        if since is not None:
            self.story.locks.append((since, at(e)))
        waiting = names(e.get("waiting"))
        seen = f"; {len(waiting)} seen waiting" if waiting else "; nobody was waiting"
        self.note(e, "lock", f"the bench lets {e.get('job') or 'it'} go{seen}")

    def on_wait(self, e: Event) -> None:
        # Other waits that end in vain only give something time, such as a dismissed worker to go.
        if e.get("came") is False and (e.get("bound") or e.get("must")):
            self.note(e, "odd", f"waited {bounded(e.get('within'))}for {e.get('what')}: in vain")

    def on_premise(self, e: Event) -> None:
        if e.get("true") is False:
            self.note(e, "odd", f"a premise did not hold: {e.get('text')}")

    def on_trouble(self, e: Event) -> None:
        self.note(e, "odd", f"trouble in the {e.get('kind')}: {e.get('text')}")

    def on_observation(self, e: Event) -> None:
        self.story.observations.append(e)


def read(history: Sequence[Event], now: float | None = None) -> Story:
    """The story so far; `now` lets the bars of a running arm grow between its events."""
    reader = _Reader()
    for event in history:
        handle = getattr(reader, "on_" + str(event.get("event", "")).replace("-", "_"), None)
        if handle:
            handle(event)
    story = reader.story
    times = [at(e) for e in history if e.get("event") not in ("header", "stalled", "end")]
    story.live = now is not None and not story.complete
    story.last = max([*times, now or 0.0])
    story.locks += [(since, story.last) for since in reader.held.values()]
    _effects(story, history)
    _reclaims(story)
    story.notes.sort(key=lambda note: note.at)
    _origin(story, times)
    runs = [run for lane in story.lanes for run in lane.executions if run.role == "job"]
    story.overlaps = overlaps([(r.job, r.start, story.last if r.end is None else r.end) for r in runs])
    jobs = [job for job, role in story.roles.items() if role == "job"] or list(dict.fromkeys(r.job for r in runs))
    if 1 <= len(jobs) <= 4:  # with more jobs no single lease is the one to look at
        asked = [str(e.get("job")) for e in history if e.get("event") == "row"]
        story.job = next((j for j in asked if j in jobs), jobs[0])
        story.leases = leases(history, story.job, story.lease, story.last)
    return story


def _origin(story: Story, times: Sequence[float]) -> None:
    """Time 0 is the first start of the job under test: the moment its lease begins."""
    starts = [run.start for lane in story.lanes for run in lane.executions if run.role == "job"]
    story.origin = min(starts, default=0.0)
    # Processes take a while to start. More than a lease of that says nothing, unless something was done in it.
    early = [f.at for f in story.faults] + [a for a, _ in story.locks] + [at(o) for o in story.observations]
    early += [run.start for lane in story.lanes for run in lane.executions]
    story.first = max(min(times, default=0.0), min([story.origin - story.lease, *early]))


def _reclaims(story: Story) -> None:
    for t, jobs in story.shown_reclaims():
        text = f"reclaim gave back {jobs_named(jobs)}" if jobs else "reclaim found nothing to give back"
        story.notes.append(Note(t, "reclaim", text))


def _effects(story: Story, history: Sequence[Event]) -> None:
    made: dict[str, list[Event]] = {}
    for e in history:
        if e.get("event") == "effect":
            made.setdefault(str(e.get("key")), []).append(e)
    for key, events in made.items():
        if len(events) > 1:
            runs = ", ".join(str(e.get("execution")) for e in events)
            under = {e.get("under") for e in events}
            known = len(under) == 1 and under != {None}
            verb, under_one = ("asked for", ", under one key") if known else ("made", "")
            text = f"the effect {key} was {verb} {len(events)} times{under_one} (executions {runs})"
            story.notes.append(Note(at(events[-1]), "odd", text))


def _short(evidence: object) -> object:
    """A receipt for a line: long lists in it are counted, since the history has them whole."""
    if not isinstance(evidence, Mapping):
        return evidence
    long = {k: f"{len(v)} of them" for k, v in evidence.items() if isinstance(v, list) and len(v) > MOST_PROOFS}
    return {**evidence, **long}
