"""Markdown as it is rendered: what is a table, a heading, a link; and that no text of a subject's becomes one."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from reports import markup
from reports.markdown import CUT, ROOM, markdown, summary
from reports.signs import UNICODE, clean
from tests.reports.hostile import TEXTS, results
from tests.reports.results import Result, arm, mixed, sound
from tests.reports.test_cross import broken as broken_cross
from tests.reports.test_cross import crossed
from tests.reports.test_subjects import compared
from tests.reports.validations import many
from tests.reports.validations import mixed as mixed_subjects

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])

OURS = {"html_block": {"<details>", "</details>"}, "html_inline": {"<br>"}}
"""The HTML that is written by us."""

Render = Callable[[Result], str]


def inline(tokens: list[Token]) -> list[Token]:
    return [child for token in tokens for child in token.children or []]


def rows(page: str) -> list[list[str]]:
    """The cells of all tables of a page, as they are read."""
    found: list[list[str]] = []
    for token in (tokens := READER.parse(page)):
        if token.type == "tr_open":
            found.append([])
        elif token.type == "inline" and tokens[tokens.index(token) - 1].type in ("td_open", "th_open"):
            found[-1].append("".join(child.content for child in token.children or []))
    return found


def headings(page: str) -> list[str]:
    tokens = READER.parse(page)
    return [
        "".join(child.content for child in after.children or [])
        for token, after in pairwise(tokens)
        if token.type == "heading_open"
    ]


def test_a_run_of_scenarios_is_a_table_with_a_line_a_twin() -> None:
    table = rows(markdown(mixed()))
    assert table[0] == ["scenario", "status", "sound: fault", "sham", "twin", "twin: fault", "sham"]
    assert table[1] == ["worker-death", "proven", "✓ pass", "✓ pass", "ReclaimFindsNothing", "✓ stranded", "✓ pass"]
    assert table[2] == ["", "", "", "", "ClaimByLease", "✓ claimed-while-running", "✓ pass"]
    assert table[3] == ["heartbeat", "unproven", "✓ pass", "✓ pass", "NoRenewal", "✗ pass", "✓ pass"]
    assert {len(row) for row in table[:8]} == {7}


def test_what_did_not_come_out_as_it_must_is_explained_and_what_did_is_not() -> None:
    page = markdown(mixed())
    assert headings(page) == [
        "leaseproof: 3 of 6 proven, 2 unproven, 1 inconclusive",
        "What did not come out as it must",
        "heartbeat: unproven",
        "sigterm-drain: inconclusive",
        "claim-race: unproven",
        "The matrix",
    ]
    assert "- `NoRenewal-fault`: it must show double-execution, and it passed\n" in page
    assert "  - a stall of 310 ms ate into the margin of 300 ms, three times\n" in page
    assert "  - history: `claim-race/sound-fault.jsonl`\n" in page
    assert "  - again: `leaseproof run claim-race --arms sound-fault`\n" in page
    assert page.count("  - `double-claim`: ") == 5
    assert "  - 2 more, which `leaseproof check` tells\n" in page
    assert headings(markdown(sound())) == ["leaseproof: 6 of 6 proven", "The matrix"]


def test_figures_are_folded() -> None:
    page = markdown(sound())
    inside = page.partition("<details>\n<summary>Figures</summary>\n\n")[2].partition("\n</details>")[0]
    assert ["worker-death", "recovered in 1.42 s"] in rows(inside)
    assert ["reclaim-latency", "back after 1.0 s lease + 0.24 s wait"] in rows(inside)


def test_a_part_says_what_it_lacks() -> None:
    result = sound() | {"verdict": "partial"}
    result["scenarios"][1] |= {"status": "partial", "why": "2 of 4 arms were run"}
    assert "### heartbeat: partial\n\n2 of 4 arms were run.\n" in markdown(result)


def test_a_cross_is_a_table_of_twins_by_scenarios() -> None:
    page = markdown(crossed())
    assert rows(page)[0] == ["twin", "by-name", "by-number", "by-state"]
    assert rows(page)[2][:2] == ["NoName", "✓ stolen"]
    assert "a twin must fail in its own scenario alone" in page
    assert "fails in by-number, too: " in page
    assert "What did not come out" not in page
    assert "again: `leaseproof cross " in markdown(broken_cross())


def test_subjects_are_the_page_in_a_file_and_shorter_in_a_summary() -> None:
    assert headings(markdown(mixed_subjects()))[0] == "Queues under faults"
    page = summary(mixed_subjects())
    assert headings(page)[0] == "leaseproof: 2 pass, 2 fail, 1 without verdict, 4 errors"
    assert rows(page)[1] == ["worker-death", "✗ stranded, lost", "✓", "!", "✗✗ double-execution, disturbed"]
    assert "settings" not in page
    assert ["sidekiq default", "7.3.1", "1", "1", "0", "1", "0"] in rows(page)


def test_what_is_known_is_folded_in_a_summary_and_what_is_new_stands_open() -> None:
    page = summary(compared())
    shown, folded = page.split("<summary>What fails, and is known</summary>")
    assert "### plain default, worker-death\n" in shown
    assert "### sidekiq default, worker-death\n" in folded
    assert rows(page)[1][1] == "✗ known: stranded, lost"
    assert "- new: plain default, worker-death: disturbed without the fault\n" in shown
    assert "leaseproof: 2 pass, 1 new fail, 1 known fail, 1 mended, " in headings(page)[0]


@pytest.mark.parametrize("result", [mixed(), crossed(), mixed_subjects(), many()], ids=["a", "cross", "b", "many"])
@pytest.mark.parametrize("room", [ROOM, 4000, 1000, 200, 10, 0, -1])
def test_a_summary_fits_and_says_where_it_is_cut(room: int, result: Result) -> None:
    page = summary(result, room)
    assert len(page.encode()) <= max(room, 0)
    assert page == summary(result) or page.endswith(CUT) or room < len(CUT) + 10
    assert page.count("<details>") == page.count("</details>")


@pytest.mark.parametrize("render", [markdown, summary])
@pytest.mark.parametrize("name", TEXTS)
def test_whatever_a_subject_says_it_formats_nothing(name: str, render: Render) -> None:
    for result in results(TEXTS[name]):
        page = render(result)
        tokens = READER.parse(page)
        assert {t.type for t in inline(tokens)} <= {"text", "text_special", "code_inline", *INLINE, "html_inline"}
        for token in [*tokens, *inline(tokens)]:
            if token.type in OURS:
                words = re.sub("<summary>(What fails, and is known|The subjects|Figures)</summary>", "", token.content)
                assert set(words.split()) <= OURS[token.type], token.content
            assert not str(token.attrs.get("href", "#")).startswith("javascript")
        assert not [token for token in tokens if token.type in ("fence", "code_block", "hr", "lheading_open")]
        assert "\x1b" not in page
        assert "\u202e" not in page
        widths = [len(row) for row in rows(page)]
        assert widths


INLINE = ("strong_open", "strong_close", "link_open", "link_close", "em_open", "em_close", "softbreak")
"""What there is besides text: the bold of what is not as it must be, links to sections, and the note on a cut."""


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_read_as_it_was_said(name: str) -> None:
    said = clean(TEXTS[name], UNICODE)
    for written in (f"x {markup.text(TEXTS[name])} x", f"x {markup.code(TEXTS[name])} x"):
        (paragraph,) = [token for token in READER.parse(written) if token.type == "inline"]
        assert " ".join(f"x {said} x".split()) == " ".join(
            "".join(child.content for child in paragraph.children or []).split()
        )
        assert {child.type for child in paragraph.children or []} <= {"text", "text_special", "code_inline"}


def test_a_text_in_a_cell_is_one_cell() -> None:
    said = r"a | b \| c \\| d \\"
    (_, row) = rows("\n".join(markup.table(["one", "two"], [[markup.text(said), "2"]])))
    assert row == [said, "2"]


def test_an_address_of_the_web_stays_one() -> None:
    written = markup.text("see (https://example.org/a_b_c#L2), or javascript:alert(1)")
    assert '(<a href="https://example.org/a_b_c#L2">https://example.org/a_b_c#L2</a>), or java' in READER.render(
        written
    )
    assert READER.render(markup.link("tuned", "https://example.org/a_(b)|c")) == (
        '<p><a href="https://example.org/a_%28b%29%7Cc">tuned</a></p>\n'
    )
    assert markup.link("tuned", "javascript:alert(1)") == "tuned"


def test_a_summary_is_whole_html_once_it_is_rendered() -> None:
    for result in (mixed(), mixed_subjects(), compared()):
        html = READER.render(summary(result)).replace("<br>", "<br/>")
        assert ElementTree.fromstring(f"<html>{html}</html>").findall(".//table")


def test_an_arm_that_errs_is_told() -> None:
    result = sound()
    result["scenarios"][1] |= {"status": "error", "why": "sound-fault: adapter: gone"}
    result["scenarios"][1]["arms"][0] = arm("heartbeat", "sound-fault", "error", reason="adapter: gone")
    page = markdown(result)
    assert "- `sound-fault`: error\n  - adapter: gone\n" in page
    assert "! error of the adapter or the bench" in page


def test_the_same_run_gives_the_same_page() -> None:
    assert markdown(mixed()) == markdown(mixed())
    assert summary(many()) == summary(many())
