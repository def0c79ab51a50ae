"""Measures of speed for a terminal, for a document and as pictures: letter by letter, and legible.

LEASEPROOF_UPDATE_GOLDEN=1 writes the golden files anew; then look at them.
"""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt

from reports.speed import command, figure, made, numeric, speed_report, tally
from reports.speed_page import block, blocks, filled
from reports.svg.columns import columns
from reports.svg.scale import scale
from tests.reports.drawing import drawn
from tests.reports.test_svg import NAME, check
from tests.speed.samples import record

GOLDEN = Path(__file__).parent / "golden" / "speed"
MISSING = "graphile-worker: node is not installed: apt-get install nodejs"


def rendered() -> dict[str, str]:
    """Everything that a record becomes."""
    whole = record(missing=[MISSING])
    return {
        **{f"{chart['name']}.svg": columns(chart) for chart in whole["charts"]},
        "block.md": block(whole, "performance"),
        "report-100.txt": drawn(speed_report(whole, 100), 100),
        "report-50-ascii.txt": drawn(speed_report(whole, 50, True), 50),
    }


@pytest.mark.parametrize("name", rendered())
def test_looks_as_it_did(name: str) -> None:
    text, path = rendered()[name], GOLDEN / name
    if os.environ.get("LEASEPROOF_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "changed on purpose? LEASEPROOF_UPDATE_GOLDEN=1"


def test_no_golden_is_left_over() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == set(rendered())


# Figures.


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (0.0, "0"),
        (0.01234, "0.0123"),
        (0.9, "0.900"),
        (0.9996, "1.00"),
        (1.005, "1.00"),
        (-2.5, "-2.50"),
        (99.96, "100"),
        (1234.5, "1,230"),
        (32_567.0, "32,600"),
        (99_997, "99,997"),
        (float("inf"), "inf"),
    ],
)
def test_a_figure_has_three_digits_and_a_count_all_of_them(value: float, read: str) -> None:
    assert figure(value) == read


@pytest.mark.parametrize(
    ("cells", "right"),
    [
        ([1, 2.5, None, ""], True),
        (["1.20 (1.10 to 1.35)", "12 ms", "<0.1 %", "0.8-0.9"], True),
        ([1, "one"], False),
        (["1 worker", "2 workers"], False),
        (["batch 1"], False),
        (["more"], False),
        ([None], False),
        ([], False),
    ],
)
def test_figures_stand_to_the_right_and_words_to_the_left(cells: list[Any], right: bool) -> None:
    assert numeric({"columns": ["x"], "rows": [[cell] for cell in cells]}) == [right]


def test_what_measures_it_again_says_only_what_is_unusual() -> None:
    assert command(record(rounds=5)) == "leaseproof bench tiny"
    assert command(record(rounds=2, scale=0.05)) == "leaseproof bench tiny --rounds 2 --scale 0.05"
    assert made(record(rounds=1, scale=0.05)) == (
        "2026-12-01, leaseproof 0.1.0, 1 round, the amounts of work times 0.05"
    )


def test_a_goal_that_could_not_be_measured_is_not_met() -> None:
    goal = {"text": "p99", "kind": "at most", "wanted": 1.2, "figure": None, "why": "", "met": None}
    unknown = record(goals=[goal])
    assert tally(unknown) == "0 of 1 goal met"
    assert "p99, at most 1.2 is wanted; not measured" in drawn(speed_report(unknown, 100), 100)
    assert "| p99 | at most 1.2 | - | not measured |" in block(unknown, "x")
    assert tally(record(goals=[])) == ""


@pytest.mark.parametrize("width", [30, 50, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    long = record(settings={"a long one " * 9: "which goes on and on " * 20}, missing=[MISSING])
    for ascii_only in (False, True):
        lines = drawn(speed_report(long, width, ascii_only), width).splitlines()
        assert max(map(len, lines)) <= width
    assert all(line.isascii() for line in lines)


# The document.

PAGE = """\
# How fast

Words of ours.

<!-- speed: tiny -->
old
<!-- /speed -->

<!-- speed: other -->
stays
<!-- /speed -->
More words.
"""


def test_a_block_is_filled_and_all_else_stays() -> None:
    after = filled(PAGE, {"tiny": "new\n"})
    assert after == PAGE.replace("old\n", "\nnew\n\n")
    assert filled(after, {"tiny": "new\n"}) == after
    assert filled(PAGE, {}) == PAGE
    assert blocks(PAGE) == ["tiny", "other"]


def test_a_block_may_be_empty() -> None:
    assert filled("<!-- speed: a -->\n<!-- /speed -->", {"a": "new\n"}) == "<!-- speed: a -->\n\nnew\n\n<!-- /speed -->"


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("<!-- speed: a -->\n", "the block of a has no end"),
        ("<!-- speed: a -->\n<!-- speed: b -->\n<!-- /speed -->", "line 2: the block of a has no end"),
        ("\n\n<!-- /speed -->", "line 3: <!-- /speed --> ends no block"),
    ],
)
def test_a_block_that_is_not_whole_is_refused(page: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        blocks(page)


def test_a_block_is_markdown_and_nothing_in_it_ends_a_cell() -> None:
    rows = [["a | b", 1.0], ["<b>`c`</b> *d*", None]]
    odd = record(tables=[{"title": "T", "columns": ["who", "jobs/s"], "rows": rows, "note": ""}])
    page = MarkdownIt("commonmark").enable("table").render(filled(PAGE, {"tiny": block(odd, "performance")}))
    assert '<td style="text-align:right">1.00</td>' in page
    assert "<td>a | b</td>" in page
    assert "<td>&lt;b&gt;`c`&lt;/b&gt; *d*</td>" in page
    assert '<img src="performance/tiny-bars.svg" alt="Jobs a second" />' in page


# The pictures.


def legible(picture: str) -> ElementTree.Element:
    """As all pictures are. Words may have figures with more digits than a place has: their points are not looked at."""
    return check(re.sub(r">[^<]*<", lambda words: words[0].replace(".", ","), picture))


def chart(kind: str, names: int, labels: list[str], *, log: bool, middle: float = 1000.0) -> dict[str, Any]:
    series: dict[str, Any] = {}
    for n in range(names):
        values = [middle * (1 + n * k) for k in range(len(labels))]
        points = [
            {"label": label, "value": {"middle": value, "low": value * 0.9, "high": value * 1.3}}
            for label, value in zip(labels, values, strict=True)
        ]
        series[f"a contender with a name of some length, the {n}th"] = points
    return {"name": "x", "title": "T" * 200, "unit": "jobs/s", "kind": kind, "series": series, "log": log}


@pytest.mark.parametrize("kind", ["bars", "lines"])
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("names", [0, 1, 12])
@pytest.mark.parametrize("count", [0, 1, 20])
def test_nothing_overlaps_and_nothing_is_outside(kind: str, log: bool, names: int, count: int) -> None:
    legible(columns(chart(kind, names, [f"10^{n} rows that are done" for n in range(count)], log=log)))


@pytest.mark.parametrize("kind", ["bars", "lines"])
@pytest.mark.parametrize("middle", [0.0, -4.0, 1e-7, 0.02, 7.0, 1e9])
def test_figures_of_any_size(kind: str, middle: float) -> None:
    for log in (False, True):
        legible(columns(chart(kind, 2, ["a", "b"], log=log, middle=middle)))


@pytest.mark.parametrize("kind", ["bars", "lines"])
def test_hostile_text_and_figures_that_are_none(kind: str) -> None:
    words = '<script>alert(1)</script> & "\u202e" ]]> \x1b[31m' + "x" * 1000
    odd = {"middle": float("nan"), "low": 1.0, "high": float("inf")}
    points = [{"label": words, "value": {"middle": 1.0, "low": 1.0, "high": 1.0}}, {"label": "b", "value": odd}]
    entry = {"name": "x", "title": words, "unit": words, "kind": kind, "series": {words: points, "b": []}, "log": True}
    picture = columns(entry)
    assert not list(check(picture).iter(f"{NAME}script"))
    assert not {"\u202e", "\x1b"}.intersection(picture)


def test_each_figure_is_told_to_whoever_does_not_see_it() -> None:
    root = check(columns(record()["charts"][0]))
    said = root.findtext(f"{NAME}desc") or ""
    assert "one: 33,000 jobs/s (32,000 to 34,600); the other: 16,400 jobs/s (16,000 to 17,100)" in said
    assert root.findtext(f"{NAME}title") == "Jobs a second"
    lines = check(columns(record()["charts"][1]))
    assert "the other, batch 10: 16,400 jobs/s (16,000 to 17,100)" in {t.text for t in lines.iter(f"{NAME}title")}


def test_lines_are_told_apart_without_colours() -> None:
    picture = columns(chart("lines", 12, ["a", "b"], log=False))
    rules = re.findall(r"lp-curve-(\d+){stroke:#\w+;([^}]*)}", _themes(picture)[0])
    signs = dict(re.findall(r'class="lp-point-(\d+)" d="([^"]*)"', picture))
    looks = [(look, signs[k]) for k, look in rules]
    assert len(set(looks)) == len(looks) == 12


def test_a_theme_for_a_dark_page_is_there() -> None:
    light, dark = (
        set(re.findall(r"lp-curve-0{stroke:(#\w+)", part)) for part in _themes(columns(record()["charts"][1]))
    )
    assert len(light) == len(dark) == 1
    assert light != dark


def _themes(picture: str) -> list[str]:
    return picture.rsplit("@media (prefers-color-scheme:dark)", 1)


# The axis.


def test_an_axis_begins_at_nothing_and_its_ticks_are_round() -> None:
    axis = scale([12.0, 47.0], 0.0, 500.0, 90, log=False)
    assert axis.ticks() == [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
    assert (axis.at(0.0), axis.at(25.0), axis.at(50.0), axis.base) == (0.0, 250.0, 500.0, 0.0)


def test_a_logarithmic_axis_has_decades() -> None:
    axis = scale([0.0, 3.0, 2000.0], 0.0, 400.0, 90, log=True)
    assert axis.ticks() == pytest.approx([1.0, 10.0, 100.0, 1000.0, 10_000.0])
    assert axis.at(100.0) == pytest.approx(200.0)
    assert (axis.at(0.0), axis.base) == (0.0, 0.0)


def test_a_short_logarithmic_axis_has_ticks_between_its_decades() -> None:
    assert scale([20.0, 70.0], 0.0, 600.0, 90, log=True).ticks() == pytest.approx([10.0, 20.0, 50.0, 100.0])


def test_an_axis_below_nothing_has_it_on_it() -> None:
    axis = scale([-30.0, 10.0], 0.0, 400.0, 90, log=False)
    assert axis.ticks() == [-30.0, -20.0, -10.0, 0.0, 10.0]
    assert axis.base == pytest.approx(300.0)


def test_no_figure_leaves_the_axis_and_their_order_holds() -> None:
    for log, values in itertools.product((False, True), ([], [5.0], [0.0], [1e-9, 1e9])):
        axis = scale(values, 300.0, 20.0, 36, log)
        assert all(20.0 <= axis.at(value) <= 300.0 for value in (*values, *axis.ticks(), -1e12, 1e12))
        places = [axis.at(tick) for tick in axis.ticks()]
        assert places == sorted(places, reverse=True)
