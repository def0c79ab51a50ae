"""What is told of one arm: its outcome, what was seen in it and what was done, and how it is run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.events import Event, at
from reports.html.pack import line
from reports.html.tables import kind_of, outcome, side_of
from reports.observations import NOTE_SIGNS, Judged, judged, when, worth
from reports.signs import UNICODE, number, seconds, sign_of
from reports.story import Story, read

Json = Mapping[str, Any]

MOST_ROWS = 40
MOST_EVENTS = 12
MOST_ANOMALIES = 20


@dataclass(frozen=True)
class Anomaly:
    """One anomaly with the events that prove it, each with its number in the history, as a line of JSON.

    `times` is how often it was seen in the same words.
    """

    name: str
    text: str
    times: int
    events: Sequence[tuple[int, str]]
    more: int


@dataclass(frozen=True)
class Explained:
    """One explanation after an observation; `gone` is what the observation struck out."""

    words: str
    prediction: str
    gone: bool


@dataclass(frozen=True)
class Seen:
    """One observation: its rows, as the database had them, and what it leaves of the explanations."""

    number: str
    when: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    more: int
    seen: object
    explained: Sequence[Explained]
    decides: bool
    undecided: str


@dataclass(frozen=True)
class Done:
    """A fault that was done, or that a sham leaves out, with the evidence of it."""

    what: str
    when: str
    over: str
    injected: bool
    receipts: Sequence[str]
    missing: Sequence[str]


@dataclass(frozen=True)
class Noted:
    """One thing that happened."""

    when: str
    sign: str
    kind: str
    text: str


@dataclass(frozen=True)
class ArmShown:
    """One arm, as the page shows it. `history` is the number under which the raw one is packed, if it is."""

    id: str
    twin: str
    title: str
    kind: str
    sign: str
    outcome: str
    more: int
    expected: str
    as_expected: bool
    reason: str
    figures: Sequence[tuple[str, str]]
    facts: Sequence[str]
    anomalies: Sequence[Anomaly]
    more_anomalies: int
    seen: Sequence[Seen]
    done: Sequence[Done]
    notes: Sequence[Noted]
    cut: bool
    read: bool
    path: str
    history: int | None
    size: str
    again: str


def shown(
    arm: Json,
    history: Sequence[Event] | None,
    explanations: Mapping[str, str],
    again: str,
    pack: tuple[int | None, str],
    of_stranger: bool,
) -> ArmShown:
    """What the page tells of an arm. `pack` is where its raw history is in the page, and how large that is."""
    story = read(history or [])
    anomalies = _anomalies(arm, history or [])
    words, more = outcome(arm)
    return ArmShown(
        id=arm["id"],
        twin=arm["twin"] or "",
        title=side_of(arm, of_stranger),
        kind=kind_of(arm),
        sign=sign_of(arm["verdict"], arm["as_expected"], UNICODE)[0],
        outcome=words,
        more=more,
        expected=arm["expected"],
        as_expected=arm["as_expected"],
        reason=arm["reason"],
        figures=[(name, value) for name, value in arm["figures"]],
        facts=_facts(arm),
        anomalies=anomalies[:MOST_ANOMALIES],
        more_anomalies=max(len(anomalies) - MOST_ANOMALIES, 0),
        seen=[_seen(story, one, explanations) for one in judged(story, explanations)],
        done=_done(story, history or []),
        notes=[
            Noted(_leases(story, n.at), getattr(UNICODE, NOTE_SIGNS[n.kind][0]), n.kind, n.text)
            for n in worth(story.notes)
        ],
        cut=bool(history) and not story.complete,
        read=bool(history),
        path=arm["history"],
        history=pack[0],
        size=pack[1],
        again=again,
    )


def _facts(arm: Json) -> list[str]:
    facts = [
        f"took {seconds(arm['seconds'])}",
        f"a lease of {arm['lease']:g} s",
        f"longest stall {seconds(arm['stall'])}",
    ]
    return facts if arm["tries"] == 1 else [*facts, f"try {arm['tries']}, those before it left no verdict"]


def _anomalies(arm: Json, history: Sequence[Event]) -> list[Anomaly]:
    """Those of the same words are one."""
    alike: dict[tuple[str, str], list[list[int]]] = {}
    for anomaly in arm["anomalies"]:
        alike.setdefault((anomaly["name"], anomaly["text"]), []).append(anomaly["events"])
    found = []
    for (name, text), proofs in alike.items():
        numbers = [n for n in dict.fromkeys(n for events in proofs for n in events) if n < len(history)]
        events = [(n, line(history[n])) for n in numbers[:MOST_EVENTS]]
        found.append(Anomaly(name, text, len(proofs), events, max(len(numbers) - MOST_EVENTS, 0)))
    return found


def _when(story: Story, t: float) -> str:
    return when(story, t).replace("  ", ", ")


def _leases(story: Story, t: float) -> str:
    return f"{story.units(t):.2f} L"


def _seen(story: Story, one: Judged, explanations: Mapping[str, str]) -> Seen:
    told = [(k, True) for k in one.struck] + [(k, False) for k in one.standing]
    columns, rows = one.seen.get("columns"), one.seen.get("rows")
    rows = rows if isinstance(rows, list) else []
    return Seen(
        number=number(one.seen.get("n"), UNICODE),
        when=_when(story, at(one.seen)),
        title=str(one.seen.get("title", "")),
        columns=columns if isinstance(columns, list) else [],
        rows=[row if isinstance(row, list) else [row] for row in rows[:MOST_ROWS]],
        more=max(len(rows) - MOST_ROWS, 0),
        seen=one.seen.get("seen"),
        explained=[Explained(explanations.get(k, k), one.predictions.get(k, ""), gone) for k, gone in told]
        if one.struck or one.predictions
        else [],
        decides=one.decides,
        undecided=one.undecided,
    )


def _done(story: Story, history: Sequence[Event]) -> list[Done]:
    missing: dict[object, list[str]] = {}
    for event in history:
        if event.get("event") == "no-receipt":
            missing.setdefault(event.get("step"), []).append(str(event.get("why", "")))
    return [
        Done(
            what=fault.what or fault.kind,
            when=_when(story, fault.at),
            over="" if fault.end is None else _when(story, fault.end),
            injected=fault.injected,
            receipts=[_receipt(evidence) for evidence in fault.evidence],
            missing=missing.get(fault.step, []),
        )
        for fault in story.faults
    ]


def _receipt(evidence: object) -> str:
    return line(evidence) if isinstance(evidence, Mapping) else str(evidence)
