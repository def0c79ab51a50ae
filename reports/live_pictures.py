"""What a run shows of itself while it goes on: one scenario's timeline, all scenarios, or subjects by scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.text import Text

from reports.chart import MOST_LANES, chart
from reports.events import at
from reports.grid import MOST_HEAD, Grid
from reports.progress import Arm, Progress, parts
from reports.signs import Signs, clean, fit, number, side_by_side, sign_of
from reports.story import read

SHOWN_ARM = "sound-fault"

LONGEST_NAME = 48

LOW = 8
"""Lines of a screen for each line of the tally."""

TURN = 6.0
"""Seconds for which a page stays while something runs on it, and on others, too."""

Mark = tuple[str, str]
"""A sign and its style."""


class Picture:
    """What is drawn of a progress."""

    def __init__(self, progress: Progress, sign: Signs) -> None:
        self.progress = progress
        self.sign = sign

    def lines(self, width: int, height: int | None, now: float) -> list[Text]:
        """It as it is `now`, in at most so many lines, or in full."""
        with self.progress.lock:
            return self._lines(width, height, now)

    def _lines(self, width: int, height: int | None, now: float) -> list[Text]:
        raise NotImplementedError

    def mark(self, arm: Arm) -> Mark:
        """The sign of an arm."""
        if arm.is_over:
            return sign_of(arm.verdict, arm.as_expected, self.sign)
        return (self.sign.running, "cyan") if arm.is_running else (self.sign.waiting, "dim")

    def _top(self, width: int, height: int | None, now: float, more: Sequence[str] = ()) -> list[Text]:
        """The progress, and what has come out so far; of that a low screen has the first line."""
        tally = self.progress.tally(width, self.sign, more)
        shown = len(tally) if height is None else max(height // LOW, 1)
        return [self.progress.line(width, now, self.sign), *tally[:shown], Text()]

    def _now(self, width: int, now: float) -> list[Text]:
        """The arms that are under way, those first that have been for the longest."""
        running = sorted(self.progress.running.items(), key=lambda entry: entry[1])
        if not running:
            return []
        words = [f"{name} {id_} {now - first:.0f} s" for (name, id_), first in running[:width]]
        text = clean("now: " + ", ".join(words), self.sign)
        return [Text("  " + fit(text, width - 2, self.sign), "dim", no_wrap=True)]


def picture_of(progress: Progress, sign: Signs) -> Picture:
    """The picture that suits a plan."""
    if progress.single:
        return OneScenario(progress, sign)
    return (Subjects if any(parts(name)[0] for name, _ in progress.plan) else Scenarios)(progress, sign)


class OneScenario(Picture):
    """One scenario: its sound arm with the fault as a timeline, over the states of all its arms."""

    def lines(self, width: int, height: int | None, now: float) -> list[Text]:
        sign = self.sign
        with self.progress.lock:
            arms = [replace(arm) for arm in self.progress.arms.values()]
        states = side_by_side([self._state(arm, now) for arm in arms], width, sign)
        begun = [arm for arm in arms if arm.history]
        shown = next((arm for arm in begun if arm.id == SHOWN_ARM), begun[0] if begun else None)
        if shown is None or shown.history is None or shown.began is None:
            return states
        story = read(shown.history(), None if shown.is_over else now - shown.began)
        room = (height or 40) - len(states) - 2
        drawn = chart(story, width, sign, max(3, min(MOST_LANES, room - 7))).lines[: max(room, 0)]
        seen = []
        for event in story.observations:
            text = f"{story.units(at(event)):6.2f} L  {number(event.get('n'), sign)} {clean(event.get('title'), sign)}"
            seen.append(Text("  " + fit(text, width - 2, sign), no_wrap=True))
        left = room - len(drawn) - 1
        seen = seen[-left:] if left > 0 else []
        return [*drawn, *([Text(), *seen] if seen else []), Text(), *states]

    def _state(self, arm: Arm, now: float) -> Text:
        name = Text.assemble(self.mark(arm), " ", clean(arm.id, self.sign))
        took = arm.took if arm.took is not None else None if arm.began is None else now - arm.began
        return name if took is None else name.append(f" {took:.1f} s", "dim")


class Scenarios(Picture):
    """All scenarios, a sign an arm; what is finished gives way where the screen is too small."""

    def _lines(self, width: int, height: int | None, now: float) -> list[Text]:
        sign = self.sign
        by_name: dict[str, list[Arm]] = {}
        for arm in self.progress.arms.values():
            by_name.setdefault(arm.name, []).append(arm)
        names = min(max((len(name) for name in by_name), default=0), LONGEST_NAME)
        cells: list[Text] = []
        for name, own in by_name.items():
            cell = Text(fit(clean(name, sign), names, sign).ljust(names) + "  ")
            for arm in own:
                cell.append(*self.mark(arm))
            cells.append(cell)
        top = self._top(width, height, now)
        below = self._now(width, now)
        each = max((cell.cell_len for cell in cells), default=1) + 3
        per_row = max((width - 2 + 3) // each, 1)
        room = len(cells) if height is None else max(height - len(top) - len(below), 1)
        if -(-len(cells) // per_row) > room:
            open_ = [cell for cell, own in zip(cells, by_name.values(), strict=True) if not all(a.is_over for a in own)]
            cells = open_[: room * per_row] or cells[-room * per_row :]
        rows: list[Text] = []
        for i in range(0, len(cells), per_row):
            row = Text("  ", no_wrap=True)
            for cell in cells[i : i + per_row]:
                row.append_text(cell).append(" " * (each - cell.cell_len))
            row.rstrip()
            rows.append(row)
        return [*top, *rows, *below]


class Subjects(Picture):
    """Subjects by scenarios, two signs a cell; of several pages those on which something goes on, in turn."""

    def __init__(self, progress: Progress, sign: Signs) -> None:
        super().__init__(progress, sign)
        whose = [(parts(arm.name), arm) for arm in progress.arms.values()]
        self._columns = {subject: i for i, subject in enumerate(dict.fromkeys(name[:2] for name, _ in whose))}
        self._rows = {row: i for i, row in enumerate(dict.fromkeys(name[2] for name, _ in whose))}
        self._arms: dict[tuple[int, str], list[Arm]] = {}
        for name, arm in whose:
            self._arms.setdefault((self._columns[name[:2]], name[2]), []).append(arm)
        self._room: tuple[int, int] = (0, 0)
        self._above = 0
        self._seen = 0, 0
        self._turned = -TURN

    def _lines(self, width: int, height: int | None, now: float) -> list[Text]:
        top = self._top(width, height, now, ["in a cell: with the fault, without"])
        below = self._now(width, now)
        if height is None:
            self._lay_out(width, len(self._rows) + MOST_HEAD)
            begun = {self._page_of(arm.name) for arm in self.progress.arms.values() if arm.is_over or arm.is_running}
            tables = [line for page in sorted(begun) for line in (*self._table(page), Text())]
            return [*top, *tables[:-1], *below]
        self._above = max(self._above, len(top))  # its height does not change back and forth, nor do the pages
        self._lay_out(width, height - self._above - 1)
        self._turn(now)
        return [*top, *self._table(self._shown), *below][:height]

    def _lay_out(self, width: int, height: int) -> None:
        """Divide the table into pages of this size, unless it is so divided."""
        if (width, height) == self._room:
            return
        self._room = width, height
        count = len(self._rows)
        widest = [*self._rows, f"scenarios {count}-{count}/{count}"]  # which is said where it takes several pages
        self._grid = Grid(list(self._columns), widest, width, self.sign)
        heads = max(len(self._grid.head(page)) for page in range(len(self._grid.pages)))
        room = min(max(height - heads, 1), count)
        self._blocks = [range(i, i + room) for i in (min(i, count - room) for i in range(0, count, room))]
        self._beside = {
            column: page for page, groups in enumerate(self._grid.pages) for group in groups for column in group.columns
        }
        self._below = {row: number for number, block in reversed([*enumerate(self._blocks)]) for row in block}
        self._drawn: dict[tuple[int, str], tuple[int, Text]] = {}
        self._shown = self._page(*self._seen)

    def _page(self, column: int, row: int) -> int:
        return self._beside[column] * len(self._blocks) + self._below[row]

    def _page_of(self, name: str) -> int:
        """The page of an arm."""
        subject, profile, row = parts(name)
        return self._page(self._columns[subject, profile], self._rows[row])

    def _turn(self, now: float) -> None:
        """Go on to the next page on which something runs, if it is time to."""
        busy = sorted({self._page_of(name) for name, _ in self.progress.running})
        if busy and now - self._turned >= (TURN if self._shown in busy else TURN / 3):
            self._shown = next((page for page in busy if page > self._shown), busy[0])
            self._turned = now
            beside, below = divmod(self._shown, len(self._blocks))
            block = self._blocks[below]
            self._seen = self._grid.pages[beside][0].columns[0], block[len(block) // 2]

    def _table(self, page: int) -> list[Text]:
        beside, below = divmod(page, len(self._blocks))
        groups, block = self._grid.pages[beside], self._blocks[below]
        over, name = "", "scenario"
        if len(self._grid.pages) > 1:
            before = sum(map(len, self._grid.pages[:beside]))
            over = f"subjects {before + 1}-{before + len(groups)}/{sum(map(len, self._grid.pages))}"
        if len(self._blocks) > 1:
            name = f"scenarios {block.start + 1}-{block.stop}/{len(self._rows)}"
        rows = list(self._rows)[block.start : block.stop]
        return [*self._grid.head(beside, over, name), *(self._line(beside, row) for row in rows)]

    def _line(self, beside: int, row: str) -> Text:
        """A scenario's line; as it was, where nothing has changed in it."""
        changes = self.progress.changes[row]
        before = self._drawn.get((beside, row))
        if before and before[0] == changes:
            return before[1]
        line = self._grid.row(beside, row, lambda column: self._cell(self._arms.get((column, row), [])))
        self._drawn[beside, row] = changes, line
        return line

    def _cell(self, arms: Sequence[Arm]) -> Text:
        """What became of the arms with the fault, and of those without."""
        sides: tuple[list[Arm], list[Arm]] = ([], [])
        for arm in arms:
            sides[not arm.id.endswith("-fault")].append(arm)
        return Text.assemble(*(self._together(side) for side in sides))

    def _together(self, arms: Sequence[Arm]) -> Mark:
        """One sign for several arms: the worst of what has come out, or how far they are."""
        sign = self.sign
        marks = dict(self.mark(arm) for arm in arms)
        for worst in (sign.error, sign.bad, sign.unsure):
            if worst in marks:
                return worst, marks[worst]
        if not all(arm.is_over for arm in arms):
            begun = any(arm.is_over or arm.is_running for arm in arms)
            return (sign.running, "cyan") if begun else (sign.waiting, "dim")
        return next(((mark, marks[mark]) for mark in (sign.absent, sign.ok) if mark in marks), (" ", ""))
