"""The signs that reports draw with, in Unicode and in ASCII, and the cleaning of text that others wrote."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.text import Text

LONGEST = 4000
"""No single text of a subject's may fill the screen for ever."""


@dataclass(frozen=True)
class Signs:
    """One set of signs; every sign of a chart is one column wide."""

    ascii_only: bool = False
    job: str = "▇"
    light: str = "░"
    busy: str = "░▒▓"
    idle: str = "─"
    starting: str = "┈"
    kill: str = "✕"
    paused: str = "▌"
    term: str = "▼"
    other: str = "◆"
    lasting: str = "┅"
    died: str = "†"
    raised: str = "!"
    guide: str = "┊"
    claim: str = "├"
    lease: str = "─"
    renewed: str = "┴"
    ran_out: str = "┤"
    tail: str = "┄"
    overlap: str = "═"
    lock: str = "━"
    reclaim: str = "R"
    axis: str = "─"
    passed: str = "━"
    tick: str = "┬"
    ok: str = "✓"
    bad: str = "✗"
    unsure: str = "~"
    absent: str = "\u2013"
    error: str = "!"
    waiting: str = "·"
    running: str = "●"
    stands: str = "·"
    rule: str = "─"
    strong: str = "━"
    dot: str = "·"
    attempt: str = "·"
    cut: str = "…"
    to: str = "→"


UNICODE = Signs()
ASCII = Signs(
    ascii_only=True,
    job="#",
    light=":",
    busy=".:%",
    idle="-",
    starting=".",
    kill="X",
    paused="|",
    term="v",
    other="*",
    lasting="*",
    died="%",
    guide="'",
    claim="[",
    lease="-",
    renewed="^",
    ran_out="]",
    tail=".",
    overlap="=",
    lock="=",
    axis="-",
    passed="=",
    tick="+",
    ok="+",
    bad="x",
    absent="-",
    waiting=".",
    running="o",
    stands="-",
    rule="-",
    strong="=",
    dot=",",
    attempt="/",
    cut="~",
    to="->",
)

_TYPOGRAPHY = str.maketrans(
    {
        "\u2014": "-",
        "\u2013": "-",
        "\u2212": "-",
        "\u2010": "-",
        "\u2026": "...",
        "\u201c": '"',
        "\u201d": '"',
        "\u201e": '"',
        "\u00ab": '"',
        "\u00bb": '"',
        "\u2018": "'",
        "\u2019": "'",
        "\u2192": "->",
        "\u2190": "<-",
        "\u00d7": "x",
        "\u2264": "<=",
        "\u2265": ">=",
        "\u2260": "!=",
        "\u00b7": ".",
        "\u2022": "*",
        "\u00b5": "u",
        "\u00df": "ss",
    }
)


def signs(ascii_only: bool) -> Signs:
    """The set to draw with."""
    return ASCII if ascii_only else UNICODE


def number(n: object, sign: Signs) -> str:
    """An observation's number: circled where that exists."""
    if isinstance(n, int) and not sign.ascii_only and 1 <= n <= 20:
        return chr(0x2460 + n - 1)
    return fit(clean(n, sign), 4, sign) or "?"


def fold(text: str) -> str:
    """The nearest ASCII; what has none becomes a question mark."""
    plain = unicodedata.normalize("NFKD", text.translate(_TYPOGRAPHY))
    return "".join(c if c.isascii() else "?" for c in plain if not unicodedata.combining(c))


def clean(value: object, sign: Signs) -> str:
    """A text of the subject's as one line that is safe to print.

    Control characters, surrogates and the invisible marks that turn a line round are removed, so that no text can move
    the cursor, hide itself or reorder the report.
    """
    text = value if isinstance(value, str) else _words(value)
    if len(text) > LONGEST:
        text = text[:LONGEST] + "…"
    if text.isprintable() and (text.isascii() or not sign.ascii_only):
        return text  # as nearly all are
    text = "".join(" " if c in "\n\r\t\v\f" or unicodedata.category(c) in ("Zl", "Zp") else c for c in text)
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn"))
    return fold(text) if sign.ascii_only else text


def _words(value: object) -> str:
    """Nested values as words rather than as Python source."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_words(v) if not isinstance(v, str) else v}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_words(v) if not isinstance(v, str) else v for v in value)
    return str(value)


def fit(text: str, width: int, sign: Signs) -> str:
    """The text in at most so many columns; a cut shows its sign."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + sign.cut if width > 0 else ""


def pad(text: str, width: int, sign: Signs) -> str:
    """The text in exactly so many columns."""
    return set_cell_size(fit(text, width, sign), width)


def folded(text: str, width: int) -> list[str]:
    """The text in lines of at most so many columns; words that are longer than a line are broken."""
    width = max(width, 8)
    lines: list[str] = []
    line = ""
    for word in text.split():
        while cell_len(word) > width:
            if line:
                lines.append(line)
                line = ""
            head = set_cell_size(word, width).rstrip()
            if (seam := head.rfind("/") + 1) > width // 3:  # a path breaks after a folder
                head = head[:seam]
            lines.append(head)
            word = word[len(head) :]
        joined = f"{line} {word}" if line else word
        if word and cell_len(joined) > width:
            lines.append(line)
            line = word
        elif word:
            line = joined
    return [*lines, line] if line else lines


def cut(line: Text, width: int, sign: Signs) -> Text:
    """A styled line in at most so many columns; a cut shows its sign."""
    if line.cell_len > width:
        line.truncate(width - 1)
        line.append(sign.cut)
    return line


def side_by_side(words: Iterable[Text], width: int, sign: Signs) -> list[Text]:
    """Styled words next to one another, in as many lines as they need."""
    lines: list[Text] = []
    for word in words:
        if lines and lines[-1].cell_len + 3 + word.cell_len <= width:
            lines[-1].append("   ").append_text(word)
        else:
            lines.append(cut(Text("  ", no_wrap=True).append_text(word), width, sign))
    return lines


def paragraph(text: str, width: int, *, indent: int = 0, first: str = "", style: str = "") -> list[Text]:
    """Wrapped lines under an indent; `first` stands in the indent of the first line."""
    lines = folded(text, width - indent)
    return [
        Text.assemble((first if i == 0 else "").ljust(indent), (line, style), no_wrap=True)
        for i, line in enumerate(lines)
    ]


def seconds(value: float) -> str:
    """A time that a person can take in at a glance."""
    if value < 0.0995:
        return f"{value * 1000:.0f} ms"
    return f"{value:.1f} s" if value < 100 else f"{value:.0f} s"


def listed(words: Iterable[str]) -> str:
    """a, b and c."""
    all_ = list(words)
    return " and ".join([", ".join(all_[:-1]), all_[-1]]) if len(all_) > 1 else "".join(all_)


def sign_of(verdict: str, as_expected: bool, sign: Signs) -> tuple[str, str]:
    """The sign and style of an arm's outcome. A twin that fails as it must is as good as a sound arm that passes."""
    if verdict == "inconclusive":
        return sign.unsure, "yellow"
    if verdict == "unsupported":
        return sign.absent, "dim"
    if verdict == "error":
        return sign.error, "bold magenta"
    return (sign.ok, "green") if as_expected else (sign.bad, "bold red")


STATUS = {
    "proven": "bold green",
    "unproven": "bold red",
    "inconclusive": "bold yellow",
    "error": "bold magenta",
    "partial": "bold cyan",
}
