"""Charts of figures: bars with whiskers and lines with bands, for the range that a median comes from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from reports.speed import exact, figure
from reports.svg.letters import fit, plain, width
from reports.svg.room import spread
from reports.svg.scale import Scale, scale
from reports.svg.sheet import Sheet, line, num
from reports.svg.theme import COLOURS, style

BROAD = 960.0
MARGIN = 18.0
GAP = 8.0
ROW, BAR = 24.0, 13.0
"""Of a chart of bars: the height of a line, and of the bar on it."""
PLOT, LABEL = 280.0, 18.0
"""Of a chart of lines: its height, and that of a name beside it."""

HUES = ("job", "fault", "lease", "reclaim", "kill", "soft")
DASHES = ("", "8 3", "2 3", "9 3 2 3")
SIGNS = (
    "M-4 0A4 4 0 1 1 4 0A4 4 0 1 1-4 0Z",
    "M-4-4H4V4H-4Z",
    "M-5 4L0-5L5 4Z",
    "M0-5L5 0L0 5L-5 0Z",
    "M-5-4L0 5L5-4Z",
)
"""Lines are told apart by colour, by dashes and by the sign of their points: twice in black and white, too."""


@dataclass(frozen=True)
class Point:
    """A figure with its range."""

    label: str
    middle: float
    low: float
    high: float

    @property
    def range(self) -> str:
        return f"({figure(self.low)} to {figure(self.high)})" if self.low < self.high else ""

    def told(self, unit: str) -> str:
        return " ".join(filter(None, (f"{self.label}: {figure(self.middle)}", unit, self.range)))


Series = Mapping[str, Sequence[Point]]


def columns(chart: Mapping[str, Any]) -> str:
    """A chart, as JSON has it, as a picture: a complete file, for a light page and for a dark one.

    A point whose figure is not finite is left out. Raises LookupError, TypeError and ValueError on what is no chart.
    """
    series = {plain(name): list(_points(points)) for name, points in chart["series"].items()}
    title, unit, bars = plain(chart["title"]), plain(chart["unit"]), chart["kind"] == "bars"
    values = [value for points in series.values() for each in points for value in (each.low, each.middle, each.high)]
    root = ElementTree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "class": "lp", "role": "img"})
    root.set("aria-labelledby", "lp-title lp-desc")
    sheet = Sheet(root)
    sheet.add("title", id="lp-title").element.text = title or "A chart"
    sheet.add("desc", id="lp-desc").element.text = _described(series, unit)
    sheet.add("style").element.text = _style(0 if bars else len(series))
    page = sheet.rect("page", 0.5, 0.5, BROAD - 0.5, 0, 8)
    sheet.fitted("head", MARGIN, MARGIN + 8, title, BROAD - 2 * MARGIN)
    logarithmic = bool(chart["log"]) and any(value > 0 for value in values)
    how = f"median and range{', on a logarithmic axis' if logarithmic else ''}"
    sheet.fitted("tick", MARGIN, MARGIN + 28, f"{unit}: {how}" if unit else how, BROAD - 2 * MARGIN)
    draw = _bars if bars else _lines
    height = round(draw(sheet, series, values, unit, logarithmic, MARGIN + 46) + MARGIN)
    page.element.set("height", f"{height - 1}")
    root.set("viewBox", f"0 0 {num(BROAD)} {height}")
    root.set("width", num(BROAD))
    root.set("height", f"{height}")
    ElementTree.indent(root, "")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _points(points: Sequence[Mapping[str, Any]]) -> Iterator[Point]:
    for point in points:
        value = point["value"]
        found = [float(value[key]) for key in ("middle", "low", "high")]
        if all(map(math.isfinite, found)):
            yield Point(plain(point["label"]), *found)


def _described(series: Series, unit: str) -> str:
    told = [f"{name}: {'; '.join(point.told(unit) for point in points)}." for name, points in series.items() if points]
    return " ".join(told) or "There is nothing to show."


def _labels(series: Series) -> list[str]:
    return list(dict.fromkeys(point.label for points in series.values() for point in points))


def _style(count: int) -> str:
    """What all pictures have, and so many lines."""
    light, dark = ("".join(_look(k, theme) for k in range(count)) for theme in (0, 1))
    return style(standalone=True) + (f"{light}@media (prefers-color-scheme:dark){{{dark}}}" if count else "")


def _look(k: int, theme: int) -> str:
    colour, ground = COLOURS[HUES[k % len(HUES)]][theme], COLOURS["plot"][theme]
    dash = f";stroke-dasharray:{DASHES[k % len(DASHES)]}" if DASHES[k % len(DASHES)] else ""
    return (
        f".lp-curve-{k}{{stroke:{colour};stroke-width:2.2;stroke-linejoin:round;fill:none{dash}}}"
        f".lp-span-{k}{{fill:{colour};fill-opacity:.14}}.lp-point-{k}{{fill:{colour};stroke:{ground}}}"
    )


# Bars: a line for each, so that each is named and no colour has to be looked up.


def _bars(sheet: Sheet, series: Series, values: list[float], unit: str, log: bool, top: float) -> float:
    """Draw them below `top`; how far down it reaches."""
    several = len(series) > 1
    names = {*(series if several else _labels(series))}
    left = MARGIN + min(max([0.0, *(width(name, "name") for name in names)]) + 2 * GAP, BROAD / 3)
    told = [width(figure(p.middle), "name") + GAP + width(p.range, "tick") for ps in series.values() for p in ps]
    axis = scale(values, left, BROAD - MARGIN - max(told, default=0.0) - 2 * GAP, 90, log)
    back = sheet.group()
    y = top
    for label in _labels(series):
        if several:
            sheet.fitted("name", MARGIN, y + ROW / 2, label, BROAD - 2 * MARGIN)
            y += ROW
        for name, points in series.items():
            for point in (each for each in points if each.label == label):
                words = name if several else label
                sheet.fitted("name", MARGIN + (GAP if several else 0), y + ROW / 2, words, left - MARGIN - 2 * GAP)
                _bar(sheet.group(f"{name}, {point.told(unit)}"), axis, point, y + ROW / 2)
                y += ROW
    back.rect("plot", axis.start, top, axis.end, max(y - top, 1), 4)
    edge = MARGIN
    for tick in axis.ticks():
        x, words = axis.at(tick), exact(tick)
        back.path("zero" if abs(x - axis.base) < 0.05 else "grid", line((x, top), (x, y + 4)))
        if x - width(words, "tick") / 2 >= edge:
            sheet.text("tick", x, y + 14, words, "middle")
            edge = x + width(words, "tick") / 2 + GAP
    return y + 20


def _bar(sheet: Sheet, axis: Scale, point: Point, y: float) -> None:
    x0, x1 = sorted((axis.base, axis.at(point.middle)))
    low, high = axis.at(point.low), axis.at(point.high)
    sheet.rect("light", x0, y - BAR / 2, max(x1, x0 + 1), BAR)
    if point.range:
        for a, b, size in ((low, high, 2.0), (low - 1, low + 1, BAR - 4), (high - 1, high + 1, BAR - 4)):
            sheet.rect("job", a, y - size / 2, max(b, a + 1), size)
    at = axis.at(point.middle)
    sheet.rect("job", at - 1.5, y - BAR / 2 - 1, at + 1.5, BAR + 2)
    x = max(high, x1) + GAP
    sheet.text("name", x, y, figure(point.middle))
    sheet.text("tick", x + width(figure(point.middle), "name") + GAP, y, point.range)


# Lines: each is named at its end.


def _lines(sheet: Sheet, series: Series, values: list[float], unit: str, log: bool, top: float) -> float:
    """Draw them below `top`; how far down it reaches."""
    bottom = top + max(PLOT, len(series) * LABEL)
    axis = scale(values, bottom, top, 36, log)
    left = MARGIN + max(width(exact(tick), "tick") for tick in axis.ticks()) + GAP
    room = min(max([0.0, *(width(name, "name") for name in series)]), BROAD / 3)
    right = BROAD - MARGIN - room - (34 if room else 0)
    labels = _labels(series)
    each = (right - left) / max(len(labels), 1)
    places = {label: left + (i + 0.5) * each for i, label in enumerate(labels)}
    sheet.rect("plot", left, top, right, bottom - top, 4)
    for tick in axis.ticks():
        y = axis.at(tick)
        sheet.path("zero" if abs(y - axis.base) < 0.05 else "grid", line((left, y), (right, y)))
        sheet.text("tick", left - GAP, y, exact(tick), "end")
    _across(sheet, places, each, bottom + 18)
    found = [(k, name, points) for k, (name, points) in enumerate(series.items()) if points]
    for k, _, points in found:
        highs = [(places[point.label], axis.at(point.high)) for point in points]
        lows = [(places[point.label], axis.at(point.low)) for point in reversed(points)]
        if any(point.range for point in points):
            sheet.path(f"span-{k}", line(*highs, *lows) + "Z")
    for k, name, points in found:
        spots = [(places[point.label], axis.at(point.middle)) for point in points]
        sheet.path(f"curve-{k}", line(*spots))
        for point, spot in zip(points, spots, strict=True):
            _sign(sheet.group(f"{name}, {point.told(unit)}"), k, *spot)
    found.sort(key=lambda one: axis.at(one[2][-1].middle))
    wanted = [axis.at(points[-1].middle) for _, _, points in found]
    for (k, name, _), y in zip(found, spread(wanted, [LABEL] * len(found), top, bottom), strict=True):
        sheet.path(f"curve-{k}", line((right + 6, y), (right + 28, y)))
        _sign(sheet, k, right + 17, y)
        sheet.fitted("name", right + 34, y, name, room)
    return bottom + 24


def _across(sheet: Sheet, places: Mapping[str, float], each: float, y: float) -> None:
    """The labels under the lines: of those for which there is no room every so many."""
    widest = max((width(label, "tick") for label in places), default=0.0) + GAP
    apart = max(1, math.ceil(min(widest, 160.0) / each)) if places else 1
    for label, x in [*places.items()][::apart]:
        room = min(apart * each - GAP, 2 * (x - MARGIN))
        sheet.text("tick", x, y, fit(label, room, "tick"), "middle")


def _sign(sheet: Sheet, k: int, x: float, y: float) -> None:
    sheet.add("path", f"point-{k}", d=SIGNS[k % len(SIGNS)], transform=f"translate({num(x)} {num(y)})")
