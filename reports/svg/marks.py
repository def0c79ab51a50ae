"""Marks at single moments: numbered observations and reclaims under the lanes, proofs of an anomaly above them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reports.events import Event, at, jobs_named, names
from reports.signs import fit as fit_columns
from reports.signs import UNICODE
from reports.svg.board import Board
from reports.svg.letters import fit, plain, width
from reports.svg.room import clusters, spread
from reports.svg.sheet import line

MARKS = 30.0
PINS = 28.0
LONGEST_PINS = (260.0, 150.0, 90.0)
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
        board.name(y, f"{left_out} marks more", "tick")
    for mark, x in zip(shown, places, strict=True):
        board.used.add(mark.key)
        # The guide goes straight up from the foot of the lines, and slants below it to a sign that had to make way.
        board.guides.path("guide", line((mark.x, top), (mark.x, foot), (x, y)))
        sign = board.front.group(mark.tip)
        if mark.key == "number":
            sign.add("circle", "seen", cx=x, cy=y, r=mark.width / 2 if len(mark.text) < 3 else 9)
        else:
            sign.rect("took", x - mark.width / 2, y - 9, x + mark.width / 2, 18, 4)
        sign.text("number" if mark.key == "number" else "back", x, y, mark.text, "middle")
    board.y += MARKS


def _observation(board: Board, seen: Event) -> Mark:
    n = plain(seen.get("n"))
    text = n if len(n) <= 2 and n.isascii() else "?"
    return Mark(board.x(at(seen)), "number", text, f"{n}: {plain(seen.get('title'))}, {board.when(at(seen))}", 20)


def _reclaim(board: Board, t: float, jobs: list[str]) -> Mark:
    gave = f"gave back {plain(jobs_named(jobs))}" if jobs else "found nothing to give back"
    text = f"R {len(jobs)}"
    return Mark(board.x(t), "reclaim", text, f"reclaim {gave}, {board.when(t)}", width(text, "back") + 8)


def _with_room(found: Sequence[Mark], room: float) -> tuple[list[Mark], int]:
    """Those that there is room for, in the order of time: observations before reclaims."""
    kept: list[Mark] = []
    for mark in sorted(found, key=lambda m: (m.key != "number", m.x)):
        room -= mark.width + 4
        if room >= 0:
            kept.append(mark)
    return sorted(kept, key=lambda m: m.x), len(found) - len(kept)


def pins(board: Board, events: Sequence[Event], top: float, bottom: float) -> None:
    """The events that prove an anomaly: a flag on a pole through the lanes, with what happened."""
    moments = clusters(events, lambda e: board.x(at(e)), 5)
    room = board.axis.right - board.axis.left
    tries = ([_pin(board, same, longest) for same in moments] for longest in LONGEST_PINS)
    flags = next((found for found in tries if sum(flag.width + 6 for flag in found) <= room), [])
    many = not flags
    if many:  # then flags with their words in the tip only, on poles that leave the lanes clear
        flags = [replace(_pin(board, same, 0), width=8) for same in moments[: int(room / 14)]]
    board.name(top + PINS / 2 - 3, "proof" if len(events) == 1 else f"{len(events)} proofs" if many else "proofs", "proof")
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


def _pin(board: Board, same: Sequence[Event], longest: float) -> Mark:
    said: dict[str, int] = {}
    for event in same:
        words = told(event, board.several)
        said[words] = said.get(words, 0) + 1
    first, *rest = [words if n == 1 else f"{n} x {words}" for words, n in said.items()]
    text = fit(first + (f" +{len(rest)}" if rest else ""), longest, "pin")
    times = board.when(at(same[0])) if len(same) == 1 else board.when(at(same[0]), at(same[-1]))
    tip = f"proof: {', '.join([first, *rest])}, {times}"
    return Mark(board.x(at(same[0])), "pin", text, tip, width(text, "pin") + 12)


def told(event: Event, several: bool) -> str:
    """What an event says, in a few words."""
    kind = plain(event.get("event"))
    job = f"{plain(event.get('job'))} " if several and event.get("job") is not None else ""
    worker = plain(event.get("worker"))
    row, order = event.get("row"), event.get("order")
    words = {
        "started": f"{worker} starts {plain(event.get('job'))}",
        "enqueued": f"{job}enqueued",
        "wait": "waited in vain" if event.get("came") is False else "waited",
        "outcome": f"{worker}: {job}finish {'accepted' if event.get('accepted') else 'refused'}",
        "reclaimed": f"reclaim gives back {len(names(event.get('jobs')))}",
        "row": f"{job}row: {plain(row.get('state'))}" if isinstance(row, dict) else f"{job}row",
        "fault": plain(event.get("kind")),
        "exited": f"{worker} exits, status {plain(event.get('status'))}",
        "died": f"{job}dies in {worker}",
        "raised": f"{job}raises",
        "effect": f"{job}effect",
        "renewed": "renewal refused" if event.get("lost") else "lease renewed",
        "ordered": f"told to {plain(order.get('order'))}" if isinstance(order, dict) else "told what to do",
        "sample": f"sample: {plain(event.get('name'))}",
        "answered": f"answer: {plain(event.get('request'))}",
    }
    return fit_columns(words.get(kind, kind or "event"), 60, UNICODE)
