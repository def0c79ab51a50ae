"""The lanes: a line for each process, with what ran in it and what was done to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reports.chart import Row, slots
from reports.story import Execution, Fault, Lane, Life
from reports.svg import signs
from reports.svg.board import Board
from reports.svg.letters import fit, plain, width
from reports.svg.room import clusters, merged
from reports.svg.shares import share
from reports.svg.sheet import line

LANE = 28.0
SLOT = 22.0
"""Of a lane with several slots: each of them after the first."""
BAR = 18.0
LIGHT = 10.0
MOST_BARS = 60
"""A lane with more executions than these shows how busy it was instead."""
MOST_SLOTS = 6


@dataclass
class Spot:
    """Where a bar is, and what is said in it."""

    run: Execution
    x0: float
    x1: float
    line: int


class LaneDrawing:
    """One lane being drawn."""

    def __init__(self, board: Board, lane: Lane) -> None:
        self.board, self.lane, self.y = board, lane, board.y
        found = slots(lane, board.story.last, MOST_SLOTS + 1)
        self.dense = len(lane.executions) > MOST_BARS or max(found, default=0) >= MOST_SLOTS
        self.slots = [0] * len(found) if self.dense else found
        self.count = max(self.slots, default=0) + 1
        self.height = LANE + SLOT * (self.count - 1)
        self.kills = [f for f in lane.faults if f.kind == "kill"]
        self.lines, self.names = ([board.line() for _ in range(self.count)] for _ in range(2))
        self.bars: list[Spot] = []

    def middle(self, slot: int) -> float:
        return self.y + LANE / 2 + SLOT * slot

    def until(self, what: Life | Execution) -> float:
        """Where something ends: at the kill that ended it, if one did. The reaping shows it a moment later."""
        killed = what.status == -9 if isinstance(what, Life) else what.how == "died"
        ends = [f.at for f in self.kills if killed and what.end is not None and what.start <= f.at <= what.end]
        return self.board.x(ends[0] if ends else what.end)

    def draw(self) -> None:
        self.board.name(self.middle(0), self.lane.name)
        lives(self.board, [self.lane], self.middle(0), self.until)
        if self.dense:
            share(self.board, [self.lane], self.middle(0))
        else:
            for run, slot in zip(self.lane.executions, self.slots, strict=True):
                self.run(run, slot)
            for spot in self.bars:
                if spot.run.role == "job":
                    self.ending(spot)
        for fault in (f for f in self.lane.faults if f.kind == "pause"):
            self.pause(fault)
        struck = [
            same
            for kind in ("term", "kill")
            for same in clusters([f for f in self.lane.faults if f.kind == kind], lambda f: self.board.x(f.at), 16)
        ]
        for same in struck:
            self.strike(same)
        for same in struck if not self.dense else ():
            self.called(same)
        for spot in self.bars:
            if spot.run.role == "job":
                self.attempt(spot)
        self.board.y += self.height

    def run(self, run: Execution, slot: int) -> None:
        x0 = self.board.x(run.start)
        x1 = max(self.until(run), x0 + 2)
        tested = run.role == "job"
        key = ("jobs" if self.board.several else "job") if tested else "load" if run.role == "load" else "decoy"
        self.board.used.add(key)
        height = BAR if tested else LIGHT
        top = self.middle(slot) - height / 2
        bar = self.board.lines.group(self.tip(run))
        if run.end is None:  # it goes on: an arrow
            self.board.used.add("open")
            point = min(height / 2, x1 - x0)
            corners = line((x0, top), (x1 - point, top), (x1, top + height / 2), (x1 - point, top + height))
            bar.path("job" if tested else "light", f"{corners}L{line((x0, top + height))[1:]}Z")
        else:
            bar.rect("job" if tested else "light", x0, top, x1, height, 3 if x1 - x0 > 6 else 0)
        self.lines[slot].take(x0, x1)
        self.bars.append(Spot(run, x0, x1, slot))

    def tip(self, run: Execution) -> str:
        attempt = "" if run.attempt is None else f", attempt {plain(run.attempt)}"
        end = self.board.story.last if run.end is None else run.end
        how = run.how or "still running where the history ends"
        if run.accepted is not None:
            how += ", its end was accepted" if run.accepted else ", its end was refused"
        return f"{plain(run.job)} in {plain(run.worker)}{attempt}: {self.board.when(run.start, end)}; {how}"

    def ending(self, spot: Spot) -> None:
        """How an execution ended, as a badge after its bar, or in the end of the bar where none is free."""
        run, y = spot.run, self.middle(spot.line)
        key = run.how if run.how in ("raised", "died") else ""
        if run.accepted is not None and not key:
            key = "accepted" if run.accepted else "refused"
        if not key or (key == "died" and spot.x1 < self.board.x(run.end)):
            return
        x = self.lines[spot.line].place(16, spot.x1 + 1)
        if x is None and spot.x1 - spot.x0 >= 32:
            x = spot.x1 - 17
            self.names[spot.line].take(x, spot.x1)
        if x is None and key == "accepted":  # many good ends are no news
            return
        self.board.used.add(key)
        middle = spot.x1 if x is None else x + 8
        badge = self.board.front.group(f"{plain(run.job)} in {plain(run.worker)}: {key}")
        badge.add("circle", "badge", cx=middle, cy=y, r=7.5)
        signs.put(badge, key, signs.ENDINGS[key], middle, y)

    def pause(self, fault: Fault) -> None:
        self.board.used.add("paused")
        x0, x1 = self.board.x(fault.at), self.board.x(fault.end)
        band = self.board.front.group(f"{plain(fault.what)}: {self.board.when(fault.at, fault.end)}")
        y0, y1 = self.y + 1, self.y + self.height - 1
        band.add("rect", x=x0, y=y0, width=max(x1 - x0, 2), height=y1 - y0, fill=f"url(#{self.board.hatch})")
        band.path("paused", line((x0, y0), (x0, y1)) + line((x1, y0), (x1, y1)))
        for names in self.names:
            names.take(x0, x1)
        self.lines[0].take(x0, x1)
        words = "paused"
        room = width(words, "warn") + 10
        if x1 - x0 >= room + 8:
            middle, y = (x0 + x1) / 2, self.middle(0)
            band.rect("pill", middle - room / 2, y - 9, middle + room / 2, 18, 4)
            band.text("warn", middle, y, words, "middle")

    def strike(self, faults: Sequence[Fault]) -> None:
        """A signal, or several at nearly the same moment, as a mark."""
        kind, x = faults[0].kind, self.board.x(faults[0].at)
        self.board.used.add(kind)
        tips = "; ".join(f"{plain(f.what)}: {self.board.when(f.at)}" for f in faults[:3])
        mark = self.board.front.group(tips + (f" and {len(faults) - 3} more" if len(faults) > 3 else ""))
        if kind == "kill":
            ended = [self.middle(bar.line) + BAR / 2 for bar in self.bars if bar.line and bar.x0 <= x <= bar.x1]
            if ended:
                mark.path("out", line((x, self.middle(0)), (x, max(ended))))
            signs.put(mark, "halo", signs.CROSS, x, self.middle(0))
            signs.put(mark, "kill", signs.CROSS, x, self.middle(0))
        else:
            mark.path("told", line((x, self.y + 3), (x, self.y + self.height - 2)))
            signs.put(mark, "term", signs.TRIANGLE, x, self.y + 5)
        for each in (*self.names, *self.lines):
            each.take(x - 8, x + 8)

    def called(self, faults: Sequence[Fault]) -> None:
        """What a signal was, beside its mark: in the bar that it struck, or on the free line after it."""
        kind, x, y = faults[0].kind, self.board.x(faults[0].at), self.middle(0)
        face = "bad" if kind == "kill" else "warn"
        words = fit(plain(faults[0].word) + (f" x{len(faults)}" if len(faults) > 1 else ""), 160, face)
        room = width(words, face)
        if any(
            bar.run.role == "job" and bar.line == 0 and bar.x0 <= x + 10 and x + 16 + room <= bar.x1
            for bar in self.bars
        ):
            if (at := self.names[0].place(room + 6, x + 10)) is not None:
                self.board.front.text("bar", at, y, words)
        elif (at := self.lines[0].place(room + 4, x + 10)) is not None:
            self.board.front.text(face, at + 2, y, words)

    def attempt(self, spot: Spot) -> None:
        """What the bar is: as much of it as there is room for, as far to the left as there is."""
        gaps = self.names[spot.line].gaps(spot.x0, spot.x1)
        for words in self.said(spot.run):
            for a, b in gaps:
                if width(words, "bar") + 10 <= b - a:
                    self.board.front.text("bar", a + 6, self.middle(spot.line), words)
                    return
        widest = max(gaps, key=lambda gap: gap[1] - gap[0], default=(0.0, 0.0))
        if self.board.several and widest[1] - widest[0] >= 44:
            words = fit(plain(spot.run.job), widest[1] - widest[0] - 10, "bar")
            self.board.front.text("bar", widest[0] + 6, self.middle(spot.line), words)

    def said(self, run: Execution) -> list[str]:
        attempt = "" if run.attempt is None else plain(run.attempt)
        if not self.board.several:
            return [f"attempt {attempt}", attempt] if attempt else []
        job = plain(run.job)
        return [job] if attempt in ("", "1") else [f"{job}, attempt {attempt}", f"{job}\u00b7{attempt}"]


Until = Callable[[Life], float]


def lives(board: Board, lanes: Sequence[Lane], y: float, until: Until) -> None:
    """From when to when the processes were there: dotted until they took jobs, then a line."""
    starting: list[tuple[float, float]] = []
    alive: list[tuple[float, float]] = []
    for life in (life for lane in lanes for life in lane.lives):
        start, end = board.x(life.start), until(life)
        ready = min(start if life.ready is None else board.x(life.ready), end)
        starting.append((start, ready))
        alive.append((ready, end))
    for key, style, spans in (("starting", "starting", starting), ("idle", "alive", alive)):
        drawn = [line((a, y), (b, y)) for a, b in merged(spans, 0.5) if b - a > 0.5]
        if drawn:
            board.used.add(key)
        board.lines.lines(style, drawn)


def draw_row(board: Board, row: Row) -> None:
    """One line of lanes: a lane, or several as one."""
    if len(row.lanes) == 1:
        LaneDrawing(board, row.lanes[0]).draw()
        return
    y = board.y + LANE / 2
    board.name(y, row.label)
    lives(board, row.lanes, y, lambda life: board.x(life.end))
    share(board, row.lanes, y)
    board.y += LANE
