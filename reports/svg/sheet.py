"""A small writer of SVG elements. All text is escaped by ElementTree, and all numbers are short."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from reports.svg.letters import familiar, fit, width
from reports.svg.theme import FACES, MIDDLE

MOST_TIP = 300


def num(value: float) -> str:
    """A number with at most one decimal: a tenth of a pixel is not to be seen."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def line(*points: tuple[float, float]) -> str:
    """A path through the points."""
    return "".join(f"{'L' if i else 'M'}{num(x)} {num(y)}" for i, (x, y) in enumerate(points))


class Sheet:
    """An element that is being filled."""

    def __init__(self, element: ElementTree.Element) -> None:
        self.element = element

    def add(self, tag: str, style: str = "", **attributes: str | float) -> Sheet:
        """A child; `style` is one of theme.SHAPES."""
        written = {"class": f"lp-{style}"} if style else {}
        for key, value in attributes.items():
            written[key.rstrip("_").replace("_", "-")] = value if isinstance(value, str) else num(value)
        return Sheet(ElementTree.SubElement(self.element, tag, written))

    def tip(self, words: str) -> Sheet:
        """What is shown when the pointer rests on the element."""
        title = ElementTree.Element("title")
        title.text = words if len(words) <= MOST_TIP else words[:MOST_TIP] + "\u2026"
        self.element.insert(0, title)
        return self

    def group(self, tip: str = "") -> Sheet:
        made = self.add("g")
        return made.tip(tip) if tip else made

    def rect(self, style: str, x0: float, y: float, x1: float, height: float, round_: float = 0) -> Sheet:
        corners = {"rx": round_} if round_ else {}
        return self.add("rect", style, x=x0, y=y, width=x1 - x0, height=height, **corners)

    def box(self, style: str, x0: float, y: float, x1: float, height: float) -> None:
        """A rectangle of a tint, through which no line is seen."""
        corner = 3 if x1 - x0 > 6 else 0
        self.rect("plot", x0, y, x1, height, corner)
        self.rect(style, x0, y, x1, height, corner)

    def path(self, style: str, d: str) -> Sheet:
        return self.add("path", style, d=d)

    def lines(self, style: str, parts: Sequence[str]) -> None:
        """Several lines of one style as one element; none where there are none."""
        if parts:
            self.path(style, "".join(parts))

    def text(self, face: str, x: float, y: float, words: str, anchor: str = "start") -> None:
        """A text whose letters' middle is at y. What a font may have in any width is given the width laid out for."""
        if not words:
            return
        more: dict[str, str | float] = {} if anchor == "start" else {"text_anchor": anchor}
        if not all(map(familiar, words)):
            more |= {"textLength": width(words, face), "lengthAdjust": "spacingAndGlyphs"}
        made = self.add("text", f"{face}-text", x=x, y=y + FACES[face].size * MIDDLE, **more)
        made.element.text = words

    def fitted(self, face: str, x: float, y: float, words: str, room: float) -> None:
        """A text in so much room; where it is cut, the whole of it is in its tip."""
        short = fit(words, room, face)
        (self if short == words else self.group(words)).text(face, x, y, short)
