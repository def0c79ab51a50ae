"""Colour, width and signs, by stream and environment."""

from __future__ import annotations

import io

import pytest
from rich.text import Text

from reports.console import ascii_only, make_console
from reports.terminal import matrix
from reports.timeline import timeline
from tests.reports.results import mixed
from tests.reports.samples import HISTORIES

VARIABLES = ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "LINES", "LC_ALL", "PYTHONIOENCODING", "TTY_COMPATIBLE")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def printed(stream: io.StringIO, *, plain: bool = False) -> str:
    make_console(stream, plain=plain).print(Text("x", "bold red"))
    return stream.getvalue()


def test_a_terminal_gets_colour_and_a_pipe_none() -> None:
    assert "\x1b[1;31m" in printed(Terminal())
    assert printed(io.StringIO()) == "x\n"


def test_no_color_keeps_what_is_not_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1mx" in printed(Terminal())
    assert printed(io.StringIO()) == "x\n"


def test_force_color_reaches_a_pipe_but_moves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1;31m" in printed(io.StringIO())
    assert not make_console(io.StringIO()).is_interactive


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_dumb_terminal_gets_plain_text(monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    monkeypatch.setenv("TERM", term)
    assert printed(Terminal()) == "x\n"


def test_plain_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert printed(Terminal(), plain=True) == "x\n"


def test_plain_has_no_sign_beyond_ascii_whatever_the_stream_could_bear() -> None:
    stream = io.StringIO()
    console = make_console(stream, plain=True)
    assert ascii_only(console)
    console.print("\u2713 \u2500 \u2026")
    assert stream.getvalue().isascii()
    assert not ascii_only(make_console(io.StringIO()))


def test_width(monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_console(io.StringIO()).width == 100
    assert make_console(io.StringIO(), width=60).width == 60
    assert make_console(io.StringIO(), width=3).width == 30
    monkeypatch.setenv("COLUMNS", "72")
    assert make_console(io.StringIO()).width == 72
    monkeypatch.setenv("COLUMNS", "wide")
    assert make_console(io.StringIO()).width == 100


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "koi8-r", "cp437", "utf-8", "utf-16"])
@pytest.mark.parametrize("forced", [None, False, True])
def test_no_encoding_breaks_a_report(encoding: str, forced: bool | None) -> None:
    raw = io.BytesIO()
    console = make_console(io.TextIOWrapper(raw, encoding=encoding, write_through=True))
    plain = ascii_only(console) if forced is None else forced
    console.print(timeline(HISTORIES["worker-death"](), 100, ascii_only=plain))
    console.print(matrix(mixed(), 100, plain, "./прогон"))
    assert "worker-death" in raw.getvalue().decode(encoding)


@pytest.mark.parametrize(
    ("encoding", "expected"), [("utf-8", False), ("UTF8", False), ("latin-1", True), ("ascii", True)]
)
def test_signs_by_encoding(encoding: str, expected: bool) -> None:
    assert ascii_only(make_console(io.TextIOWrapper(io.BytesIO(), encoding=encoding))) is expected


def test_signs_by_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setenv("LC_ALL", "C")
    assert ascii_only(make_console(stream))
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
    assert not ascii_only(make_console(stream))


def test_a_closed_stream_is_a_pipe() -> None:
    stream = io.StringIO()
    stream.close()
    assert make_console(stream).width == 100
