"""What an article tells of a run, as data: the rows, who took and finished what, and no times.

Two runs in which the same things happened have the same facts, whatever the machine did meanwhile. So what luck decides
is not told: which of eight claimers was first, or by how many a job was taken twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reports.events import Event, at, kind_of, names
from reports.signs import UNICODE, clean
from reports.story import read

SHOWN: Mapping[str, Mapping[str, int]] = {
    "worker-death": {"sound": 0, "ClaimHoldsLock": 1, "ClaimLooksAtLease": 3},
    "heartbeat": {"sound": 0, "NoRenewal": 0},
    "sigterm-drain": {"sound": 0, "NoRenewalOnceTold": 0},
    "claim-race": {"sound": 0, "SelectThenUpdate": 0},
}
"""By scenario: the sides that are told, the sound one and its broken counterparts, all of them with the fault.

With each, the observation at which it has shown what it is for; 0 is the last one.
"""

Facts = dict[str, Any]
"""Of one side: its `steps` in the order in which they are told, how many ran a job `at_once`, and what was `shown`."""

SEVERAL = "several"
"""More than one, and luck decides how many."""

HOLDS = "holds"
"""What is shown where nothing broke."""

EVIDENCE = ("status", "joined", "arrived", "caught")
"""What of a receipt is no number of a process and no time."""

_ORDER = ("began", "raised", "died", "refused", "accepted", "unheard", "exited")


def arm_id(scenario: str, side: str) -> str:
    """The id of the arm that is told of a side."""
    assert side in SHOWN[scenario]
    return f"{side}-fault"


def of_arm(history: Sequence[Event], outcome: Mapping[str, Any], until: int = 0) -> Facts:
    """The facts of an arm, from its history and its entry in result.json; `until`: up to that observation only."""
    end = next((i for i, e in enumerate(history) if e.get("event") == "observation" and e.get("n") == until), None)
    reading = _Reading(history if end is None else history[: end + 1], sound=outcome.get("code") == "sound")
    return {"steps": reading.steps, "at_once": reading.at_once(), "shown": _shown(outcome)}


def _shown(outcome: Mapping[str, Any]) -> str:
    found = sorted({str(anomaly["name"]) for anomaly in outcome["anomalies"]})
    if outcome["as_expected"] and outcome["expected"] in found:
        return str(outcome["expected"])  # others may come with it, or not
    return ", ".join(found) or HOLDS


def unseen(facts: Facts) -> list[str]:
    """What this run came too late to see, or never heard: no fact of the queue's, and to be looked at again."""
    late = [f"the row of observation {step['n']}" for step in facts["steps"] if step.get("late")]
    return late + [
        f"whether {step['worker']}'s end was accepted" for step in facts["steps"] if step["step"] == "unheard"
    ]


class _Reading:
    """Goes through a history once. What workers do is told in a fixed order between two acts of the bench."""

    def __init__(self, history: Sequence[Event], sound: bool) -> None:
        self.steps: list[dict[str, Any]] = []
        self._history = history
        self._sound = sound
        self._ids = {str(e.get("job")): str(e.get("id")) for e in self._of("enqueued") if e.get("role") == "job"}
        self._load = {str(e.get("job")) for e in self._of("enqueued") if e.get("role") == "load"}
        self._decoys = {str(e.get("job")) for e in self._of("enqueued") if e.get("role") == "decoy"}
        self._crowds = {str(e.get("target")) for e in self._of("fault") if e.get("kind") == "crowd"}
        self._attempts = {e.get("execution"): e.get("attempt") for e in self._of("started")}
        self._receipts = {e.get("step"): e.get("evidence") for e in self._of("receipt")}
        self._outcomes = {(e.get("worker"), e.get("job"), e.get("attempt")): e for e in self._of("outcome")}
        self._drained, self._killed = self._struck("term"), self._struck("kill")
        self._many = bool(self._crowds) and len([e for e in self._of("started") if e.get("job") in self._ids]) > 1
        self._waiting: list[dict[str, Any]] = []
        self._looked = ""
        self._given_back: set[str] = set()
        last = max((i for i, e in enumerate(history) if e.get("event") == "observation"), default=-1)
        for i, event in enumerate(history):
            if i == last and self._load:
                self._act(self._carried())
            handle = getattr(self, "_on_" + str(event.get("event", "")).replace("-", "_"), None)
            if handle:
                handle(event)
        self._tell()

    def _of(self, kind: str) -> list[Event]:
        return [e for e in self._history if e.get("event") == kind]

    def _struck(self, kind: str) -> set[str]:
        """Who got a fault of this kind."""
        faults = [e for e in self._of("fault") if kind_of(str(e.get("kind"))) == kind]
        return {name for fault in faults for name in names(fault.get("target"))}

    # The order of what is told.

    def _act(self, step: dict[str, Any]) -> None:
        """An act of the bench: what workers did until then is told first."""
        self._tell()
        self.steps.append(step)

    def _tell(self, keep_begun: bool = False) -> None:
        """What workers did since the last act, in a fixed order."""
        later = [step for step in self._waiting if keep_begun and step["step"] == "began"]
        self.steps += _once(sorted([step for step in self._waiting if step not in later], key=_place))
        self._waiting = later

    def _did(self, step: str, event: Event, **more: Any) -> dict[str, Any]:
        """What a worker did, to a job if the event is about one."""
        did: dict[str, Any] = {"step": step, "worker": self._name(event.get("worker")), **more}
        if "job" in event:
            did["id"] = self._ids[str(event["job"])]
            if not self._many:
                did["attempt"] = self._attempts.get(event.get("execution"))
            elif step != "accepted":
                did["times"] = SEVERAL
        return did

    def _name(self, worker: object) -> str:
        crowd = next((crowd for crowd in self._crowds if str(worker).startswith(f"{crowd}-")), None)
        return f"{crowd}-*" if crowd else clean(worker, UNICODE)

    # What workers do.

    def _on_started(self, e: Event) -> None:
        if e.get("job") in self._ids:
            self._waiting.append(self._did("began", e))
            self._looked = str(e.get("worker"))
        elif e.get("job") in self._decoys:
            self._looked = str(e.get("worker"))

    def _on_finished(self, e: Event) -> None:
        if e.get("job") not in self._ids:
            return
        outcome = self._outcomes.get((e.get("worker"), e.get("job"), self._attempts.get(e.get("execution"))))
        if outcome is None and self._many:
            return  # one of a crowd that was not heard is not missed
        end = "unheard" if outcome is None else "accepted" if outcome.get("accepted") else "refused"
        self._waiting.append(self._did(end, e))

    def _on_raised(self, e: Event) -> None:
        if e.get("job") in self._ids:
            self._waiting.append(self._did("raised", e))

    def _on_died(self, e: Event) -> None:
        if e.get("job") in self._ids and e.get("worker") not in self._killed:
            self._waiting.append(self._did("died", e))

    def _on_exited(self, e: Event) -> None:
        if e.get("worker") in self._drained:
            self._waiting.append(self._did("exited", e, status=e.get("status")))

    # What the bench does.

    def _on_fault(self, e: Event) -> None:
        if not e.get("injected"):
            return
        evidence = self._receipts.get(e.get("step"))
        seen = {k: v for k, v in evidence.items() if k in EVIDENCE} if isinstance(evidence, Mapping) else {}
        self._act(
            {"step": "fault", "kind": clean(e.get("kind"), UNICODE), "of": clean(e.get("target"), UNICODE), **seen}
        )
        for death in self._of("died"):
            if death.get("job") in self._ids and death.get("worker") in self._killed & {*names(e.get("target"))}:
                self.steps.append(self._did("died", death))

    def _on_reclaimed(self, e: Event) -> None:
        self._given_back |= {*names(e.get("ids"))}
        self._act({"step": "reclaimed", "ids": names(e.get("ids"))})

    def _on_let_go(self, e: Event) -> None:
        there = {x.get("worker") for x in self._of("ready") if x["t"] <= e["t"]}
        waiting = SEVERAL if len(names(e.get("waiting"))) > 1 else str(len(names(e.get("waiting"))))
        self._act(
            {"step": "let-go", "id": self._ids.get(str(e.get("job"))), "claimers": len(there), "waiting": waiting}
        )

    def _on_observation(self, e: Event) -> None:
        columns = [clean(column, UNICODE) for column in e.get("columns") or []]
        rows = [[self._cell(c, v) for c, v in zip(columns, row, strict=False)] for row in e.get("rows") or []]
        step: dict[str, Any] = {"step": "observed", "n": e.get("n"), "columns": "|".join(columns)}
        step["rows"] = ["|".join(row) for row in rows]
        if self._given_back and any({"running", *self._given_back} <= {*row} for row in rows):
            step["late"] = True  # somebody had taken it again before the bench looked
        if e.get("predictions") and self._looked:
            step |= {"worker": self._name(self._looked), "got": clean(e.get("seen"), UNICODE)}
        if self._sound and e.get("ruled_out"):
            step["ruled_out"] = names(e.get("ruled_out"))
        # What was given back may have been taken again after its row was read: that is told afterwards.
        self._tell(keep_begun=bool(self._given_back) and "late" not in step)
        self.steps.append(step)
        self._looked, self._given_back = "", set()

    def _cell(self, column: str, value: object) -> str:
        text = clean(value, UNICODE)
        if column == "attempt" and self._many and text.isdigit() and int(text) > 1:
            return ">1"
        return self._name(text) if column == "leased_by" else text

    def _carried(self) -> dict[str, Any]:
        began = [e.get("job") for e in self._of("started") if e.get("job") in self._load]
        done = {e.get("job") for e in self._of("finished")} & self._load
        again = "again" if len(began) > len({*began}) else "once"
        return {"step": "carried", "jobs": len(self._load), "finished": len(done), "taken": again}

    def at_once(self) -> int | str:
        """How many executions of one job went on at the same moment, at the most."""
        under_way: dict[object, set[object]] = {job: set() for job in self._ids}
        most = 0
        for e in self._history:
            if e.get("job") in self._ids and e.get("event") == "started":
                under_way[e["job"]].add(e.get("execution"))
                most = max(most, len(under_way[e["job"]]))
            elif e.get("job") in self._ids and e.get("event") in ("finished", "raised", "died"):
                under_way[e["job"]].discard(e.get("execution"))
        return SEVERAL if self._many and most > 1 else most


def _place(step: Mapping[str, Any]) -> tuple[int, int, str]:
    attempt = step.get("attempt")
    return _ORDER.index(step["step"]), attempt if isinstance(attempt, int) else 0, step["worker"]


def _once(steps: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Steps that are alike become one: only a crowd's are, and how many they are is luck."""
    alike: list[dict[str, Any]] = []
    for step in steps:
        if step not in alike:
            alike.append(step)
    return alike


def volatile(history: Sequence[Event], outcome: Mapping[str, Any]) -> dict[str, Any]:
    """What differs from run to run: the lease in seconds, times in leases, and who ran the job under test."""
    story = read(history)
    return {
        "lease": outcome["lease"],
        "tries": outcome["tries"],
        "seconds": outcome["seconds"],
        "observed_at": [round(story.units(at(e)), 2) for e in story.observations],
        "faults_at": [round(story.units(fault.at), 2) for fault in story.faults],
        "reclaimed_at": [round(story.units(t), 2) for t, _ in story.reclaims],
        "began": [
            f"{clean(run.worker, UNICODE)} at attempt {run.attempt}"
            for run in sorted((run for lane in story.lanes for run in lane.executions), key=lambda run: run.start)
            if run.role == "job"
        ],
    }
