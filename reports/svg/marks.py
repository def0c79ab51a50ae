"""Marks at single moments: numbered observations and reclaims under the lanes, proofs of an anomaly above them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from reports.events import Event, at, jobs_named, names
from reports.signs import UNICODE
from reports.signs import fit as fit_columns
from reports.svg.board import Board
from reports.svg.letters import fit, plain, width
from reports.svg.room import clusters, spread
from reports.svg.sheet import line

MARKS = 30.0
PINS = 28.0
LONGEST_PINS = (260.0, 200.0, 150.0, 120.0, 90.0, 60.0)
"""How long the words of a flag may be: the first with which all flags have room."""


@dataclass
class Mark:
    """One moment, and the sign that stands for it."""

    x: float
    key: str
    text: str
    tip: str
    width: float


def marks(board: Board, top: float) -> None:
    """Observations and reclaims, each with a line to its moment. They make way for one another, in their order."""
    found = [_observation(board, o) for o in board.story.observations]
    found += [_reclaim(board, t, jobs) for t, jobs in board.story.shown_reclaims()]
    shown, left_out = _with_room(found, board.axis.right - board.axis.left)
    if not shown:
        return
    foot, y = board.y + 4, board.y + MARKS / 2 + 3
    places = spread([m.x for m in shown], [m.width + 4 for m in shown], board.axis.left, board.axis.right)
    if left_out:
        board.name(y, f"+{left_out} marks", "tick")
    for mark, x in zip(shown, places, strict=True):
        board.used.add(mark.key)
        # The guide goes straight up from the foot of the lines, and slants below it to a sign that had to make way.
        board.guides.path("guide", line((mark.x, top), (mark.x, foot), (x, y)))
        sign = board.front.group(mark.tip)
        if mark.key == "number":
            sign.rect("seen", x - mark.width / 2, y - 10, x + mark.width / 2, 20, 10)
            sign.text("number", x, y, mark.text, "middle")
        else:
            sign.rect("took", x - mark.width / 2, y - 9, x + mark.width / 2, 18, 4)
            sign.text("back", x, y, mark.text, "middle")
    board.y += MARKS


def _observation(board: Board, seen: Event) -> Mark:
    n = plain(seen.get("n"))
    text = n if len(n) <= 4 and n.isalnum() and n.isascii() else "?"
    tip = f"{n}: {plain(seen.get('title'))}, {board.when(at(seen))}"
    return Mark(board.x(at(seen)), "number", text, tip, max(width(text, "number") + 8, 20.0))


def _reclaim(board: Board, t: float, jobs: list[str]) -> Mark:
    gave = f"gave back {plain(jobs_named(jobs))}" if jobs else "found nothing to give back"
    text = f"R {len(jobs)}"
    return Mark(board.x(t), "reclaim", text, f"reclaim {gave}, {board.when(t)}", width(text, "back") + 8)


def _with_room(found: Sequence[Mark], room: float) -> tuple[list[Mark], int]:
    """All of them where there is room for all, else those that need not make way: observations before reclaims."""
    kept: list[Mark] = []
    if sum(mark.width + 4 for mark in found) <= room:
        kept = list(found)
    else:
        for mark in sorted(found, key=lambda m: (m.key != "number", m.x)):
            if all(abs(mark.x - other.x) >= (mark.width + other.width) / 2 + 4 for other in kept):
                kept.append(mark)
    return sorted(kept, key=lambda m: m.x), len(found) - len(kept)


def pins(board: Board, events: Sequence[Event], top: float, bottom: float) -> None:
    """The events that prove an anomaly: a flag on a pole through the lanes, with what happened."""
    room = board.axis.right - board.axis.left
    moments = [_Moment(board, same) for same in clusters(events, lambda e: board.x(at(e)), 5)]
    tries = ([moment.flag(longest) for moment in moments] for longest in LONGEST_PINS)
    flags = next((found for found in tries if sum(flag.width + 6 for flag in found) <= room), [])
    many = not flags
    if many:  # then flags with their words in the tip only, on poles that leave the lanes clear
        moments = [_Moment(board, same) for same in clusters(events, lambda e: board.x(at(e)), 16)]
        flags = [replace(moment.flag(0), width=8) for moment in moments]
    board.name(
        top + PINS / 2 - 3, "proof" if len(events) == 1 else f"{len(events)} proofs" if many else "proofs", "proof"
    )
    places = spread([f.x for f in flags], [f.width + 6 for f in flags], board.axis.left, board.axis.right)
    y = top + PINS / 2 - 3
    for flag, x in zip(flags, places, strict=True):
        board.used.add("pin")
        lanes = top + PINS + 4
        near = min(max(flag.x, x - flag.width / 2), x + flag.width / 2)
        pole = line((near, y), (flag.x, top + PINS), (flag.x, lanes if many else bottom))
        board.guides.path("pole", pole)
        sign = board.front.group(flag.tip)
        sign.rect("flag", x - flag.width / 2, y - 10, x + flag.width / 2, 20, 3)
        sign.text("pin", x, y, flag.text, "middle")


class _Moment:
    """Events that are one flag, as they stand too close together for two."""

    def __init__(self, board: Board, same: Sequence[Event]) -> None:
        said = Counter(told(event, board.several) for event in same)
        self.first, *self.rest = [words if n == 1 else f"{n} x {words}" for words, n in said.items()]
        times = [at(same[0])] if len(same) == 1 else [at(same[0]), at(same[-1])]
        self.x = board.x(times[0])
        self.tip = f"proof: {', '.join([self.first, *self.rest])}, {board.when(*times)}"

    def flag(self, longest: float) -> Mark:
        more = f" +{len(self.rest)}" if self.rest else ""
        text = fit(self.first, longest - width(more, "pin"), "pin") + more if longest else ""
        return Mark(self.x, "pin", text, self.tip, width(text, "pin") + 12)


def told(event: Event, several: bool) -> str:
    """What an event says, in a few words."""
    return fit_columns(plain(_told(event, several)), 60, UNICODE)


def _told(event: Event, several: bool) -> str:
    kind, worker, job = event.get("event"), event.get("worker"), event.get("job")
    row, order = event.get("row"), event.get("order")
    its = f"{job} " if several and job is not None else ""
    match kind:
        case "started":
            return f"{worker} starts {job}"
        case "wait":
            return "waited in vain" if event.get("came") is False else "waited"
        case "outcome":
            return f"{worker}: {its}finish {'accepted' if event.get('accepted') else 'refused'}"
        case "reclaimed":
            return f"reclaim gives back {len(names(event.get('jobs')))}"
        case "row":
            return f"{its}row: {row.get('state')}" if isinstance(row, Mapping) else f"{its}row"
        case "fault":
            return str(event.get("kind"))
        case "exited":
            return f"{worker} exits, status {event.get('status')}"
        case "died":
            return f"{its or 'job '}dies in {worker}"
        case "raised":
            return f"{its or 'job '}raises"
        case "renewed":
            return "renewal refused" if event.get("lost") else "lease renewed"
        case "ordered":
            return f"told to {order.get('order')}" if isinstance(order, Mapping) else "told what to do"
        case "sample":
            return f"sample: {event.get('name')}"
        case "answered":
            return f"answer: {event.get('request')}"
    return f"{its}{kind or 'event'}"
