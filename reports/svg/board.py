"""One panel that is being drawn: its layers, its axis, and how far down it has come."""

from __future__ import annotations

from reports.story import Story
from reports.svg.letters import plain
from reports.svg.room import Axis, Line
from reports.svg.sheet import Sheet

EDGE = 14.0
"""The room that is kept free at the right of the axis."""


class Board:
    """What is drawn later on a lower layer lies under what was drawn before on a higher one."""

    def __init__(self, sheet: Sheet, story: Story, axis: Axis, margin: float, y: float, hatch: str) -> None:
        self.story, self.axis, self.margin, self.y, self.hatch = story, axis, margin, y, hatch
        self.back, self.bands, self.guides, self.lines, self.front = (sheet.group() for _ in range(5))
        self.used: set[str] = set()
        self.several = story.several

    def x(self, t: float | None) -> float:
        """The place of a moment, in what this panel shows; of none, the end of what is known."""
        shown = self.story.last if t is None else max(t, self.story.first)
        return self.axis.at(self.story.units(shown))

    def line(self) -> Line:
        """A line with nothing on it yet. What is said beside the last thing on it may reach into the margin."""
        return Line(self.axis.left, self.axis.right + EDGE)

    def name(self, y: float, words: str, face: str = "name") -> None:
        """What a line is called, in the gutter."""
        room = self.axis.left - self.margin - 8
        self.front.fitted(face, self.margin, y, plain(words), room)

    def when(self, start: float, end: float | None = None) -> str:
        """A moment, or a stretch of time, in leases and in seconds."""
        times = [start] if end is None else [start, end]
        leases = " to ".join(f"{self.story.units(t):.2f} L" for t in times)
        seconds = " to ".join(f"{t - self.story.origin:.2f} s" for t in times)
        return f"{leases} ({seconds})"
