"""One arm as a picture: the chart, its legend, the numbered observations and what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from reports.chart import MOST_LANES, STYLES, chart
from reports.observations import brief, notes, observations
from reports.signs import Signs, number, side_by_side, signs
from reports.story import Story, read

LEGEND = (
    ("zero", "", "the job first starts"),
    ("job", "job", "the job, its attempt in the bar"),
    ("jobs", "job", "a job's number, then its attempt if not 1"),
    ("decoy", "light", "decoy"),
    ("load", "light", "load"),
    ("busy", "busy", "how many of them are busy"),
    ("starting", "starting", "starting"),
    ("idle", "idle", "alive"),
    ("kill", "kill", "kill"),
    ("paused", "paused", "paused"),
    ("term", "term", "SIGTERM"),
    ("other", "other", "fault"),
    ("died", "died", "died"),
    ("raised", "raised", "raised"),
    ("renewed", "renewed", "lease renewed"),
    ("ran_out", "ran_out", "lease ran out"),
    ("tail", "tail", "still taken"),
    ("lock", "lock", "held by the bench"),
    ("overlap", "overlap", "two at once"),
    ("number", "", "observed"),
    ("reclaim", "reclaim", "reclaim"),
)


def legend(used: set[str], story: Story, width: int, sign: Signs) -> list[Text]:
    """What the signs mean: those that occur, and no others."""
    entries: list[Text] = []
    if story.origin and story.job is not None:
        used = used | {"zero"}
    for key, glyph, words in LEGEND:
        if key not in used:
            continue
        mark = getattr(sign, glyph) if glyph else "0" if key == "zero" else number(1, sign)
        style = STYLES.get(glyph, STYLES.get(key, "")) if key != "renewed" else STYLES["lease"]
        entries.append(Text.assemble((mark, style), (f" {words}", "dim")))
    return side_by_side(entries, width, sign)


def timeline(
    history: Sequence[Mapping[str, Any]],
    width: int,
    *,
    ascii_only: bool = False,
    compact: bool = False,
    now: float | None = None,
    explanations: Mapping[str, str] | None = None,
    most_lanes: int = MOST_LANES,
) -> RenderableType:
    """The history of one arm, whole or as far as it has come.

    `explanations` gives each rival explanation its sentence; `now` is the arm's own clock while it runs; `compact`
    leaves the legend out and gives each observation a line.
    """
    sign = signs(ascii_only)
    story = read(history, now)
    drawn = chart(story, width, sign, most_lanes)
    lines = list(drawn.lines)
    if not compact:
        if key := legend(drawn.used, story, width, sign):
            lines += [Text(), *key]
        if seen := observations(story, width, sign, explanations or {}):
            lines += [Text(), *seen]
    elif seen := brief(story, width, sign, explanations or {}):
        lines += [Text(), *seen]
    if said := notes(story, width, sign):
        lines += [Text(), *said]
    return Group(*lines)
