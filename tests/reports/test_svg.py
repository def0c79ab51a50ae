"""The SVG timeline: letter by letter, well-formed whatever a history says, and legible.

LEASEPROOF_UPDATE_GOLDEN=1 writes the golden files anew; then look at them.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from reports.svg import PROPERTIES, Panel, svg
from reports.svg.letters import fit, width
from reports.svg.room import Line, clusters, merged, spread
from reports.svg.theme import COLOURS, FACES, style
from tests.reports import samples
from tests.reports.samples import HISTORIES, History, ev, finished, header, ordered, outcome, started, worker
from tests.reports.test_robust import spoil

GOLDEN = Path(__file__).parent / "golden"
NAME = "{http://www.w3.org/2000/svg}"


def proved(history: History, *kinds: str) -> list[int]:
    """The events of some kinds, as the proof."""
    return [n for n, e in enumerate(history) if e["event"] in kinds and e.get("role", "job") == "job"]


def panel(title: str, history: History, *kinds: str) -> Panel:
    return Panel(history, title, proved(history, *kinds))


PICTURES: dict[str, Callable[[], list[Panel]]] = {
    "worker-death": lambda: [
        panel("sound: pass", samples.worker_death()),
        panel("a reclaim that finds nothing: fail", samples.worker_death_twin(), "enqueued", "wait"),
    ],
    "heartbeat": lambda: [panel("sound: pass", samples.heartbeat())],
    "sigterm-drain": lambda: [
        panel("sound: pass", samples.drain()),
        panel("no renewal once told to stop: fail", samples.drain_twin(), "started"),
    ],
    "claim-race": lambda: [panel("select, then update: fail", samples.claim_race(), "started")],
    "late-finish": lambda: [
        panel("sound: pass", samples.late_finish()),
        panel("finished by anyone: fail", samples.late_finish_twin(), "started", "outcome"),
    ],
}


def boxes(root: ElementTree.Element) -> Iterator[tuple[str, float, float, float, float]]:
    """Each text with the room that it takes at most: its words, left, top, right, bottom."""
    for text in root.iter(f"{NAME}text"):
        face = text.get("class", "").removeprefix("lp-").removesuffix("-text")
        words, size = text.text or "", FACES[face].size
        wide = float(text.get("textLength", width(words, face)))
        x, y = float(text.get("x", 0)), float(text.get("y", 0))
        left = x - {"middle": wide / 2, "end": wide}.get(text.get("text-anchor", ""), 0)
        yield words, left, y - size, left + wide, y + 0.25 * size


def check(picture: str) -> ElementTree.Element:
    """Well-formed, described, short numbers, texts clear of one another and all of it in the view."""
    root = ElementTree.fromstring(picture)
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    assert set(root.get("aria-labelledby", "").split()) <= set(ids)
    assert all((e.text or "").strip() for e in root if e.tag in (f"{NAME}title", f"{NAME}desc"))
    assert not re.search(r'[="\s,(-]\d*\.\d{3,}', re.sub(r"<(style|desc|title)>.*?</\1>", "", picture))
    assert not re.search(r"nan|inf\b", re.sub(r">[^<]*<", "><", picture))
    _, _, broad, high = map(float, root.get("viewBox", "").split())
    texts = list(boxes(root))
    for words, left, top, right, bottom in texts:
        assert left >= 0, words
        assert right <= broad, words
        assert top >= 0, words
        assert bottom <= high, words
    for (one, *a), (other, *b) in itertools.combinations(texts, 2):
        beside = a[2] <= b[0] + 0.2 or b[2] <= a[0] + 0.2
        assert beside or a[3] <= b[1] or b[3] <= a[1], (one, other)
    for rect in root.iter(f"{NAME}rect"):
        x, y, w, h = (float(rect.get(key, 0)) for key in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= broad, rect.attrib
        assert 0 <= y <= y + h <= high, rect.attrib
    for path in root.iter(f"{NAME}path"):
        if "transform" not in path.attrib:
            for x, y in re.findall(r"[ML]([\d.-]+) ([\d.-]+)", path.get("d", "")):
                assert 0 <= float(x) <= broad, path.attrib
                assert 0 <= float(y) <= high, path.attrib
    return root


@pytest.mark.parametrize("name", PICTURES)
def test_looks_as_it_did(name: str) -> None:
    picture = svg(PICTURES[name]())
    path = GOLDEN / f"{name}.svg"
    if os.environ.get("LEASEPROOF_UPDATE_GOLDEN"):
        path.write_text(picture, encoding="utf-8")
    assert picture == path.read_text(encoding="utf-8"), "changed on purpose? LEASEPROOF_UPDATE_GOLDEN=1"


def test_no_golden_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.svg")} == set(PICTURES)


@pytest.mark.parametrize("broad", [0, 390, 960, 1600])
@pytest.mark.parametrize("name", HISTORIES)
def test_every_width(name: str, broad: int) -> None:
    history = HISTORIES[name]()
    root = check(svg([Panel(history, name, range(0, len(history), 5))], width=broad))
    assert root.get("width") == str(max(broad, 320))


@pytest.mark.parametrize("name", HISTORIES)
def test_every_cut(name: str) -> None:
    history = HISTORIES[name]()
    for n in range(0, len(history) + 1, 1 + len(history) // 12):
        check(svg([Panel(history[:n], "cut short", (0, n - 1, n))]))


@pytest.mark.parametrize("name", HISTORIES)
def test_hostile_text(name: str) -> None:
    title = '<script>alert(1)</script> & "\u202e" ]]> \x1b[31m \ud800 \ufffe ' + "x" * 10_000
    history = spoil(HISTORIES[name]())
    for standalone in (True, False):
        picture = svg([Panel(history, title, range(0, len(history), 3))], standalone=standalone, id='"><b> &')
        root = check(picture if standalone else picture.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1))
        assert not list(root.iter(f"{NAME}script"))
        assert len(picture) < 100_000
        assert not {"\u202e", "\u2066", "\x1b", "\x07", "\ufffe"}.intersection(picture)


def test_names_of_any_script_keep_their_room() -> None:
    names = ["日本語の仕事", "שלום עולם", "\ufdfd" * 20, "\U0001f9e8" * 9, "Щука ШЩЖ" * 9, "e\u0301" * 40, "W" * 60]
    for name in names:
        events = [header("x", "sound-fault"), *worker(name, 1, 0.1), ev(0.2, "enqueued", job=name, role="job")]
        events += [started(0.4, name, name, 1), started(0.5, "other", name, 2)]
        events += [ev(0.9, "fault", step=1, kind=name, target=name, injected=True), ev(2.0, "end")]
        check(svg([Panel(ordered(events), name, (4, 5))]))


def test_odd_histories() -> None:
    no_job = [header("x", "sound-fault"), *worker("w", 1, 0.1), ev(3.0, "end")]
    odd: History = [
        {},
        {"event": "started", "t": 1},
        {"event": "died", "execution": 99, "t": "late"},
        {"event": "observation", "n": "x", "t": 2},
        {"event": "observation", "n": None, "t": float("nan")},
        {"event": "fault", "target": None},
        {"event": "wait", "t": 1e12},
    ]
    for history in ([], no_job, odd):
        check(svg([Panel(history, "", range(9))]))
    check(svg([]))


def test_a_crowd_of_workers_is_drawn_as_one() -> None:
    events = [header("crowd", "sound-fault"), ev(0.1, "enqueued", job="job-1", role="job")]
    for n in range(200):
        events += worker(f"w{n}", n, 0.01)
    events += [started(0.5, "job-1", "w150", 1), finished(1.5, "job-1", "w150", 1), ev(2.0, "end")]
    picture = svg([Panel(ordered(events), "a crowd")])
    words = [text.text for text in check(picture).iter(f"{NAME}text")]
    assert {"w150", "193 others"} <= set(words)


def crowded(count: int) -> History:
    """Jobs without end, with every kind of mark, in so many events."""
    events: History = [header("big", "sound-fault")]
    for n in range(8):
        events += worker(f"w{n}", n, 0.01)
    for n in range(count // 5):
        t, who, job = 0.3 + 0.002 * n, f"w{n % 8}", f"j{n}"
        events += [
            ev(0.1, "enqueued", job=job, role="job"),
            started(t, job, who, n),
            ev(t + 0.005, "renewed", worker=who, kept=[job], lost=[]),
            finished(t + 0.012, job, who, n),
            outcome(t + 0.013, job, who, 1),
        ]
        if n % 50 == 0:
            events += [
                ev(t, "reclaimed", jobs=[job]),
                ev(t, "fault", step=n, kind="kill", target=f"w{n % 7}", injected=True),
                ev(t, "fault", step=-n, kind="cut", target=who, injected=True),
                ev(t, "observation", n=n, title="again", rows=[]),
                ev(t, "held", job=job),
                ev(t + 0.01, "let-go", job=job, waiting=[]),
            ]
    return [*ordered(events), ev(1000.0, "end")]


def test_a_hundred_thousand_events_stay_small() -> None:
    history = crowded(100_000)
    picture = svg([Panel(history, "big", range(0, len(history), 7))])
    assert len(picture) < 300_000
    check(picture)


def test_panels_have_one_axis() -> None:
    short, long = HISTORIES["worker-death"](), HISTORIES["worker-death-twin"]()
    root = check(svg([Panel(short, "short"), Panel(long, "long")]))
    ticks: dict[str, set[str]] = {}
    for text in root.iter(f"{NAME}text"):
        if text.get("class") == "lp-tick-text" and re.fullmatch(r"[\d.]+ L", text.text or ""):
            ticks.setdefault(text.text or "", set()).add(text.get("x", ""))
    assert {"1 L", "2 L", "3 L"} <= set(ticks)
    assert all(len(places) == 1 for places in ticks.values())


def test_a_page_gives_the_colours() -> None:
    picture = svg(PICTURES["late-finish"](), standalone=False, id="cell-7")
    assert "@media" not in picture
    assert "<style" not in picture
    assert set(re.findall(r"var\((--lp-[a-z-]+)", picture + style(standalone=False))) == set(PROPERTIES)
    assert set(re.findall(r'id="([^"]+)"', picture)) == {"cell-7-title", "cell-7-desc", "cell-7-hatch"}
    assert 'width="100%"' in picture


def test_what_happened_is_told_and_so_is_each_bar() -> None:
    root = check(svg(PICTURES["late-finish"]()))
    said = root.findtext(f"{NAME}desc") or ""
    assert "At 1.71 L A finished job-1, attempt 1: refused, its lease was lost." in said
    assert "Two executions of one job ran at once: 1.20 L to 1.70 L." in said
    assert "Proof of the anomaly: A starts job-1 at 0.00 L" in said
    tips = [title.text or "" for title in root.iter(f"{NAME}title")]
    assert "job-1 in A, attempt 1: 0.00 L to 1.70 L (0.00 s to 1.70 s); finished, its end was refused" in tips


def test_the_legend_has_what_occurs_and_no_more() -> None:
    words = {text.text for text in check(svg([panel("", samples.heartbeat())])).iter(f"{NAME}text")}
    assert {"lease renewed", "fault", "its end was accepted"} <= words
    assert not {"kill", "paused", "two at once", "its end was refused", "decoy", "proof of the anomaly"} & words


def test_a_fault_that_is_left_out_is_no_more_than_dotted() -> None:
    events = [started(0.0, "job-1", "a", 1), ev(0.5, "fault", step=1, kind="kill", target="a", injected=False)]
    root = check(svg([Panel([*events, ev(1.0, "end")], "sham")]))
    classes = [e.get("class") for e in root.iter()]
    assert "lp-kill" not in classes
    assert "lp-sham" in classes
    assert "left out: kill a" in {text.text for text in root.iter(f"{NAME}text")}


def linear(colour: str) -> list[float]:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def light(rgb: list[float]) -> float:
    return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]


def over(tint: list[float], ground: list[float], share: float) -> list[float]:
    return [share * a + (1 - share) * b for a, b in zip(tint, ground, strict=True)]


@pytest.mark.parametrize("theme", [0, 1])
def test_text_stands_out(theme: int) -> None:
    of = {name: linear(colours[theme]) for name, colours in COLOURS.items()}
    grounds = {
        "bar": [of["job"]],
        "number": [of["ink"]],
        "pin": [of["mark"]],
        "inside": [over(of[tint], of["plot"], 0.16) for tint in ("fault", "kill")],
    }
    for name, face in FACES.items():
        for ground in grounds.get(name, [of["paper"], of["plot"]]):
            low, high = sorted((light(of[face.colour]), light(ground)))
            assert (high + 0.05) / (low + 0.05) >= 4.5, name


SEEN_BY = {
    "protan": [(0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)],
    "deutan": [(0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)],
    "tritan": [(1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)],
}
"""Colours as they are seen without one kind of cone (Machado, Oliveira and Fernandes, 2009)."""


def lab(rgb: list[float]) -> tuple[float, float, float]:
    r, g, b = (min(max(c, 0.0), 1.0) for c in rgb)
    x, y, z = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883,
    )
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize("eyes", SEEN_BY)
def test_colours_are_told_apart_by_the_colour_blind(eyes: str, theme: int) -> None:
    seen = {
        name: lab([sum(a * b for a, b in zip(row, linear(COLOURS[name][theme]), strict=True)) for row in SEEN_BY[eyes]])
        for name in ("job", "kill", "fault", "lease", "reclaim")
    }
    for one, other in itertools.combinations(seen, 2):
        assert math.dist(seen[one], seen[other]) >= 12, (one, other)


def test_a_cut_text_fits() -> None:
    for room in (0.0, 10.0, 40.0, 90.0):
        assert width(fit("a long name of a worker", room, "name"), "name") <= room
    assert fit("short", 200.0, "name") == "short"


def test_labels_make_way_in_their_order() -> None:
    assert spread([5.0, 50.0], [10.0, 10.0], 0.0, 100.0) == [5.0, 50.0]
    assert spread([50.0, 50.0], [10.0, 10.0], 0.0, 100.0) == [45.0, 55.0]
    assert spread([0.0, 1.0, 2.0], [10.0, 10.0, 10.0], 0.0, 100.0) == [5.0, 15.0, 25.0]
    assert spread([99.0, 100.0], [10.0, 10.0], 0.0, 100.0) == [85.0, 95.0]


def test_what_is_taken_is_taken() -> None:
    row = Line(0.0, 100.0, [(20.0, 40.0)])
    assert row.place(15.0, 10.0, 50.0) == 50.0
    assert row.place(15.0, 50.0, 95.0) is None
    assert row.gaps(0.0, 60.0) == [(0.0, 20.0), (40.0, 50.0)]


def test_what_is_close_is_one() -> None:
    assert clusters([1.0, 9.0, 2.0], float, 3.0) == [[1.0, 2.0], [9.0]]
    assert merged([(5.0, 6.0), (0.0, 1.0), (1.5, 3.0)], 1.0) == [(0.0, 3.0), (5.0, 6.0)]


def test_the_same_history_is_the_same_picture() -> None:
    once: Any = svg(PICTURES["claim-race"]())
    assert once == svg(PICTURES["claim-race"]())
