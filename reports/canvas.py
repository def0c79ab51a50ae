"""A sheet of single-column signs."""

from __future__ import annotations

from itertools import groupby

from rich.text import Text


class Canvas:
    """Rows of single-column signs, each with a style. A column with nothing in it is not the same as a space."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.rows: list[list[tuple[str, str] | None]] = []

    def row(self) -> int:
        self.rows.append([None] * self.width)
        return len(self.rows) - 1

    def put(self, row: int, x: int, text: str, style: str = "") -> None:
        for i, sign in enumerate(text):
            if 0 <= x + i < self.width:
                self.rows[row][x + i] = (sign, style)

    def span(self, row: int, x0: int, x1: int, sign: str, style: str = "") -> None:
        """Fill from x0 up to, and without, x1; at least one column."""
        for x in range(x0, max(x1, x0 + 1)):
            self.put(row, x, sign, style)

    def free(self, row: int, x0: int, x1: int) -> bool:
        return all(0 <= x < self.width and self.rows[row][x] is None for x in range(x0, x1))

    def text(self, row: int) -> Text:
        line = Text()
        cells = [cell or (" ", "") for cell in self.rows[row]]
        for style, run in groupby(cells, key=lambda cell: cell[1]):
            line.append("".join(sign for sign, _ in run), style)
        return line
