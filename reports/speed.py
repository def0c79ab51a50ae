"""What a measure of speed brought: its figures in words, and its report for a terminal."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.box import Box
from rich.console import Group, RenderableType
from rich.constrain import Constrain
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.signs import Signs, clean, fit, paragraph, signs

Record = Mapping[str, Any]
"""As `leaseproof bench` writes it."""

ABSENT = "-"
"""In a cell: could not be measured."""

USUAL = {"rounds": 5, "scale": 1.0}
"""What is measured with unless something else is asked for."""

_NUMERIC = re.compile(r"(?=.*\d)(?:[\d\s.,%^<>~()+/:\u2013\u00d7-]|\bto\b|[mnu\u00b5]?s\b|\bx\b)+")


def figure(value: float) -> str:
    """A figure to three significant digits; a whole number, which counts something, in full."""
    if isinstance(value, int) or value == 0 or not math.isfinite(value):
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"


def exact(value: float) -> str:
    """A figure that somebody chose, as a goal or along an axis: with no more digits than it has."""
    return f"{value:,.10g}"


def cell(value: object) -> str:
    """A cell of a table, as it is read."""
    if value is None:
        return ABSENT
    return figure(value) if isinstance(value, int | float) else str(value)


def numeric(table: Record) -> list[bool]:
    """Which columns have figures and nothing else, so that they stand under one another to the right."""
    cells = [[row[i] for row in table["rows"] if row[i] not in (None, "")] for i in range(len(table["columns"]))]
    return [bool(column) and all(_NUMERIC.fullmatch(cell(value)) for value in column) for column in cells]


def command(record: Record) -> str:
    """What measures it again."""
    more = [f"--{name} {record[name]:g}" for name, usual in USUAL.items() if record[name] != usual]
    return " ".join(["leaseproof bench", record["measure"], *more])


def made(record: Record) -> str:
    """By what it was measured, and when."""
    rounds, day = record["rounds"], str(record["started"])[:10]
    scale = "" if record["scale"] == 1 else f", the amounts of work times {record['scale']:g}"
    return f"{day}, leaseproof {record['leaseproof']}, {rounds} round{'s' if rounds != 1 else ''}{scale}"


def named(words: Record) -> str:
    """Things by name, as a line of words."""
    return "; ".join(f"{key} {value}" for key, value in words.items())


def wanted(goal: Record) -> str:
    return f"{goal['kind']} {exact(goal['wanted'])}"


def met(goal: Record) -> str:
    """Whether a goal is met, in words."""
    return {True: "met", False: "not met", None: "not measured"}[goal["met"]]


def tally(record: Record) -> str:
    """How many of its goals are met; empty where it has none."""
    reached = [goal["met"] for goal in record["goals"]]
    return f"{reached.count(True)} of {len(reached)} goal{'s' if len(reached) != 1 else ''} met" if reached else ""


def speed_report(record: Record, width: int, ascii_only: bool = False) -> RenderableType:
    """A measure for a terminal: what it is, its tables, its goals, and what could not be measured."""
    sign = signs(ascii_only)
    parts: list[RenderableType] = [_head(record, width, sign), Text()]
    parts += paragraph(clean(record["about"], sign), width, indent=2)
    for name, said in (("measured", made(record)), ("machine", named(record["machine"]))):
        parts += _under(name, said, width, sign)
    for name, said in record["settings"].items():
        parts += _under(name, said, width, sign)
    for table in record["tables"]:
        parts += [Text(), *paragraph(clean(table["title"], sign), width, indent=2, style="bold")]
        parts.append(Constrain(Padding(_table(table, sign), (0, 0, 0, 2), expand=False), width))
        parts += paragraph(clean(table["note"], sign), width, indent=2, style="dim")
    told = [*_goals(record["goals"], width, sign), *_missing(record["missing"], width, sign)]
    return Group(*parts, *([Text(), *told] if told else []), Text())


def _head(record: Record, width: int, sign: Signs) -> Text:
    right = fit(tally(record), max(width - 20, 0), sign)
    left = fit(clean(record["measure"], sign), max(width - len(right) - 10, 4), sign)
    fill = sign.strong * max(width - len(left) - (len(right) + 8 if right else 4), 0)
    line = Text.assemble((f"{sign.strong * 2} ", "dim"), (left, "bold"), (f" {fill}", "dim"), no_wrap=True)
    every = all(goal["met"] for goal in record["goals"])
    return line.append(f" {right} ", "green" if every else "yellow").append(sign.strong * 2, "dim") if right else line


def _under(name: str, said: str, width: int, sign: Signs) -> list[Text]:
    """A line of words under their name."""
    lines = paragraph(f"{clean(name, sign)}: {clean(said, sign)}", width, indent=4)
    for line in lines:
        line.stylize("dim")
    return lines


def _table(table: Record, sign: Signs) -> Table:
    rule = sign.rule
    box = Box(f"    \n    \n {rule * 2} \n" + "    \n" * 5, ascii=sign.ascii_only)
    drawn = Table(box=box, show_edge=False, pad_edge=False, header_style="dim")
    for name, right in zip(table["columns"], numeric(table), strict=True):
        drawn.add_column(Text(clean(name, sign)), justify="right" if right else "left", overflow="fold")
    for row in table["rows"]:
        drawn.add_row(*(Text(clean(cell(value), sign)) for value in row))
    return drawn


def _goals(goals: Sequence[Record], width: int, sign: Signs) -> Iterator[Text]:
    marks = {True: (sign.ok, "green"), False: (sign.bad, "bold yellow"), None: (sign.absent, "dim")}
    for goal in goals:
        mark, style = marks[goal["met"]]
        reached = "" if goal["figure"] is None else f": {figure(goal['figure'])}"
        why = f": {goal['why']}" if goal["why"] else ""
        said = f"{goal['text']}{reached}, {wanted(goal)} is wanted; {met(goal)}{why}"
        lines = paragraph(clean(said, sign), width, indent=4, first=f"  {mark}")
        lines[0].stylize(style, 2, 3)
        yield from lines


def _missing(missing: Sequence[str], width: int, sign: Signs) -> Iterator[Text]:
    for said in missing:
        lines = paragraph(f"not measured: {clean(said, sign)}", width, indent=4, first=f"  {sign.unsure}")
        lines[0].stylize("yellow", 2, 3)
        yield from lines
