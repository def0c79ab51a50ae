"""How wide a text is, at most, in whatever font it will be shown.

No font travels with a picture. The widths here are those of the wide ones (DejaVu Sans, Noto Sans, Verdana), so that
what is laid out by them never overlaps.
"""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len

from reports.signs import UNICODE, clean
from reports.svg.theme import FACES

_WIDTHS = {
    "'ijl": 0.34,
    " ,.:;I|f-/\\()[]t!r": 0.42,
    'J_`sz?c*"L': 0.57,
    "mwMW@%#+<=>^~\u2026\u2192": 1.0,
    "\u00b7": 0.42,
}
_OF = {letter: width for letters, width in _WIDTHS.items() for letter in letters}
_SMALL, _CAPITAL, _STRANGE, _PICTURE = 0.65, 0.8, 1.12, 1.4
BOLD = 1.14
CUT = "\u2026"


def familiar(letter: str) -> bool:
    """Whether the width is known well enough: Latin, Greek, Cyrillic, common marks, and what fills a square."""
    return letter < "\u0530" or letter in _OF or cell_len(letter) == 2


def _letter(letter: str) -> float:
    if letter in _OF:
        return _OF[letter]
    if letter < "\x7f":
        return _CAPITAL if letter.isupper() or letter == "&" else _SMALL
    if unicodedata.combining(letter):
        return 0.0
    if letter < "\u0250":  # Latin with its accents
        return _STRANGE if letter in "\u00c6\u00e6\u0152\u0153" else 0.9
    if letter < "\u0530":
        return _STRANGE if letter.isupper() else 0.96
    return _PICTURE if letter > "\uffff" else _STRANGE


def width(text: str, face: str) -> float:
    """The width in pixels, rather too wide than too narrow."""
    look = FACES[face]
    return sum(map(_letter, text)) * look.size * (BOLD if look.bold else 1.0)


def fit(text: str, room: float, face: str) -> str:
    """The text in so many pixels; a cut shows its sign. Empty where not even a letter or two would fit."""
    if width(text, face) <= room:
        return text
    look = FACES[face]
    each = look.size * (BOLD if look.bold else 1.0)
    left = room - each  # the sign of the cut
    kept = ""
    for letter in text:
        left -= _letter(letter) * each
        if left < 0:
            break
        kept += letter
    kept = kept.rstrip()
    return kept + CUT if len(kept) > 1 else ""


def plain(value: object) -> str:
    """A text of the history's, cleaned, with nothing in it that takes no room."""
    return " ".join(clean(value, UNICODE).split())
