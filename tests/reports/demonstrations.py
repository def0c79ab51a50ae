"""Small histories of the article's demonstrations, as the bench writes them."""

from __future__ import annotations

from typing import Any

from tests.reports.samples import History, ev, finished, header, outcome, started, worker

SOUND: dict[str, Any] = {"code": "sound", "anomalies": [], "as_expected": True, "expected": "pass"}


def broken(anomaly: str, *others: str, expected: bool = True) -> dict[str, Any]:
    """What result.json has of a twin that showed these."""
    anomalies = [{"name": name} for name in (anomaly, *others)]
    return {"code": "twin", "anomalies": anomalies, "as_expected": expected, "expected": anomaly}


def observed(t: float, n: int, columns: str, row: str, seen: str | None = None, **more: Any) -> dict[str, Any]:
    about = {"title": "", "predictions": {}, "ruled_out": [], **more}
    return ev(t, "observation", n=n, columns=columns.split("|"), rows=[row.split("|")], seen=seen, **about)


def enqueued(t: float, job: str, id: str, role: str = "job") -> dict[str, Any]:
    return ev(t, "enqueued", job=job, id=id, role=role)


def death() -> History:
    """The owner is killed: another looks, the lease runs out, yet another looks, and a reclaim gives the job back."""
    predicts = {"lock": "1 job", "lease": "0 jobs", "state": "0 jobs"}
    return [
        header("worker-death", "sound-fault", 6.0),
        *worker("dying", 4101, 0.01),
        enqueued(0.2, "job", "1"),
        started(0.3, "job", "dying", 1),
        *worker("other-1", 4102, 0.31),
        ev(3.3, "fault", step=1, kind="kill -9", target="dying", injected=True),
        ev(3.31, "died", execution=1, job="job", worker="dying"),
        ev(3.32, "exited", worker="dying", pid=4101, status=-9),
        ev(3.33, "receipt", step=1, evidence={"pids": [4101], "status": -9}),
        enqueued(3.34, "decoy-1", "2", "decoy"),
        started(3.4, "decoy-1", "other-1", 2),
        finished(3.41, "decoy-1", "other-1", 2),
        observed(
            3.5,
            1,
            "id|state|leased_by|attempt",
            "1|running|dying|1",
            "0 jobs",
            predictions=predicts,
            ruled_out=["lock"],
        ),
        *worker("other-2", 4103, 6.5),
        enqueued(6.7, "decoy-2", "3", "decoy"),
        started(6.8, "decoy-2", "other-2", 3),
        observed(
            6.9,
            2,
            "id|state|locked",
            "1|running|f",
            "0 jobs",
            predictions={**predicts, "lease": "1 job"},
            ruled_out=["lock", "lease"],
        ),
        ev(7.0, "reclaimed", worker=None, jobs=["job"], ids=["1"]),
        observed(7.1, 3, "id|state|leased_by|attempt", "1|queued||1", "1 job: [1]"),
        *worker("other-3", 4104, 7.2),
        started(7.4, "job", "other-3", 4, 2),
        finished(7.5, "job", "other-3", 4),
        outcome(7.6, "job", "other-3", 2),
        observed(7.7, 4, "id|state|attempt", "1|done|2"),
        ev(7.8, "end"),
    ]


def unrenewed(late: bool = False, told: bool = True) -> History:
    """A reclaim takes the job from its owner, who goes on. `late`: the rival takes it before its row is read.

    Who ended first differs with `late`, too: it is no fact.
    """
    row = "1|running|rival|2" if late else "1|queued||1"
    ends = [
        *[finished(6.0, "job", "owner", 1), outcome(6.1, "job", "owner", 1, accepted=False)][: 2 if told else 1],
        finished(6.2, "job", "rival", 2),
        outcome(6.3, "job", "rival", 2),
    ]
    return [
        header("heartbeat", "NoRenewal-fault", 2.0),
        *worker("owner", 510, 0.01),
        enqueued(0.1, "job", "1"),
        started(0.2, "job", "owner", 1),
        ev(0.21, "fault", step=1, kind="outlast", target="job", injected=True),
        ev(4.0, "reclaimed", worker=None, jobs=["job"], ids=["1"]),
        started(4.01, "job", "rival", 2, 2),
        observed(4.02, 1, "id|state|leased_by|attempt", row, "1 job: [1]"),
        enqueued(4.03, "decoy-1", "2", "decoy"),
        *([*ends[2:], *ends[:2]] if late else ends),
        started(6.4, "decoy-1", "owner", 3),
        observed(6.5, 2, "id|state|attempt", "1|done|2"),
        ev(6.6, "receipt", step=1, evidence={"execution": 1, "lasted": 6.004, "lease": 2.0}),
        ev(6.7, "end"),
    ]


def crowd(*first: str, again: bool = False) -> History:
    """Claimers of whom these get the job, all at once; a small load that is taken once each, or not."""
    claimers = [f"claimer-{n}" for n in range(1, 5)]
    events = [header("claim-race", "SelectThenUpdate-fault" if len(first) > 1 else "sound-fault")]
    events += [enqueued(0.1, "job", "1"), ev(0.2, "held", job="job")]
    events += [event for n, name in enumerate(claimers) for event in worker(name, n, 0.3, 0.4)]
    events += [
        ev(0.5, "fault", step=1, kind="crowd", target="claimer", injected=True),
        ev(0.6, "receipt", step=1, evidence={"joined": 3, "pids": [1, 2, 3]}),
        ev(0.7, "let-go", job="job", waiting=claimers if len(first) > 1 else [], seen=claimers),
    ]
    events += [started(0.8 + n / 100, "job", name, n + 1, n + 1) for n, name in enumerate(first)]
    events.append(observed(1.0, 1, "id|state|leased_by|attempt", f"1|running|{first[-1]}|{len(first)}"))
    for n, name in enumerate(first):
        last = n == len(first) - 1
        events += [finished(1.1, "job", name, n + 1), outcome(1.2, "job", name, n + 1, accepted=last)]
    for n in (1, 2):
        events += [enqueued(1.3, f"load-{n}", str(n + 1), "load"), started(1.4, f"load-{n}", "claimer-1", 20 + n)]
        events.append(finished(1.5, f"load-{n}", "claimer-1", 20 + n))
    if again:
        events += [started(1.45, "load-1", "claimer-2", 30), finished(1.5, "load-1", "claimer-2", 30)]
    return [*events, observed(1.6, 2, "id|state|leased_by|attempt", f"1|done||{len(first)}"), ev(1.7, "end")]


def drained() -> History:
    """SIGTERM in the middle of a job that its worker ends."""
    return [
        header("sigterm-drain", "sound-fault", 3.0),
        *worker("deploy", 910, 0.01),
        enqueued(0.1, "job", "1"),
        started(0.2, "job", "deploy", 1),
        ev(1.2, "fault", step=1, kind="SIGTERM", target="deploy", injected=True),
        ev(1.3, "receipt", step=1, evidence={"pid": 910, "arrived": True, "caught": True, "pending": False}),
        observed(5.2, 1, "id|state|leased_by|lease_expired|attempt", "1|running|deploy|f|1"),
        ev(5.3, "reclaimed", worker=None, jobs=[], ids=[]),
        observed(5.4, 2, "id|state|leased_by|attempt", "1|running|deploy|1", "0 jobs: []"),
        finished(6.2, "job", "deploy", 1),
        outcome(6.3, "job", "deploy", 1),
        ev(6.4, "exited", worker="deploy", pid=910, status=0),
        observed(6.5, 3, "id|state|attempt", "1|done|1"),
        ev(6.6, "end"),
    ]
