"""The picture itself: lanes over an axis in units of the lease, and the lease as a rule under them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.text import Text

from reports.canvas import Canvas
from reports.events import at
from reports.signs import Signs, clean, number, pad
from reports.story import Execution, Fault, Lane, Life, Story

MOST_LANES = 8
"""More lanes than these are drawn as one."""

STYLES = {
    "job": "bold cyan",
    "light": "dim",
    "idle": "dim",
    "kill": "bold red",
    "paused": "yellow",
    "term": "bold yellow",
    "other": "bold yellow",
    "died": "bold red",
    "raised": "bold yellow",
    "guide": "dim",
    "lease": "green",
    "ran_out": "bold red",
    "tail": "red",
    "overlap": "bold red",
    "lock": "yellow",
    "number": "bold",
    "reclaim": "bold magenta",
}


@dataclass
class Row:
    """One line of lanes: a lane, or several that are drawn as one."""

    label: str
    lanes: list[Lane]


@dataclass
class Chart:
    """The drawn lines and which signs occur in them."""

    lines: list[Text] = field(default_factory=list)
    used: set[str] = field(default_factory=set)


class Drawing:
    """One chart being drawn."""

    def __init__(self, story: Story, width: int, sign: Signs, most_lanes: int) -> None:
        self.story, self.sign = story, sign
        self.rows = rows(story, most_lanes)
        labels = [row.label for row in self.rows] + ["overlap", self.caption()]
        self.gutter = min(max(cell_len(clean(x, sign)) for x in labels), max(8, width // 5))
        self.canvas = Canvas(max(width - self.gutter - 5, 16))
        self.labels: list[tuple[str, str]] = []
        self.used: set[str] = set()
        self.start = story.first
        self.end = horizon(story) if story.live else max(story.last, self.start + story.lease / 2)
        self.several = story.several

    def caption(self) -> str:
        return f"L = {self.story.lease:g} s"

    def x(self, t: float) -> int:
        """The column of a moment."""
        share = (t - self.start) / (self.end - self.start)
        return min(max(int(share * (self.canvas.width - 1) + 0.5), 0), self.canvas.width - 1)

    def until(self, t: float | None) -> int:
        """The column at which something stops; what goes on reaches the edge of what is known."""
        if t is not None:
            return self.x(t)
        return self.x(self.story.last) + (0 if self.story.live else 1)

    def new(self, label: str = "", style: str = "") -> int:
        self.labels.append((label, style))
        return self.canvas.row()

    def mark(self, row: int, x: int, key: str, style: str = "") -> None:
        self.used.add(key)
        self.canvas.put(row, x, getattr(self.sign, key), style or STYLES[key])

    def draw(self) -> Chart:
        self.axis()
        for row in self.rows:
            if len(row.lanes) == 1:
                self.lane(row)
            else:
                self.many(row)
        self.others()
        self.rules()
        self.marks()
        lines = [
            Text.assemble(
                "  ", (pad(clean(label, self.sign), self.gutter, self.sign), style), "  ", self.canvas.text(i)
            )
            for i, (label, style) in enumerate(self.labels)
        ]
        for line in lines:
            line.rstrip()
            line.no_wrap = True
        return Chart(lines, self.used)

    def axis(self) -> None:
        names, rule = self.new(self.caption(), "dim"), self.new()
        self.canvas.span(rule, 0, self.canvas.width, self.sign.axis, "dim")
        if self.story.live:
            self.canvas.span(rule, 0, self.x(self.story.last) + 1, self.sign.passed, "cyan")
        per_lease = (self.canvas.width - 1) * self.story.lease / (self.end - self.start)
        step = next(
            (s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if s * per_lease >= 9), 5000.0
        )
        free_from = 0
        first = math.ceil(self.story.units(self.start) / step - 1e-9)
        for k in range(first, math.floor(self.story.units(self.end) / step + 1e-9) + 1):
            x = self.x(self.story.origin + k * step * self.story.lease)
            label = f"{k * step:g}L" if k else "0"
            left = min(max(x - len(label) // 2, 0), self.canvas.width - len(label))
            self.canvas.put(rule, x, self.sign.tick, "dim")
            if left >= free_from:
                self.canvas.put(names, left, label)
                free_from = left + len(label) + 1

    def lane(self, row: Row) -> None:
        lane = row.lanes[0]
        first = self.new(row.label)
        for life in lane.lives:
            self.life(first, lane, life)
        found = slots(lane, self.story.last, 4)
        height = max(found, default=0) + 1
        for _ in range(1, height):
            self.new()
        for slot, run in zip(found, lane.executions, strict=True):
            self.run(first + slot, lane, run)
        for fault in lane.faults:
            self.fault(first, height, fault)

    def struck(self, lane: Lane, end: float | None, start: float) -> int | None:
        """Where a kill ended something: its mark takes the place of what the reaping took a moment longer to show."""
        for fault in lane.faults:
            if fault.kind == "kill" and end is not None and start <= fault.at <= end:
                x = self.x(fault.at)
                if self.x(end) - x <= 2:
                    return x
        return None

    def life(self, row: int, lane: Lane, life: Life) -> None:
        killed = self.struck(lane, life.end, life.start)
        end = self.until(life.end) if killed is None else killed
        ready = life.start if life.ready is None else life.ready
        if self.x(ready) > self.x(life.start):
            self.used.add("starting")
            self.canvas.span(row, self.x(life.start), self.x(ready), self.sign.starting, STYLES["idle"])
        if life.ready is None and self.story.live and life.end is None:
            self.canvas.span(row, self.x(life.start), end, self.sign.starting, STYLES["idle"])
        elif end > self.x(ready):
            self.used.add("idle")
            self.canvas.span(row, self.x(ready), end, self.sign.idle, STYLES["idle"])

    def run(self, row: int, lane: Lane, run: Execution) -> None:
        killed = self.struck(lane, run.end, run.start)
        x0, x1 = self.x(run.start), self.until(run.end) if killed is None else killed
        x1 = max(x1, x0 + 1)
        if run.role != "job":
            self.used.add("load" if run.role == "load" else "decoy")
            self.canvas.span(row, x0, x1, self.sign.light, STYLES["light"])
        else:
            self.used.add("jobs" if self.several else "job")
            self.canvas.span(row, x0, x1, self.sign.job, STYLES["job"])
            attempt = "" if run.attempt is None else clean(run.attempt, self.sign)
            again = "" if attempt in ("", "1") else self.sign.attempt + attempt
            label = clean(run.job, self.sign) + again if self.several else attempt
            # A sign that is two columns wide would push the bar out of line.
            if label and cell_len(label) == len(label):
                if x1 - x0 >= len(label) + 5:
                    self.canvas.put(row, x0 + 1, f" {label} ", STYLES["job"])
                elif x1 - x0 >= len(label) + 1:
                    self.canvas.put(row, x0 + 1, label, STYLES["job"])
        if run.how == "raised":
            self.mark(row, x1 - 1, "raised")
        elif run.how == "died" and killed is None:
            self.mark(row, min(x1, self.canvas.width - 1), "died")

    def fault(self, row: int, height: int, fault: Fault) -> None:
        for r in range(row, row + height):
            if fault.kind == "pause":
                self.used.add("paused")
                self.canvas.span(r, self.x(fault.at), self.until(fault.end), self.sign.paused, STYLES["paused"])
            else:
                self.mark(r, self.x(fault.at), fault.kind)

    def many(self, row: Row) -> None:
        """Lanes drawn as one: the share of them that is busy, as a shade."""
        line = self.new(row.label)
        for lane in row.lanes:
            for life in lane.lives:
                self.life(line, lane, life)
        busy = [0] * self.canvas.width
        for lane in row.lanes:
            for run in lane.executions:
                x0, x1 = self.x(run.start), self.until(run.end)
                for x in range(x0, min(max(x1, x0 + 1), self.canvas.width)):
                    busy[x] += 1
        for x, n in enumerate(busy):
            if n:
                self.used.add("busy")
                shade = self.sign.busy[min(2, (3 * n - 1) // len(row.lanes))]
                self.canvas.put(line, x, shade, STYLES["job"])

    def others(self) -> None:
        """Faults that strike no process in a way of its own: a line each, with what they are."""
        for fault in self.story.faults:
            if fault.kind != "other" or not fault.injected:
                continue
            row = self.new("fault", STYLES["other"])
            x0, x1 = self.x(fault.at), self.x(fault.at) + 1
            if fault.end is not None:
                x1 = max(self.x(fault.end), x1)
                self.canvas.span(row, x0, x1, self.sign.lasting, STYLES["other"])
            self.mark(row, x0, "other")
            text = f" {clean(fault.what, self.sign)} "
            if cell_len(text) == len(text):
                if len(text) + 2 <= x1 - x0:
                    self.canvas.put(row, x0 + 2, text, STYLES["other"])
                elif self.canvas.free(row, x1, x1 + len(text)):
                    self.canvas.put(row, x1, text.rstrip(), STYLES["other"])

    def rules(self) -> None:
        """The lease, the row lock and the overlap: each a rule under the lanes."""
        if self.story.leases:
            row = self.new("lease" if not self.several else f"lease of {self.story.job}", "green")
            for lease in self.story.leases:
                x0, x1 = self.x(lease.start), self.until(lease.end)
                self.canvas.span(row, x0, x1, self.sign.lease, STYLES["lease"])
                self.canvas.put(row, x0, self.sign.claim, STYLES["lease"])
                for t in lease.renewals:
                    self.mark(row, self.x(t), "renewed", STYLES["lease"])
                if lease.tail is not None:
                    self.tail(row, x1, self.until(lease.tail))
        spans: Sequence[tuple[str, str, list[tuple[float, float]]]] = (
            ("row lock", "lock", self.story.locks),
            ("overlap", "overlap", self.story.overlaps),
        )
        for label, key, found in spans:
            if found:
                row = self.new(label, STYLES[key])
                self.used.add(key)
                for start, end in found:
                    self.canvas.span(row, self.x(start), self.x(end), getattr(self.sign, key), STYLES[key])

    def tail(self, row: int, x0: int, x1: int) -> None:
        """What follows a lease that ran out: the job is still taken."""
        self.mark(row, x0, "ran_out")
        if x1 > x0 + 1:
            self.used.add("tail")
            self.canvas.span(row, x0 + 1, x1, self.sign.tail, STYLES["tail"])
            if x1 - x0 >= 14:
                self.canvas.put(row, x0 + 2, " ran out ", STYLES["tail"])

    def marks(self) -> None:
        """Numbered observations and reclaims. What would stand on another mark goes to the next line."""
        found = [(at(o), number(o.get("n"), self.sign), "number") for o in self.story.observations]
        found += [(t, self.sign.reclaim, "reclaim") for t, _ in self.story.shown_reclaims()]
        lines: list[int] = []
        top = 2
        for t, text, key in sorted(found, key=lambda m: m[0]):
            self.used.add(key)
            x = self.x(t)
            row = next((r for r in lines if self.canvas.free(r, max(x - 1, 0), x + len(text))), None)
            if row is None:
                row = self.new()
                lines.append(row)
            self.canvas.put(row, x, text, STYLES[key])
            for above in range(top, row):
                if self.canvas.free(above, x, x + 1):
                    self.canvas.put(above, x, self.sign.guide, STYLES["guide"])


def rows(story: Story, most: int) -> list[Row]:
    """Which lanes are drawn by themselves: those that ran the job and those that a fault struck, in their order."""
    lanes = story.lanes
    if len(lanes) <= most:
        return [Row(lane.name, [lane]) for lane in lanes]

    def weight(lane: Lane) -> tuple[bool, bool]:
        ran = any(run.role == "job" for run in lane.executions)
        return not (ran or lane.faults), not (ran and lane.faults)

    chosen = {id(lane) for lane in sorted(lanes, key=weight)[: most - 1]}
    rest = [lane for lane in lanes if id(lane) not in chosen]
    return [Row(lane.name, [lane]) for lane in lanes if id(lane) in chosen] + [Row(f"{len(rest)} others", rest)]


def slots(lane: Lane, last: float, most: int) -> list[int]:
    """Each execution's line in its lane: a worker with several slots gets a line for each that it uses at once."""
    busy: list[float] = []
    found: list[int] = []
    for run in lane.executions:
        slot = next((i for i, until in enumerate(busy) if until <= run.start), min(len(busy), most - 1))
        if slot == len(busy):
            busy.append(0.0)
        busy[slot] = last if run.end is None else run.end
        found.append(slot)
    return found


def horizon(story: Story) -> float:
    """The right edge while an arm runs: it moves in steps, so that the picture stands still between them."""
    reach = story.units(story.last)
    step = next((s for s in (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64) if s > reach), math.ceil(reach * 1.2))
    return story.origin + step * story.lease


def chart(story: Story, width: int, sign: Signs, most_lanes: int = MOST_LANES) -> Chart:
    """Draw the story in so many columns."""
    return Drawing(story, width, sign, most_lanes).draw()
