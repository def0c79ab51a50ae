"""Subjects side by side with a few signs a cell: which of them go on which page, and the heads over them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from reports.signs import Signs, clean, cut, fit, pad

GAP = 2
CELL = 3
"""Columns of a cell: two signs, and what is between them and the next profile's."""

LONG = 10
"""A name of more columns is broken over two lines, where it has a seam."""

LONGEST = 16
"""Columns of a line of a name."""


MOST_HEAD = 4
"""Lines of a head at most."""


@dataclass(frozen=True)
class Group:
    """A subject: its name in one or two lines, the letters of its profiles, and which of all columns are its own."""

    name: tuple[str, ...]
    letters: tuple[str, ...]
    columns: tuple[int, ...]

    @property
    def width(self) -> int:
        return max(CELL * len(self.columns) - 1, *map(cell_len, self.name))


class Grid:
    """A table of `subjects` (a name and a profile each) by `rows`, in as many pages as the width asks for."""

    def __init__(self, subjects: Sequence[tuple[str, str]], rows: Sequence[str], width: int, sign: Signs) -> None:
        self._sign = sign
        self._width = width
        self._names = min(max([8, *map(cell_len, rows)]), max(12, width * 2 // 5))
        room = width - 2 - self._names
        mine: dict[str, list[int]] = {}
        for column, (name, _) in enumerate(subjects):
            mine.setdefault(name, []).append(column)
        groups = [
            Group(
                tuple(fit(line, min(LONGEST, room - GAP), sign) for line in _broken(clean(name, sign))),
                tuple(clean(subjects[column][1], sign)[:1] for column in columns),
                tuple(columns),
            )
            for name, columns in mine.items()
        ]
        self.pages = _pages(groups, room)

    def head(self, page: int, over: str = "", name: str = "scenario") -> list[Text]:
        """The subjects' names, the letters of their profiles, and a rule; `over` stands where the names leave room."""
        groups = self.pages[page]
        high = max([1, *(len(group.name) for group in groups)])
        lines = []
        for level in range(high):
            parts = [("",) * (high - len(group.name)) + group.name for group in groups]
            lines.append(self._line(over if level == 0 else "", groups, [Text(part[level]) for part in parts]))
            lines[-1].stylize("bold", 2 + self._names)
        letters = [Text("".join(pad(letter, CELL, self._sign) for letter in group.letters)) for group in groups]
        lines.append(self._line(name, groups, letters))
        for line in (lines[0], lines[-1]):
            line.stylize("dim", 0, 2 + self._names if line is not lines[-1] else None)
        total = self._names + sum(GAP + group.width for group in groups)
        return [*lines, Text("  " + self._sign.rule * min(total, self._width - 2), "dim", no_wrap=True)]

    def row(self, page: int, name: str, cell: Callable[[int], Text]) -> Text:
        """A scenario's line; `cell` gives the cell of a column."""
        groups = self.pages[page]
        cells = [Text.assemble(*(_padded(cell(column)) for column in group.columns)) for group in groups]
        return self._line(name, groups, cells)

    def _line(self, name: str, groups: Sequence[Group], cells: Sequence[Text]) -> Text:
        line = Text("  " + pad(clean(name, self._sign), self._names, self._sign), no_wrap=True)
        for group, cell in zip(groups, cells, strict=True):
            cell.rstrip()
            line.append(" " * GAP).append_text(cell).append(" " * max(group.width - cell.cell_len, 0))
        line.rstrip()
        return cut(line, self._width, self._sign)


def _padded(cell: Text) -> Text:
    return Text.assemble(cell, " " * (CELL - cell.cell_len))


def _broken(name: str) -> tuple[str, ...]:
    """A name in the two lines that are the narrowest, if it is long and there is a seam; else as it is."""
    if cell_len(name) <= LONG:
        return (name,)
    seams = [match.end() for match in re.finditer(r"[-_./ ]+", name) if match.end() < len(name)]
    halves = [(name[:seam].rstrip(), name[seam:]) for seam in seams]
    return min(halves, key=lambda lines: max(map(cell_len, lines)), default=(name,))


def _pages(groups: Sequence[Group], room: int) -> list[list[Group]]:
    """The groups of each page: as few pages as can be, and none much emptier than the others."""
    pages = _filled(groups, room)
    while room > 1 and len(evener := _filled(groups, room - 1)) == len(pages):
        pages, room = evener, room - 1
    return pages


def _filled(groups: Sequence[Group], room: int) -> list[list[Group]]:
    pages: list[list[Group]] = [[]]
    taken = 0
    for group in groups:
        if pages[-1] and taken + GAP + group.width > room:
            pages.append([])
            taken = 0
        pages[-1].append(group)
        taken += GAP + group.width
    return pages
