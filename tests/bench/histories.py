"""Builders for histories written by hand: an event a line, and the time of each is its position.

So `reclaimed("job", since=2)` was asked for when the event at position 2 happened, wherever its answer stands.
"""

import signal
from dataclasses import dataclass
from typing import Any

from bench.history import FORMAT, Event
from bench.orders import fail


def event(kind: str, /, **fields: Any) -> Event:
    return {"event": kind, **fields}


def history(
    *events: Event,
    fault: bool = True,
    margin: float = 0.3,
    exit_codes: tuple[int, ...] = (0,),
    forced_codes: tuple[int, ...] = (),
    attempts: str | None = "claim",
) -> list[Event]:
    """A header, which has position 0, and these events. With no `attempts`, the subject does not say."""
    counted = {} if attempts is None else {"attempts": attempts}
    header = event(
        "header",
        format=FORMAT,
        scenario="made-up",
        arm={
            "id": "sound-fault" if fault else "sound-sham",
            "code": "sound",
            "fault": fault,
            "twin": None,
            "expected": "pass",
            "also": [],
        },
        lease=1.0,
        margin=margin,
        subject={
            "subject": "made up",
            **counted,
            "drain": {"exit_codes": list(exit_codes), "forced_codes": list(forced_codes)},
        },
    )
    return [{"t": float(i), **each} for i, each in enumerate((header, *events))]


def whole(*events: Event, fault: bool = True) -> list[Event]:
    """A history that leaves no doubt: its fault step was done, or left out in a sham arm, and it has an end."""
    step = [injected(), receipt()] if fault else [injected(really=False)]
    return history(*events, *step, STALLED, END, fault=fault)


@dataclass(frozen=True)
class Run:
    """One execution of a job by a worker, and all that can be told of it."""

    number: int
    worker: str
    job: str = "job"

    @property
    def _who(self) -> Event:
        return {"execution": self.number, "job": self.job, "worker": self.worker}

    @property
    def started(self) -> Event:
        return event("started", **self._who, pid=self.number, attempt=self.number)

    @property
    def told_to_finish(self) -> Event:
        return event("ordered", execution=self.number, order={"order": "finish"})

    @property
    def finished(self) -> Event:
        return event("finished", **self._who)

    @property
    def raised(self) -> Event:
        return event("raised", **self._who, error="transient")

    @property
    def died(self) -> Event:
        return event("died", **self._who)

    @property
    def accepted(self) -> Event:
        return event("outcome", worker=self.worker, job=self.job, attempt=self.number, accepted=True)

    @property
    def refused(self) -> Event:
        return event("outcome", worker=self.worker, job=self.job, attempt=self.number, accepted=False)

    @property
    def kept(self) -> Event:
        return event("renewed", worker=self.worker, kept=[self.job], lost=[])

    @property
    def lost(self) -> Event:
        return event("renewed", worker=self.worker, kept=[], lost=[self.job])

    def effect(self, key: str, under: str | None = None) -> Event:
        return event("effect", execution=self.number, job=self.job, key=key, under=under)

    def told_to_fail(self, kind: str = "transient", retry_in: float | None = None) -> Event:
        return event("ordered", execution=self.number, order=fail("transient", kind, retry_in))


def enqueued(job: str = "job", role: str = "job") -> Event:
    return event("enqueued", job=job, id="1", role=role)


def reclaimed(*jobs: str, since: float) -> Event:
    return event("reclaimed", jobs=list(jobs), ids=["1" for _ in jobs], since=since)


def row(state: str = "running", job: str = "job", **columns: str | int | None) -> Event:
    return event("row", job=job, row={"id": "1", "state": state, **columns})


def spawned(worker: str = "A", pid: int = 1, **options: Any) -> Event:
    return event("spawned", worker=worker, pid=pid, options=options)


def exited(worker: str = "A", status: int = 0, pid: int = 1) -> Event:
    return event("exited", worker=worker, pid=pid, status=status)


def wait(
    came: bool, job: str = "", bound: str = "", must: bool = False, within: float = 2.0, late: str = "stranded"
) -> Event:
    about = {"what": "something", "within": within, "came": came, "took": within, "bound": bound, "must": must}
    return event("wait", **about, jobs=[job] if job else [], late=late if bound else "")


def let_go(*waiting: str, job: str = "job") -> Event:
    return event("let-go", job=job, waiting=list(waiting), seen=[])


def sample(name: str, *rows: list[str], columns: tuple[str, ...] = ()) -> Event:
    return event("sample", name=name, columns=list(columns), rows=list(rows))


def answered(request: str, answer: dict[str, Any], **fields: Any) -> Event:
    return event("answered", request=request, **fields, answer=answer)


def injected(kind: str = "kill -9", target: str = "A", step: int = 1, really: bool = True) -> Event:
    return event("fault", step=step, kind=kind, target=target, injected=really)


def receipt(step: int = 1, **evidence: Any) -> Event:
    return event("receipt", step=step, evidence=evidence)


def no_receipt(why: str, step: int = 1) -> Event:
    return event("no-receipt", step=step, why=why)


def stalled(seconds: float) -> Event:
    return event("stalled", seconds=seconds, at=1.0)


QUEUED = enqueued()
TERM = injected("SIGTERM")
STALLED = stalled(0.001)
END = event("end")
KILLED = -signal.SIGKILL
