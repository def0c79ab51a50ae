"""Pieces of Markdown, and the text of a subject's in it, which formats nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from reports.signs import UNICODE, clean

_ADDRESS = re.compile(r"(https?://[^\s<>()|`\"']*[^\s<>()|`\"'.,;:!?])")


def text(value: object) -> str:
    """A text on one line that formats nothing and ends no cell. An address of the web in it stays one."""
    words = _ADDRESS.split(clean(value, UNICODE))
    words[::2] = [re.sub(r"([\\`*_\[\]<>|~&#])", r"\\\1", others) for others in words[::2]]
    words[1::2] = [f"<{address}>" for address in words[1::2]]
    return "".join(words)


def code(value: object) -> str:
    """A text as it stands, in a type for programs; not for a table, whose cells a `|` ends even here."""
    words = clean(value, UNICODE).strip()
    if not words:
        return ""
    fence = "`" * (max(map(len, re.findall("`+", words)), default=0) + 1)
    space = " " if "`" in (words[0], words[-1]) else ""
    return f"{fence}{space}{words}{space}{fence}"


def link(words: str, address: object) -> str:
    """Words that lead to an address, if that is one of the web's; else the words alone. Neither formats anything."""
    where = clean(address, UNICODE).strip()
    if not re.fullmatch(r"https?://\S+", where):
        return text(words)
    safe = re.sub(r"[()<>|`\\]", lambda found: f"%{ord(found[0]):02X}", where)
    return f"[{text(words)}]({safe})"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table, and an empty one."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def folded(title: str, lines: Sequence[str]) -> list[str]:
    """Lines that open on a click on a title."""
    return ["<details>", f"<summary>{escape(clean(title, UNICODE))}</summary>", "", *lines, "</details>", ""]


def anchor(heading: str) -> str:
    """Where a heading is found in a page."""
    return re.sub(r"[^\w -]", "", clean(heading, UNICODE).lower()).replace(" ", "-")
