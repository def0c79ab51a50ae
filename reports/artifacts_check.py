"""What a check of the artifacts found: the article's facts beside those of the run, and what is not as recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.cells import cell_len
from rich.console import Group
from rich.text import Text

from reports.compared import Beside, Change
from reports.signs import Signs, clean, cut, pad, paragraph, signs

STATUS = {
    "same": ("same", "green"),
    "known": ("differs", "cyan"),
    "told": ("by the script", "dim"),
    "changed": ("CHANGED", "bold red"),
}

WIDEST = 40
"""Columns of a fact, and of its values, at the most."""

INDENT = 6


def check_report(
    beside: Sequence[Beside], changes: Sequence[Change], notes: Sequence[str], width: int, ascii_only: bool
) -> Group:
    """The facts side by side, then each change with what was and what is, then whatever else is to be said."""
    sign = signs(ascii_only)
    lines = [*_table(beside, width, sign), *(line for change in changes for line in _change(change, width, sign))]
    return Group(*lines, *(line for note in notes for line in paragraph(clean(note, sign), width, indent=2)))


def _table(beside: Sequence[Beside], width: int, sign: Signs) -> Iterator[Text]:
    rows = [(clean(each.fact, sign), clean(each.article, sign), clean(each.here, sign)) for each in beside]
    heads = ("fact", "article", "here")
    room = max(4, (width - 24) // 3)
    columns = [min(WIDEST, room, max(map(cell_len, column))) for column in zip(heads, *rows, strict=True)]

    def line(cells: Sequence[str], indent: int) -> str:
        return " " * indent + "".join(pad(cell, size, sign) + "  " for cell, size in zip(cells, columns, strict=True))

    if beside:
        yield Text(line(heads, 4).rstrip(), "dim", no_wrap=True)
    for (scenario, side), group in groupby(zip(beside, rows, strict=True), lambda it: (it[0].scenario, it[0].side)):
        yield Text(f"  {scenario} {side}", "bold", no_wrap=True)
        for each, cells in group:
            yield cut(Text.assemble(line(cells, 4), STATUS[each.status], no_wrap=True), width, sign)
            # What was cut in its column is told whole.
            long = any(cell_len(cell) > size for cell, size in zip(cells, columns, strict=True))
            whole = f"{cells[0]}: {cells[1] or '(none)'} in the article, {cells[2] or '(none)'} here" if long else ""
            why = clean(each.why, sign)
            yield from paragraph("; ".join(filter(None, (whole, why))), width, indent=INDENT, style="dim")
        yield Text()


def _change(change: Change, width: int, sign: Signs) -> Iterator[Text]:
    title = f"{clean(change.scenario, sign)} {clean(change.side, sign)}, {clean(change.fact, sign)}: a fact has changed"
    yield from paragraph(title, width, indent=2, style="bold red")
    for word, value in (("recorded", change.old), ("now", change.new)):
        yield from paragraph("(none)" if value is None else clean(value, sign), width, indent=14, first=f"    {word}:")
