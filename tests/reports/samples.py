"""Small histories written by hand, one for each thing that a picture must be able to show."""

from __future__ import annotations

from typing import Any

History = list[dict[str, Any]]

COLUMNS = ["id", "state", "leased_by", "lease_alive", "attempt"]
EXPLANATIONS = {
    "lock": "a row lock holds the job",
    "lease": "a live lease holds the job",
    "state": "the state holds the job",
}


def ev(t: float, event: str, **fields: Any) -> dict[str, Any]:
    return {"t": t, "event": event, **fields}


def header(scenario: str, arm: str, lease: float = 1.0, **of: Any) -> dict[str, Any]:
    twin = None if arm.startswith("sound") else arm.rsplit("-", 1)[0]
    about = {"id": arm, "code": "twin" if twin else "sound", "fault": arm.endswith("-fault"), "twin": twin}
    return ev(0.0, "header", format=1, scenario=scenario, arm=about, lease=lease, margin=0.3, seed=7, **of)


def worker(name: str, pid: int, t: float, ready: float | None = None) -> History:
    return [
        ev(t, "spawned", worker=name, pid=pid, options={}),
        ev(t + 0.16 if ready is None else ready, "ready", worker=name, pid=pid),
    ]


def started(t: float, job: str, who: str, execution: int, attempt: int | None = 1) -> dict[str, Any]:
    return ev(t, "started", job=job, worker=who, pid=0, attempt=attempt, execution=execution)


def finished(t: float, job: str, who: str, execution: int) -> dict[str, Any]:
    return ev(t, "finished", execution=execution, job=job, worker=who)


def outcome(t: float, job: str, who: str, attempt: int, accepted: bool = True) -> dict[str, Any]:
    return ev(t, "outcome", worker=who, job=job, attempt=attempt, accepted=accepted)


def ordered(history: History) -> History:
    """By time; what was written first stays first."""
    return sorted(history, key=lambda e: float(e["t"]))


def looked(n: int, t: float, name: str, pid: int) -> History:
    """A rival that takes a decoy and so proves that it was looking."""
    decoy = f"decoy-{n}"
    return [
        *worker(name, pid, t),
        ev(t + 0.02, "enqueued", job=decoy, role="decoy"),
        started(t + 0.2, decoy, name, 10 + n),
        finished(t + 0.26, decoy, name, 10 + n),
        ev(t + 0.34, "exited", worker=name, pid=pid, status=0),
    ]


def _death_until_reclaim(arm: str) -> History:
    return [
        header("worker-death", arm),
        *worker("dying", 4101, 0.01, 0.17),
        ev(0.05, "enqueued", job="job-1", role="job"),
        started(0.21, "job-1", "dying", 1),
        ev(0.70, "row", job="job-1", row={"state": "running", "lease_alive": True, "attempt": 1}),
        ev(0.71, "fault", step=1, kind="kill", target="dying", injected=True),
        ev(0.712, "died", execution=1, job="job-1", worker="dying"),
        ev(0.715, "exited", worker="dying", pid=4101, status=-9),
        ev(0.716, "receipt", step=1, evidence={"pid": 4101, "wait status": -9}),
        *looked(1, 0.72, "rival-1", 4102),
        ev(
            1.08,
            "observation",
            n=1,
            title="the owner is dead, its lease is alive",
            columns=COLUMNS,
            rows=[["1", "running", "dying", "t", "1"]],
            seen="rival-1 looked and got 0 jobs; row locks held: 0",
            note="",
            predictions={"lock": "1 job", "lease": "0 jobs", "state": "0 jobs"},
            ruled_out=["lock"],
        ),
        ev(
            1.32,
            "observation",
            n=2,
            title="the lease has run out, no reclaim has run",
            columns=COLUMNS,
            rows=[["1", "running", "dying", "f", "1"]],
            seen="nothing has changed but the clock",
            note="The end of a lease is not an event: nothing happens by itself.",
            predictions={},
            ruled_out=[],
        ),
        *looked(2, 1.33, "rival-2", 4103),
        ev(
            1.69,
            "observation",
            n=3,
            title="the lease has run out, no row lock is held, a rival looks again",
            columns=COLUMNS,
            rows=[["1", "running", "dying", "f", "1"]],
            seen="rival-2 looked and got 0 jobs; row locks held: 0",
            note="",
            predictions={"lease": "1 job", "state": "0 jobs"},
            ruled_out=["lease"],
        ),
    ]


def worker_death() -> History:
    return ordered(
        [
            *_death_until_reclaim("sound-fault"),
            ev(1.75, "reclaimed", jobs=["job-1"]),
            ev(1.76, "row", job="job-1", row={"state": "queued", "attempt": 1}),
            *worker("third", 4104, 1.77),
            started(1.97, "job-1", "third", 4, 2),
            finished(2.47, "job-1", "third", 4),
            outcome(2.48, "job-1", "third", 2),
            ev(2.55, "exited", worker="third", pid=4104, status=0),
            ev(2.56, "stalled", seconds=0.004, at=1.2),
            ev(2.56, "end"),
        ]
    )


def worker_death_twin() -> History:
    return ordered(
        [
            *_death_until_reclaim("ReclaimFindsNothing-fault"),
            ev(1.75, "reclaimed", jobs=[]),
            *worker("third", 4104, 1.77),
            ev(3.77, "wait", what="job 1 to finish", within=2.0, came=False, took=2.0),
            ev(3.80, "exited", worker="third", pid=4104, status=0),
            ev(3.81, "end"),
        ]
    )


def partial() -> History:
    """As far as the second rival."""
    return [e for e in worker_death() if e["t"] < 1.5]


def heartbeat() -> History:
    renewals = [ev(0.22 + 0.667 * k, "renewed", worker="owner", kept=["job-1"], lost=[]) for k in range(1, 9)]
    return ordered(
        [
            header("heartbeat", "sound-fault", 2.0),
            *worker("owner", 510, 0.01),
            *worker("rival", 511, 0.01),
            ev(0.05, "enqueued", job="job-1", role="job"),
            started(0.22, "job-1", "owner", 1),
            ev(0.23, "fault", step=1, kind="outlast", target="job-1", injected=True),
            ev(0.23, "receipt", step=1, evidence="the job is held open for 3 L"),
            *renewals,
            ev(4.22, "reclaimed", jobs=[]),
            ev(
                4.23,
                "observation",
                n=1,
                title="a rival reclaims at 2 L",
                columns=["returned"],
                rows=[["0"]],
                seen="",
                note="",
                predictions={},
                ruled_out=[],
            ),
            ev(6.22, "fault-ended", step=1),
            finished(6.23, "job-1", "owner", 1),
            outcome(6.25, "job-1", "owner", 1),
            ev(6.3, "end"),
        ]
    )


def paused_past_its_lease() -> History:
    """A is paused in the middle of its job, B gets it, and A goes on."""
    return [
        *worker("A", 610, 0.01),
        ev(0.05, "enqueued", job="job-1", role="job"),
        started(0.2, "job-1", "A", 1),
        ev(0.5, "fault", step=1, kind="pause", target="A", injected=True),
        ev(0.51, "receipt", step=1, evidence={"pid": 610, "state": "T (stopped)"}),
        ev(1.3, "reclaimed", jobs=["job-1"]),
        *worker("B", 611, 1.2),
        started(1.4, "job-1", "B", 2, 2),
        ev(1.73, "renewed", worker="B", kept=["job-1"], lost=[]),
        ev(1.8, "fault-ended", step=1),
    ]


def late_finish() -> History:
    """A pause past the lease: two executions at once, and the late finish is refused."""
    return ordered(
        [
            header("late-finish", "sound-fault"),
            *paused_past_its_lease(),
            ev(1.82, "renewed", worker="A", kept=[], lost=["job-1"]),
            finished(1.9, "job-1", "A", 1),
            outcome(1.91, "job-1", "A", 1, accepted=False),
            ev(
                1.95,
                "observation",
                n=1,
                title="the row between the two finishes",
                columns=COLUMNS,
                rows=[["1", "running", "B", "t", "2"]],
                seen="A was told that its lease was lost",
                note="",
                predictions={},
                ruled_out=[],
            ),
            ev(2.06, "renewed", worker="B", kept=["job-1"], lost=[]),
            ev(2.39, "renewed", worker="B", kept=["job-1"], lost=[]),
            finished(2.7, "job-1", "B", 2),
            outcome(2.71, "job-1", "B", 2),
            ev(2.8, "end"),
        ]
    )


def late_finish_twin() -> History:
    """The same pause where anyone may finish: the late finish is accepted over the owner's."""
    return ordered(
        [
            header("late-finish", "CompleteByAnyone-fault"),
            *paused_past_its_lease(),
            finished(1.9, "job-1", "A", 1),
            outcome(1.91, "job-1", "A", 1),
            finished(2.7, "job-1", "B", 2),
            outcome(2.71, "job-1", "B", 2, accepted=False),
            ev(2.8, "end"),
        ]
    )


def claim_race() -> History:
    """Ten claimers; the bench holds a row lock until eight are seen waiting."""
    names = [f"claimer-{n}" for n in range(1, 11)]
    events = [header("claim-race", "SelectThenUpdate-fault")]
    for i, name in enumerate(names):
        events += worker(name, 700 + i, 0.01 + 0.004 * i, 0.2)
    events += [
        ev(0.1, "enqueued", job="job-1", role="job"),
        ev(0.11, "held", job="job-1", waiting=[]),
        ev(0.12, "fault", step=1, kind="barrier", target=names, injected=True),
        ev(0.13, "receipt", step=1, evidence="10 backends wait for the lock"),
        ev(0.62, "let-go", job="job-1", waiting=names[:8]),
        ev(0.62, "fault-ended", step=1),
    ]
    for i, name in enumerate(["claimer-3", "claimer-7", "claimer-9"]):
        events += [
            started(0.66 + 0.01 * i, "1", name, i + 1, i + 1),
            finished(1.06 + 0.01 * i, "1", name, i + 1),
            outcome(1.08 + 0.01 * i, "1", name, i + 1, accepted=i == 2),
        ]
    events += [ev(1.2, "effect", execution=n, job="job-1", key="mail-1") for n in (1, 2, 3)]
    return ordered([*events, ev(1.3, "end")])


def many_jobs() -> History:
    """A hundred short jobs by ten workers."""
    events = [header("claim-race", "sound-fault")]
    for i in range(10):
        events += worker(f"w{i}", 800 + i, 0.01, 0.2)
    for n in range(100):
        t, who = 0.25 + 0.1 * (n // 10) + 0.003 * (n % 10), f"w{(n * 7) % 10}"
        events += [
            ev(0.1, "enqueued", job=str(n), role="job"),
            started(t, str(n), who, n + 1),
            finished(t + 0.07, str(n), who, n + 1),
            outcome(t + 0.08, str(n), who, 1),
        ]
    return ordered([*events, ev(1.6, "end")])


def drain() -> History:
    """SIGTERM in the middle of a job, a sham for comparison, and a worker that ends badly."""
    return ordered(
        [
            header("sigterm-drain", "sound-fault"),
            *worker("A", 910, 0.01),
            *worker("B", 911, 0.01),
            ev(0.05, "enqueued", job="job-1", role="job"),
            started(0.2, "job-1", "A", 1),
            *[ev(0.2 + 0.333 * k, "renewed", worker="A", kept=["job-1"], lost=[]) for k in range(1, 9)],
            ev(0.7, "fault", step=1, kind="SIGTERM", target="A", injected=True),
            ev(0.7, "reclaimed", jobs=[]),
            finished(3.2, "job-1", "A", 1),
            outcome(3.21, "job-1", "A", 1),
            ev(3.25, "exited", worker="A", pid=910, status=0),
            ev(3.3, "end"),
        ]
    )


def drain_twin() -> History:
    """SIGTERM ends the renewals and not the job: its lease runs out, and a rival runs it as well."""
    return ordered(
        [
            header("sigterm-drain", "NoRenewalOnceTold-fault"),
            *worker("A", 910, 0.01),
            *worker("B", 911, 0.01),
            ev(0.05, "enqueued", job="job-1", role="job"),
            started(0.2, "job-1", "A", 1),
            ev(0.533, "renewed", worker="A", kept=["job-1"], lost=[]),
            ev(0.7, "fault", step=1, kind="SIGTERM", target="A", injected=True),
            ev(1.8, "reclaimed", jobs=["job-1"]),
            started(1.9, "job-1", "B", 2, 2),
            ev(2.233, "renewed", worker="B", kept=["job-1"], lost=[]),
            ev(2.566, "renewed", worker="B", kept=["job-1"], lost=[]),
            finished(3.2, "job-1", "A", 1),
            outcome(3.21, "job-1", "A", 1, accepted=False),
            ev(3.25, "exited", worker="A", pid=910, status=0),
            finished(3.3, "job-1", "B", 2),
            outcome(3.31, "job-1", "B", 2),
            ev(3.4, "end"),
        ]
    )


def two_slots() -> History:
    """One worker runs the same job twice at once, in two slots."""
    return ordered(
        [
            header("self-reclaim", "sound-fault"),
            *worker("both", 920, 0.01),
            ev(0.05, "enqueued", job="job-1", role="job"),
            started(0.2, "job-1", "both", 1),
            ev(0.3, "fault", step=1, kind="block-renewal", target="both", injected=True),
            ev(1.3, "reclaimed", jobs=["job-1"]),
            started(1.4, "job-1", "both", 2, 2),
            ev(1.9, "fault-ended", step=1),
            finished(2.0, "job-1", "both", 1),
            outcome(2.01, "job-1", "both", 1, accepted=False),
            finished(2.2, "job-1", "both", 2),
            outcome(2.21, "job-1", "both", 2),
            ev(2.3, "end"),
        ]
    )


HISTORIES = {
    "worker-death": worker_death,
    "worker-death-twin": worker_death_twin,
    "partial": partial,
    "heartbeat": heartbeat,
    "late-finish": late_finish,
    "claim-race": claim_race,
    "many-jobs": many_jobs,
    "drain": drain,
    "two-slots": two_slots,
}
