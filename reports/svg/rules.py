"""What is drawn under the lanes: other faults, the lease, locks of the bench, and two at once."""

from __future__ import annotations

from collections.abc import Sequence

from reports.leases import Lease
from reports.story import Fault
from reports.svg import signs
from reports.svg.board import Board
from reports.svg.letters import fit, plain, width
from reports.svg.room import Line, clusters, merged
from reports.svg.sheet import line

RULE = 24.0
MOST_FAULT_LINES = 4
MOST_LEASES = 60
MOST_BOXES = 60


def faults(board: Board, top: float) -> None:
    """Faults that strike no process in a way of its own, and those that were left out: each with what it is."""
    lines: list[Line] = []
    left_out = 0
    for fault in board.story.faults:
        if fault.kind != "other" and fault.injected:
            continue
        x0 = board.x(fault.at)
        x1 = x0 if fault.end is None else max(board.x(fault.end), x0)
        words = plain(fault.what if fault.injected else f"left out: {fault.what}")
        for i in range(MOST_FAULT_LINES):
            if i == len(lines):
                lines.append(board.line())
            if (place := _beside(lines[i], x0, x1, words)) is not None:
                _fault(board, fault, x0, x1, board.y + RULE * (i + 0.5), *place, top)
                break
        else:
            left_out += 1
    if lines:
        board.name(board.y + RULE / 2, f"fault +{left_out}" if left_out else "fault")
        board.y += RULE * len(lines)


def _beside(row: Line, x0: float, x1: float, words: str) -> tuple[float, str] | None:
    """Where a fault's words stand: in it, after it, or before it. On a line that is still empty they are cut to fit."""
    sign, end = max(x0 - 8, row.left), min(max(x1, x0 + 8), row.right)
    if not row.free(sign, end):
        return None
    room = width(words, "said") + 6
    places = ((x0 + 10, x1), (end + 4, row.right), (row.left, sign - 4))
    for a, b in places:
        start = b - room if b < x0 else a
        if room <= b - a and ((a, b) == places[0] or row.free(start, start + room)):
            row.take(min(sign, start), max(end, start + room))
            return start, words
    if row.taken:
        return None
    row.take(row.left, row.right)
    a, b = max(places, key=lambda place: place[1] - place[0])
    return a, fit(words, b - a - 6, "said")


def _fault(board: Board, fault: Fault, x0: float, x1: float, y: float, start: float, words: str, top: float) -> None:
    key, left_out = ("other", "") if fault.injected else ("sham", ", left out")
    board.used.add(key)
    drawn = board.front.group(f"{plain(fault.what)}{left_out}: {board.when(fault.at, fault.end)}")
    board.guides.path("told" if fault.injected else "sham", line((x0, top), (x0, y)))
    if x1 - x0 > 6 and fault.injected:
        drawn.box("fault", x0, y - 9, x1, 18)
    signs.put(drawn, key, signs.DIAMOND, x0, y)
    drawn.text("inside" if x0 < start < x1 else "said", start, y, words)


def lease(board: Board) -> None:
    """The lease as a rule: where it was taken, renewed and ran out, and that the job was still taken then."""
    found = board.story.leases
    if not found:
        return
    y = board.y + RULE / 2
    board.name(y, f"lease of {board.story.job}" if board.several else "lease", "good")
    if len(found) > MOST_LEASES:
        spans = merged([(board.x(s.start), board.x(s.end)) for s in found], 2)
        drawn = board.front.group(f"{len(found)} leases, too many to be told apart")
        drawn.lines("lease", [line((a, y), (max(b, a + 1), y)) for a, b in spans])
    else:
        for one in found:
            _lease(board, one, y)
    renewals = [t for one in found for t in one.renewals]
    for same in clusters(renewals, board.x, 7):
        board.used.add("renewed")
        times = board.when(same[0]) if len(same) == 1 else f"{len(same)} times, {board.when(same[0], same[-1])}"
        signs.put(board.front, "renewed", signs.RENEWED, board.x(same[0]), y, f"lease renewed: {times}")
    board.y += RULE


def _lease(board: Board, one: Lease, y: float) -> None:
    x0, x1 = board.x(one.start), board.x(one.end)
    drawn = board.front.group(f"lease: {board.when(one.start, one.end)}{', ran out' if one.ran_out else ''}")
    drawn.path("lease", line((x0, y), (max(x1, x0 + 1), y)))
    drawn.path("claim", line((x0, y - 7), (x0, y + 7)))
    if not one.ran_out or one.tail is None:
        return
    board.used.add("ran_out")
    x2 = board.x(one.tail)
    drawn.path("out", line((x1, y - 7), (x1, y + 7)))
    if x2 - x1 > 3:
        board.used.add("tail")
        tail = board.front.group(f"still taken, with no live lease: {board.when(one.end, one.tail)}")
        words = next((w for w in ("ran out, still taken", "ran out") if width(w, "bad") + 36 <= x2 - x1), "")
        dash = x1 + 12
        after = dash + width(words, "bad") if words else dash
        tail.text("bad", (dash + after) / 2, y, words, "middle")
        tail.path("tail", line((x1 + 3, y), (dash, y)) + line((after, y), (x2, y)))


def spans(board: Board, top: float, bottom: float) -> None:
    """Locks of the bench, and two executions of one job at once, which is a band through the lanes as well."""
    for key, label, words, times in (
        ("lock", "row lock", "held by the bench", board.story.locks),
        ("overlap", "overlap", "two at once", board.story.overlaps),
    ):
        if not times:
            continue
        board.used.add(key)
        y = board.y + RULE / 2
        board.name(y, label)
        row = board.line()
        places = _places(board, times)
        for x0, x1, tip in places:
            if key == "overlap":
                board.bands.rect("band", x0, top, x1, bottom - top)
            drawn = board.front.group(f"{words}: {tip}")
            drawn.box(key, x0, y - 8, x1, 16)
            row.take(x0, x1)
            room = width(words, "inside")
            if room + 10 <= x1 - x0:
                drawn.text("inside", (x0 + x1) / 2, y, words, "middle")
            elif len(places) == 1 and (at := row.place(room, x1 + 6, x0 - 6 - room)) is not None:
                drawn.text("said", at, y, words)
        board.y += RULE


def _places(board: Board, times: Sequence[tuple[float, float]]) -> list[tuple[float, float, str]]:
    """Stretches of time in pixels, with those as one that touch; of very many, also those that nearly do."""
    where = sorted((board.x(a), board.x(b), a, b) for a, b in times)
    gap = 2.0
    found = merged([(x0, x1) for x0, x1, _, _ in where], gap)
    while len(found) > MOST_BOXES:
        gap *= 1.5
        found = merged(found, gap)
    places, i = [], 0
    for x0, x1 in found:
        first = i
        while i < len(where) and where[i][0] <= x1:
            i += 1
        own = where[first:i]
        tip = board.when(own[0][2], max(b for _, _, _, b in own))
        places.append((x0, max(x1, x0 + 2), tip if len(own) == 1 else f"{len(own)} times, {tip}"))
    return places
