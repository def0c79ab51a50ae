"""All scenarios at a glance: what passed, what failed as it must, and what did not come out as expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from reports.findings import findings, repeated
from reports.signs import STATUS, Signs, clean, cut, fit, pad, paragraph, seconds, side_by_side, sign_of, signs

COLUMNS = ("sound fault", "sound sham", "twin fault", "twin sham")
GAP = 2


@dataclass
class Line:
    """One line of the matrix; a second twin has a line of its own."""

    name: str
    cells: list[Text]
    status: str
    figure: str
    twin: bool = False


def matrix(result: Mapping[str, Any], width: int, ascii_only: bool = False, where: str = "") -> RenderableType:
    """The result of a run as a table, with a word on all that needs one. `where` is the run's folder."""
    sign = signs(ascii_only)
    scenarios = list(result.get("scenarios", []))
    lines = [line for scenario in scenarios for line in _lines(scenario, sign)]
    parts = _table(lines, width, sign) or _stacked(lines, width, sign)
    parts += key(scenarios, width, sign)
    parts += findings(scenarios, width, sign, where, again=repeated(result))
    return Group(*parts, Text(), *_summary(result, scenarios, width, sign, where))


def _lines(scenario: Mapping[str, Any], sign: Signs) -> list[Line]:
    arms = {str(a.get("id")): a for a in scenario.get("arms", [])}
    twins = [str(t.get("name")) for t in scenario.get("twins", [])]
    sound = [_cell(arms.get(f"sound-{side}"), sign) for side in ("fault", "sham")]
    figures = [f"{clean(k, sign)} {clean(v, sign)}" for k, v in arms.get("sound-fault", {}).get("figures", [])]
    figure = figures[0] if figures else ""
    lines: list[Line] = []
    for twin in twins or [""]:
        cells = [_cell(arms.get(f"{twin}-{side}"), sign) for side in ("fault", "sham")]
        if not lines:
            name = clean(scenario.get("name", ""), sign)
            lines.append(Line(name, sound + cells, str(scenario.get("status", "")), figure))
            if len(twins) > 1:  # which twin this is must be said as soon as there are several
                lines[0].cells = [*sound, Text(), Text()]
        if len(twins) > 1:
            lines.append(Line(clean(twin, sign), [Text(), Text(), *cells], "", "", twin=True))
    return lines


def _cell(arm: Mapping[str, Any] | None, sign: Signs) -> Text:
    if arm is None:
        return Text(sign.waiting, "dim")
    verdict, expected = str(arm.get("verdict")), bool(arm.get("as_expected"))
    mark, style = sign_of(verdict, expected, sign)
    found = list(dict.fromkeys(clean(a.get("name", ""), sign) for a in arm.get("anomalies", [])))
    words = verdict
    if verdict == "fail" and found:
        words = found[0] + (f" +{len(found) - 1}" if len(found) > 1 else "")
    return Text.assemble((mark, style), " ", (words, style if not expected else ""))


def _table(lines: Sequence[Line], width: int, sign: Signs) -> list[Text]:
    """The table, if it fits; else nothing."""
    names = max([8, *(cell_len(line.name) + (2 if line.twin else 0) for line in lines)])
    cells = [max([5, *(line.cells[i].cell_len for line in lines)]) for i in range(4)]
    status = max([6, *(len(line.status) for line in lines)])
    fixed = 2 + names + sum(cells) + status + 5 * GAP
    if fixed > width:
        return []
    beside = max([0, *(cell_len(line.figure) + GAP for line in lines if line.figure)])
    if fixed + beside > width:
        beside = 0  # each figure goes on a line of its own
    total = fixed + beside
    offsets = [2 + names + GAP]
    for wide in cells:
        offsets.append(offsets[-1] + wide + GAP)
    top = Text(no_wrap=True, style="bold")
    for at, title in ((offsets[0], "sound"), (offsets[2], "twin")):
        top.append(" " * (at - top.cell_len) + title)
    head = Text("  scenario", no_wrap=True, style="dim")
    for at, title in zip(offsets, ("fault", "sham", "fault", "sham", "status"), strict=True):
        head.append(" " * (at - head.cell_len) + title)
    table = [top, head, Text("  " + sign.rule * (total - 2), "dim")]
    for line in lines:
        row = Text("  ", no_wrap=True)
        row.append("  " + pad(line.name, names - 2, sign) if line.twin else pad(line.name, names, sign))
        if line.twin:
            row.stylize("dim")
        for at, cell in zip(offsets, line.cells, strict=False):
            row.append(" " * (at - row.cell_len)).append_text(cell)
        if line.status:
            row.append(" " * (offsets[4] - row.cell_len))
            row.append(pad(line.status, status, sign), STATUS.get(line.status, ""))
        if beside and line.figure:
            row.append(" " * GAP + line.figure, "dim")
        row.rstrip()
        table.append(row)
        if line.figure and not beside:
            table.append(Text("    " + fit(line.figure, width - 4, sign), "dim", no_wrap=True))
    return table


def key(
    scenarios: Sequence[Mapping[str, Any]],
    width: int,
    sign: Signs,
    ok: str = "as expected (a twin with the fault must fail, in the way named)",
) -> list[Text]:
    """What the signs mean, of those that occur."""
    arms = [a for s in scenarios for a in s.get("arms", [])]
    seen = {sign_of(str(a.get("verdict")), bool(a.get("as_expected")), sign)[0] for a in arms}
    words = {
        sign.ok: ok,
        sign.bad: "not as expected",
        sign.unsure: "no verdict",
        sign.absent: "unsupported",
        sign.error: "error of the adapter or the bench",
    }
    if width < 72:
        words[sign.ok] = "as expected"
    entries = [Text(f"{mark} {meaning}", "dim") for mark, meaning in words.items() if mark in seen]
    return [Text(), *side_by_side(entries, width, sign)] if entries else []


def _stacked(lines: Sequence[Line], width: int, sign: Signs) -> list[Text]:
    """The same for a narrow terminal: a line an arm."""
    out: list[Text] = []
    for line in lines:
        if line.twin:
            out.append(Text("  " + fit(line.name, width - 2, sign), "dim"))
        else:
            name = pad(line.name, max(width - len(line.status) - 1, 8), sign)
            out += [Text()] if out else []
            head = Text.assemble((name, "bold"), " ", (line.status, STATUS.get(line.status, "")), no_wrap=True)
            out.append(head)
        for title, cell in zip(COLUMNS, line.cells, strict=True):
            if cell.plain:
                indent = "    " if line.twin else "  "
                row = Text(f"{indent}{title:11}  ", no_wrap=True).append_text(cell)
                out.append(cut(row, width, sign))
        if line.figure:
            out.append(Text("  " + fit(line.figure, width - 2, sign), "dim"))
    return out


def _summary(
    result: Mapping[str, Any], scenarios: Sequence[Mapping[str, Any]], width: int, sign: Signs, where: str
) -> list[Text]:
    """The run in a sentence."""
    counts: dict[str, int] = {}
    for scenario in scenarios:
        status = str(scenario.get("status", ""))
        counts[status] = counts.get(status, 0) + 1
    arms = [a for s in scenarios for a in s.get("arms", [])]
    tally = ", ".join(f"{counts[s]} {s}" for s in (*STATUS, *(c for c in counts if c not in STATUS)) if s in counts)
    parts = [f"{count(len(scenarios), 'scenario')}, {tally or 'none run'}", *effort(result, arms, sign, where)]
    lines = paragraph("; ".join(parts), width, indent=2)
    verdict = str(result.get("verdict", ""))
    lines[0].stylize(STATUS.get(verdict, ""), 2, min(2 + len(parts[0]), len(lines[0])))
    return lines


def effort(result: Mapping[str, Any], arms: Sequence[Mapping[str, Any]], sign: Signs, where: str) -> list[str]:
    """What a run took, on what it ran, and where its results are."""
    longest = max((float(a.get("seconds", 0.0)) for a in arms), default=0.0)
    environment = result.get("environment", {})
    parts = [
        f"{count(len(arms), 'arm')} in {_whole(result.get('wall_seconds'))} s (longest {seconds(longest)}), "
        f"{_whole(result.get('cpu_seconds'))} CPU seconds, "
        f"longest stall {seconds(float(result.get('longest_stall', 0.0)))}",
    ]
    if environment.get("postgres"):
        parts.append(f"PostgreSQL {clean(environment['postgres'], sign)}")
    if where:
        parts.append(f"results in {clean(where, sign)}")
    return parts


def count(n: int, word: str) -> str:
    """So many of what a word names."""
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def _whole(value: object) -> str:
    return f"{value:.0f}" if isinstance(value, int | float) else "?"
