"""Where a report is printed: colours, width and signs that the stream can bear."""

from __future__ import annotations

import codecs
import os
from typing import IO, Any, cast

from rich.console import Console

from reports.signs import fold

PIPE_WIDTH = 100
NARROWEST = 30


class _Safe:
    """A stream that never fails on a sign that its encoding lacks: it prints the nearest one instead."""

    def __init__(self, stream: IO[str], plain: bool) -> None:
        self._stream = stream
        self.encoding = "ascii" if plain else getattr(stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        try:
            text.encode(self.encoding)
        except (UnicodeEncodeError, LookupError):
            text = "".join(c if c.isascii() else fold(c) for c in text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _set(name: str) -> bool:
    return os.environ.get(name, "") != ""


def make_console(stream: IO[str], *, plain: bool = False, width: int | None = None) -> Console:
    """A console for the stream.

    NO_COLOR and `plain` win over FORCE_COLOR, and `plain` has ASCII signs only; a pipe or a dumb terminal gets neither
    colour nor movement, and 100 columns unless COLUMNS says otherwise.
    """
    terminal = _terminal(stream)
    dumb = os.environ.get("TERM", "").lower() in ("dumb", "unknown")
    forced = _set("FORCE_COLOR") and os.environ["FORCE_COLOR"] != "0" and not _set("NO_COLOR")
    styled = not plain and ((terminal and not dumb) or forced)
    columns = os.environ.get("COLUMNS", "")
    if width is None and columns.isdecimal() and int(columns) > 0:
        width = int(columns)
    if width is None and not terminal:
        width = PIPE_WIDTH
    if width is None and dumb:
        width = _terminal_width(stream)
    return Console(
        file=cast(IO[str], _Safe(stream, plain)),
        force_terminal=styled,
        color_system="standard" if styled else None,
        no_color=_set("NO_COLOR") or plain or None,
        width=None if width is None else max(width, NARROWEST),
        force_interactive=styled and terminal and not dumb,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )


def _terminal(stream: IO[str]) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # no such method, or already closed
        return False


def _terminal_width(stream: IO[str]) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def ascii_only(console: Console) -> bool:
    """Whether the console's encoding, or the locale that its reader chose, has no more than ASCII to be sure of."""
    try:
        if codecs.lookup(console.encoding).name not in ("utf-8", "utf-16", "utf-32", "utf-8-sig"):
            return True
    except LookupError:
        return True
    # Python writes UTF-8 under LC_ALL=C, too; the terminal that it is set for doesn't read it.
    return os.environ.get("LC_ALL", "") in ("C", "POSIX") and not _set("PYTHONIOENCODING")
