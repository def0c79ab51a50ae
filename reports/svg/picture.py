"""The whole picture: panels on one time axis, a legend, and the words for whoever does not see it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from reports.chart import MOST_LANES, rows
from reports.story import Story, read
from reports.svg import lanes, marks, rules
from reports.svg.board import EDGE, Board
from reports.svg.legend import legend
from reports.svg.letters import fit, plain
from reports.svg.letters import width as width_of
from reports.svg.room import axis
from reports.svg.sheet import Sheet, line
from reports.svg.theme import style
from reports.svg.words import told_whole

MARGIN = 18.0
HEAD = 30.0
TICKS = 22.0
BETWEEN = 22.0
NARROWEST = 320


@dataclass(frozen=True)
class Panel:
    """One arm in a picture: its history, a heading, and the events that are to be marked as the proof of an anomaly.

    The events are indices into the history; one that is not in it is passed over.
    """

    history: Sequence[Mapping[str, Any]]
    title: str
    marked: Sequence[int] = ()


def svg(panels: Sequence[Panel], *, width: int = 960, standalone: bool = True, id: str = "") -> str:
    """The panels under one another, on one time axis in leases; 0 is each arm's first start of the job under test.

    `width` is in pixels, 320 at least. `standalone` makes a complete file, for a light page and for a dark one; else
    it is an element for an HTML page, which has `theme.style` once for all of them, and `PROPERTIES`. `id` goes before
    all ids in it, so that a page may have several.
    """
    broad = float(max(width, NARROWEST))
    prefix = re.sub(r"[^A-Za-z0-9_-]", lambda found: f".{ord(found[0]):x}", id) or "lp"
    stories = [read(panel.history) for panel in panels]
    root = ElementTree.Element("svg", {"class": "lp", "role": "img"})
    root.set("aria-labelledby", f"{prefix}-title {prefix}-desc")
    sheet = Sheet(root)
    titles = [fit(plain(panel.title), 600, "head") for panel in panels]
    said = [told_whole(story, panel.title, _events(panel)) for story, panel in zip(stories, panels, strict=True)]
    sheet.add("title", id=f"{prefix}-title").element.text = f"Timeline: {'; '.join(titles) or 'nothing to show'}"
    sheet.add("desc", id=f"{prefix}-desc").element.text = " ".join(said) or "There is nothing to show."
    if standalone:
        sheet.add("style").element.text = style(standalone=True)
    hatch = f"{prefix}-hatch"
    pattern = sheet.add("defs").add(
        "pattern", id=hatch, width=7, height=7, patternUnits="userSpaceOnUse", patternTransform="rotate(45)"
    )
    pattern.path("hatch", "M1 0V7")
    page = sheet.rect("page", 0.5, 0.5, broad - 0.5, 0, 8)
    scale = axis(stories, MARGIN + _gutter(stories, broad), broad - MARGIN - EDGE)
    y, used = MARGIN - 4, set[str]()
    for i, (story, panel) in enumerate(zip(stories, panels, strict=True)):
        board = Board(sheet, story, scale, MARGIN, y + (BETWEEN if i else 0), hatch)
        _panel(board, panel)
        y = board.y
        used |= board.used
    y = legend(sheet, used, MARGIN, broad - MARGIN, y + 10, hatch)
    height = round(y + MARGIN - 6)
    page.element.set("height", f"{height - 1}")
    root.set("viewBox", f"0 0 {broad:.0f} {height}")
    if standalone:
        root.set("xmlns", "http://www.w3.org/2000/svg")
        root.set("width", f"{broad:.0f}")
        root.set("height", f"{height}")
    else:
        root.set("width", "100%")
    ElementTree.indent(root, "")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _events(panel: Panel) -> list[Mapping[str, Any]]:
    wanted = sorted({n for n in panel.marked if 0 <= n < len(panel.history)})
    return [panel.history[n] for n in wanted]


def _gutter(stories: Sequence[Story], broad: float) -> float:
    """The room for what the lines are called."""
    names = ["row lock", "overlap", *[f"L = {s.lease:g} s" for s in stories]]
    for story in stories:
        names += [plain(row.label) for row in rows(story, MOST_LANES)]
        if story.several and story.leases:
            names.append(f"lease of {plain(story.job)}")
    wanted = max(width_of(name, "good") for name in names) + 10
    return min(max(wanted, 0.1 * broad), max(0.2 * broad, 76.0))


def _panel(board: Board, panel: Panel) -> None:
    story, scale = board.story, board.axis
    cut = "" if story.complete else "the history was cut"
    room = scale.right - board.margin
    if cut:
        board.front.text("warn", scale.right, board.y + HEAD / 2, cut, "end")
        room -= width_of(cut, "warn") + 12
    board.front.fitted("head", board.margin, board.y + HEAD / 2, plain(panel.title), room)
    board.y += HEAD
    top = board.y + TICKS
    board.name(board.y + TICKS / 2, f"L = {story.lease:g} s", "tick")
    board.y = top
    proofs = _events(panel)
    if proofs:
        board.y += marks.PINS
    lanes_top = board.y
    for row in rows(story, MOST_LANES):
        lanes.draw_row(board, row)
    lanes_end = board.y
    board.y += 4
    rules.faults(board, lanes_top)
    rules.lease(board)
    rules.spans(board, lanes_top, lanes_end)
    bottom = board.y + 2
    marks.marks(board, lanes_top)
    if proofs:
        marks.pins(board, proofs, top, bottom)
    _ground(board, top, bottom)
    if lanes_top < lanes_end < bottom - 10:
        board.back.path("grid", line((board.x(story.first), lanes_end + 2), (board.x(None), lanes_end + 2)))


def _ground(board: Board, top: float, bottom: float) -> None:
    """What lies under everything: how far the history goes, and the ticks of the axis."""
    story, scale = board.story, board.axis
    start, end = board.x(story.first), board.x(story.last)
    board.back.rect("plot", start, top, max(end, start + 1), bottom - top, 4)
    zero = story.origin != 0 or any(run.role == "job" for lane in story.lanes for run in lane.executions)
    edge = scale.left
    for units in scale.ticks():
        x = scale.at(units)
        if not start - 0.5 <= x <= end + 0.5:  # where the panel is not, another one is
            continue
        board.back.path("grid" if round(units, 9) else "zero", line((x, top - 4), (x, bottom)))
        words = f"{units:g} L" if round(units, 9) else "0"
        half = width_of(words, "tick") / 2
        middle = min(max(x, scale.left + half), scale.right + EDGE - half)
        if middle - half >= edge - 0.1:
            board.front.text("tick", middle, top - TICKS / 2, words, "middle")
            edge = middle + half + 8
    if zero and scale.first <= 0 <= scale.last:
        board.used.add("zero")
