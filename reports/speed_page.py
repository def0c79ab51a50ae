"""Measures of speed in a document that is written by hand: each fills the blocks that are marked for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from reports.markup import code, table, text
from reports.speed import ABSENT, Record, cell, command, figure, made, met, named, numeric, wanted

BEGIN, END = "<!-- speed: {} -->", "<!-- /speed -->"
"""The lines round a block, with the measure's name in the first."""

_MARK = re.compile(r"^<!-- *(?:speed: *(?P<name>.*?)|(?P<end>/speed)) *--> *$", re.MULTILINE)


def block(record: Record, pictures: str) -> str:
    """What stands in a block; `pictures` is the folder of the charts, as the document names it."""
    lines = [
        f"Measured by {code(command(record))}: {text(made(record))}.",
        "",
        *_listed({"machine": named(record["machine"]), **record["settings"]}),
        *(line for each in record["tables"] for line in _table(each)),
    ]
    for chart in record["charts"]:
        lines += [f"![{text(chart['title'])}]({pictures}/{chart['name']}.svg)", ""]
    lines += _goals(record["goals"])
    if record["missing"]:
        lines += ["Not measured:", "", *(f"- {text(said)}" for said in record["missing"]), ""]
    return "\n".join(lines)


def _listed(words: Record) -> list[str]:
    return [*(f"- {text(key)}: {text(said)}" for key, said in words.items()), ""]


def _table(entry: Record) -> Iterator[str]:
    yield from (f"**{text(entry['title'])}**", "")
    rows = ([text(cell(value)) for value in row] for row in entry["rows"])
    yield from _aligned([text(name) for name in entry["columns"]], rows, numeric(entry))
    if entry["note"]:
        yield from (text(entry["note"]), "")


def _goals(goals: Sequence[Record]) -> list[str]:
    if not goals:
        return []
    rows = []
    for goal in goals:
        reached = ABSENT if goal["figure"] is None else figure(goal["figure"])
        said = f"**{met(goal)}**" if goal["met"] is False else met(goal)
        why = f": {text(goal['why'])}" if goal["why"] else ""
        rows.append([text(goal["text"]), wanted(goal), reached, said + why])
    return _aligned(["goal", "wanted", "measured", ""], rows, [False, True, True, False])


def _aligned(heads: Sequence[str], rows: Iterable[list[str]], right: Sequence[bool]) -> list[str]:
    """A table whose figures stand to the right."""
    head, _, *rest = table(heads, rows)
    return [head, "|" + "".join("---:|" if each else "---|" for each in right), *rest]


def blocks(page: str) -> list[str]:
    """The measures that a document has blocks for. Raises ValueError where one has no beginning or no end."""
    return [name for name, _, _ in _spans(page)]


def filled(page: str, made: Mapping[str, str]) -> str:
    """The document with these blocks anew; all else is as it was. Raises ValueError as `blocks` does."""
    for name, start, end in reversed(_spans(page)):
        if name in made:
            page = f"{page[:start]}\n\n{made[name]}\n{page[end:]}"
    return page


def _spans(page: str) -> list[tuple[str, int, int]]:
    """Each block: its name, and where what stands in it begins and ends."""
    found: list[tuple[str, int, int]] = []
    name, start = "", -1
    for mark in _MARK.finditer(page):
        at = f"line {page.count(chr(10), 0, mark.start()) + 1}"
        if mark["end"] and start < 0:
            raise ValueError(f"{at}: {END} ends no block; begin one above it: {BEGIN.format('NAME')}")
        if not mark["end"] and start >= 0:
            raise ValueError(f"{at}: the block of {name} has no end; put {END} above this line")
        if mark["end"]:
            found.append((name, start, mark.start()))
            start = -1
        else:
            name, start = mark["name"], mark.end()
    if start >= 0:
        raise ValueError(f"the block of {name} has no end; put {END} below it")
    return found
