"""Colours and styles, for a light page and for a dark one.

Blue runs, amber is done to it, red is dead or wrong, green is fine, purple gives back. Colour-blind readers tell the
five apart, as they differ in lightness too, and no sign is told by its hue alone. Text has a contrast of at least 4.5
to 1 on what it stands on, in both themes.
"""

from __future__ import annotations

from dataclasses import dataclass

COLOURS = {
    "paper": ("#ffffff", "#0d1117"),
    "plot": ("#f6f8fa", "#161b22"),
    "ink": ("#1f2328", "#e6edf3"),
    "soft": ("#57606a", "#9aa4b0"),
    "faint": ("#dde2e8", "#2c333c"),
    "line": ("#7f8893", "#7a838e"),
    "job": ("#0a4fa8", "#58a0f5"),
    "on-job": ("#ffffff", "#0a0f16"),
    "light": ("#c3d3e6", "#34485f"),
    "kill": ("#ad1228", "#ff7161"),
    "fault": ("#876800", "#f0c33a"),
    "lease": ("#0c7d6c", "#4fd6a8"),
    "reclaim": ("#b52ac8", "#f0b4ff"),
    "mark": ("#ad1228", "#ff7161"),
    "on-mark": ("#ffffff", "#0a0f16"),
}
"""Each colour by name, on a light page and on a dark one."""

PROPERTIES = {f"--lp-{name}": colours for name, colours in COLOURS.items()}
"""The CSS custom properties that an inlined picture follows, with the colours of a whole file: (light, dark)."""


@dataclass(frozen=True)
class Face:
    """How a kind of text looks."""

    size: float
    bold: bool
    colour: str
    halo: str = ""
    """The ground that is painted round the letters, so that a line behind them does not cross them."""


FACES = {
    "head": Face(15, True, "ink"),
    "name": Face(13, False, "ink"),
    "tick": Face(12, False, "soft"),
    "said": Face(12, False, "soft", "plot"),
    "inside": Face(12, False, "ink"),
    "bar": Face(12, True, "on-job"),
    "bad": Face(12, True, "kill", "plot"),
    "warn": Face(12, True, "fault", "plot"),
    "good": Face(13, True, "lease"),
    "back": Face(12, True, "reclaim"),
    "number": Face(12, True, "paper"),
    "pin": Face(12, True, "on-mark"),
    "proof": Face(13, True, "mark"),
}

FAMILY = 'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif'

SHAPES = {
    "page": "fill:{paper};stroke:{faint}",
    "plot": "fill:{plot}",
    "grid": "stroke:{faint}",
    "zero": "stroke:{line}",
    "end": "stroke:{line};stroke-dasharray:3 3;fill:none",
    "alive": "stroke:{line};stroke-width:1.5;fill:none",
    "starting": "stroke:{line};stroke-width:2;stroke-dasharray:0 5;stroke-linecap:round;fill:none",
    "job": "fill:{job}",
    "light": "fill:{light};stroke:{line};stroke-width:.75",
    "shade": "fill:{line}",
    "kill": "stroke:{kill};stroke-width:3;stroke-linecap:round;fill:none",
    "halo": "stroke:{plot};stroke-width:6.5;stroke-linecap:round;fill:none",
    "died": "stroke:{kill};stroke-width:2.2;fill:none",
    "badge": "fill:{plot}",
    "accepted": "stroke:{lease};stroke-width:2.2;fill:none",
    "refused": "stroke:{kill};stroke-width:2.2;fill:none",
    "raised": "stroke:{fault};stroke-width:2.4;fill:none",
    "paused": "stroke:{fault};stroke-width:1.5",
    "hatch": "stroke:{fault};stroke-width:2;stroke-opacity:.7",
    "pill": "fill:{plot};stroke:{fault}",
    "term": "fill:{fault};stroke:{plot}",
    "told": "stroke:{fault};stroke-width:1.5;stroke-dasharray:2 2",
    "fault": "fill:{fault};fill-opacity:.14;stroke:{fault};stroke-dasharray:4 2",
    "other": "fill:{fault}",
    "sham": "fill:none;stroke:{soft};stroke-width:1.5;stroke-dasharray:2 2",
    "lock": "fill:{fault};fill-opacity:.14;stroke:{fault};stroke-width:2",
    "lease": "stroke:{lease};stroke-width:4;fill:none",
    "claim": "stroke:{lease};stroke-width:2;fill:none",
    "renewed": "fill:{lease};stroke:{plot}",
    "out": "stroke:{kill};stroke-width:2;fill:none",
    "tail": "stroke:{kill};stroke-width:2;stroke-dasharray:6 4;fill:none",
    "band": "fill:{kill};fill-opacity:.1;stroke:{kill};stroke-opacity:.6;stroke-dasharray:2 3",
    "overlap": "fill:{kill};fill-opacity:.16;stroke:{kill}",
    "guide": "stroke:{line};stroke-dasharray:3 3;fill:none",
    "seen": "fill:{ink}",
    "took": "fill:{paper};stroke:{reclaim};stroke-width:1.5",
    "pole": "stroke:{mark};stroke-width:1.5;fill:none",
    "flag": "fill:{mark}",
}
"""The style of each kind of shape, with the names of colours in braces."""

MIDDLE = 0.36
"""How far below the middle of its letters a text stands, as a share of its size."""


def _rules(colours: dict[str, str]) -> str:
    rules = [f".lp-{name}{{{style.format(**colours)}}}" for name, style in SHAPES.items()]
    for name, face in FACES.items():
        halo = f";paint-order:stroke;stroke-width:4;stroke-linejoin:round;stroke:{{{face.halo}}}" if face.halo else ""
        rules.append(f".lp-{name}-text{{fill:{colours[face.colour]}{halo.format(**colours)}}}")
    return "".join(rules)


def style(standalone: bool) -> str:
    """The style sheet: of a whole file, with colours for both themes; or one that follows the page's properties."""
    fixed = f".lp text{{font-family:{FAMILY};direction:ltr;unicode-bidi:isolate}}"
    for name, face in FACES.items():
        fixed += f".lp-{name}-text{{font-size:{face.size:g}px;font-weight:{600 if face.bold else 400}}}"
    if not standalone:
        return fixed + _rules({name: f"var(--lp-{name},{light})" for name, (light, _) in COLOURS.items()})
    light = _rules({name: colours[0] for name, colours in COLOURS.items()})
    dark = _rules({name: colours[1] for name, colours in COLOURS.items()})
    return f"{fixed}{light}@media (prefers-color-scheme:dark){{{dark}}}"
