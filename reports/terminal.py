"""A scenario as a report for the terminal: the claim, the picture, the twins, the verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from reports.findings import findings
from reports.matrix import matrix
from reports.signs import STATUS, Signs, clean, cut, fit, folded, listed, pad, paragraph, seconds, sign_of, signs
from reports.timeline import timeline

__all__ = ["diff_lines", "matrix", "scenario_report"]

MOST_DIFF = 14

Fields = Mapping[str, Any]
Histories = Mapping[str, Sequence[Mapping[str, Any]]]


def scenario_report(
    scenario: Fields, histories: Histories, width: int, ascii_only: bool = False, where: str = ""
) -> RenderableType:
    """One scenario, whole. `histories` is by arm id; an arm whose history is missing is reported by its verdict."""
    sign = signs(ascii_only)
    arms = {str(a.get("id")): a for a in scenario.get("arms", [])}
    parts: list[RenderableType] = [*_head(scenario, width, sign), Text()]
    sound = arms.get("sound-fault")
    if sound:
        parts += _arm_head("the sound queue, with the fault", sound, width, sign)
    told = {str(k): str(v) for k, v in scenario.get("explanations", {}).items()}
    if history := histories.get("sound-fault"):
        parts += [timeline(history, width, ascii_only=ascii_only, explanations=told), Text()]
    if sound:
        parts += _anomalies(sound, width, sign)
    twins = [
        twin for twin in scenario.get("twins", []) if any(a.get("twin") == twin.get("name") for a in arms.values())
    ]
    for twin in twins:
        parts += _twin(twin, arms, histories, told, width, sign)
    parts += [_rule("verdicts", "", width, sign), Text(), *_verdicts(scenario, arms, width, sign), Text()]
    parts += _status(scenario, width, sign)
    parts += findings([scenario], width, sign, where, heads=False)
    return Group(*parts)


def _rule(title: str, right: str, width: int, sign: Signs, *, strong: bool = False, style: str = "") -> Text:
    """A heading on a line of its own, drawn to the full width, with a word at its end in a style."""
    line = sign.strong if strong else sign.rule
    right = fit(right, width - 16, sign)
    end = cell_len(right) + 4 if right else 0
    title = fit(title, width - end - 6, sign)
    fill = line * max(width - 4 - cell_len(title) - end, 0)
    text = Text.assemble((f"{line * 2} ", "dim"), (title, "bold"), (f" {fill}", "dim"), no_wrap=True)
    return text.append(" ").append(right, style).append(f" {line * 2}", "dim") if right else text


def _head(scenario: Fields, width: int, sign: Signs) -> list[Text]:
    status = str(scenario.get("status", ""))
    name = clean(scenario.get("name", ""), sign)
    lines = [_rule(name, clean(status, sign), width, sign, strong=True, style=STATUS.get(status, ""))]
    lines += [Text(), *paragraph(clean(scenario.get("claim", ""), sign), width, indent=2, style="bold"), Text()]
    for name in ("fault", "sham"):
        if text := clean(scenario.get(name, ""), sign):
            lines += paragraph(text, width, indent=9, first=f"  {name}")
            lines[-len(folded(text, width - 9))].stylize("dim", 2, 2 + len(name))
    return lines


def _arm_head(title: str, arm: Fields, width: int, sign: Signs) -> list[Text]:
    """A rule with the arm's outcome at its end, and its figures under it."""
    mark, style = sign_of(str(arm.get("verdict")), bool(arm.get("as_expected")), sign)
    must = arm.get("code") == "twin" and arm.get("verdict") == "fail" and arm.get("as_expected")
    outcome = f"{mark} {outcome_of(arm, sign)}{', as it must' if must and width >= 72 else ''}"
    line = _rule(title, outcome, width, sign, style=style)
    facts = [f"{clean(k, sign)} {clean(v, sign)}" for k, v in arm.get("figures", [])]
    facts.append(f"the arm took {seconds(float(arm.get('seconds', 0.0)))}")
    if int(arm.get("tries", 1)) > 1:
        facts.append(f"tries: {arm['tries']}, the last with a lease of {arm.get('lease', 0):g} s")
    return [line, *paragraph(f" {sign.dot} ".join(facts), width, indent=2, style="dim"), Text()]


def outcome_of(arm: Fields, sign: Signs) -> str:
    """An arm's outcome in a word: a failure by the name of what went wrong."""
    verdict = str(arm.get("verdict"))
    found = [clean(a.get("name", ""), sign) for a in arm.get("anomalies", [])]
    return listed(dict.fromkeys(found)) if verdict == "fail" and found else verdict


def _anomalies(arm: Fields, width: int, sign: Signs) -> list[Text]:
    lines: list[Text] = []
    for anomaly in arm.get("anomalies", []):
        name = clean(anomaly.get("name", ""), sign)
        text = f"{name}: {clean(anomaly.get('text', ''), sign)}"
        block = paragraph(text, width, indent=4, first=f"  {sign.bad}", style="")
        style = "bold red" if not arm.get("as_expected") else "bold yellow"
        block[0].stylize(style, 2, 4 + len(name))
        lines += block
    if arm.get("reason"):
        lines += paragraph(clean(arm["reason"], sign), width, indent=4, first=f"  {sign.unsure}", style="yellow")
    return [*lines, Text()] if lines else []


def _twin(
    twin: Fields,
    arms: Mapping[str, Fields],
    histories: Histories,
    explanations: Mapping[str, str],
    width: int,
    sign: Signs,
) -> list[Any]:
    """A twin: the one member in which it differs, and what that does."""
    name = str(twin.get("name"))
    arm = arms.get(f"{name}-fault")
    title = f"the twin {clean(name, sign)}, with the fault"
    parts: list[Any] = []
    if arm:
        parts += _arm_head(title, arm, width, sign)
    else:
        parts += [_rule(title, "", width, sign), Text()]
    parts += paragraph(clean(twin.get("summary", ""), sign), width, indent=2)
    member = f"It differs in one member: {clean(twin.get('member', ''), sign)}"
    parts += paragraph(member, width, indent=2)
    parts += [*_diff(str(twin.get("diff", "")), width, sign), Text()]
    if history := histories.get(f"{name}-fault"):
        parts += [timeline(history, width, ascii_only=sign.ascii_only, compact=True, explanations=explanations), Text()]
    if arm:
        parts += _anomalies(arm, width, sign)
    return parts


def diff_lines(diff: str) -> list[str]:
    """The lines of a diff, without the headers that name files; spaces at the left tell Python's story and are kept."""
    return [line.expandtabs(4) for line in diff.splitlines() if not line.startswith(("---", "+++", "@@"))]


def _diff(diff: str, width: int, sign: Signs) -> list[Text]:
    lines = diff_lines(diff)
    shown: list[Text] = []
    for line in lines[:MOST_DIFF]:
        style = {"-": "red", "+": "green"}.get(line[:1], "dim")
        shown.append(Text("    " + fit(clean(line, sign), width - 4, sign), style, no_wrap=True))
    if len(lines) > MOST_DIFF:
        shown.append(Text(f"    {sign.cut} {len(lines) - MOST_DIFF} more lines", "dim"))
    return shown


def _verdicts(scenario: Fields, arms: Mapping[str, Fields], width: int, sign: Signs) -> list[Text]:
    """The four arms, or more with more twins: with the fault, and without."""
    names = [("sound", "sound"), *((str(t.get("name")), clean(t.get("name"), sign)) for t in scenario.get("twins", []))]
    cells = {
        (key, side): _cell(arms.get(f"{key}-{side}"), key != "sound", sign)
        for key, _ in names
        for side in ("fault", "sham")
    }
    name_width = min(max(cell_len(n) for _, n in names), max(width // 3, 10))
    fault_width = max(cell_len("with the fault"), *(cells[key, "fault"].cell_len for key, _ in names))
    sham_width = max(cell_len("sham"), *(cells[key, "sham"].cell_len for key, _ in names))
    lines: list[Text] = []
    if 2 + name_width + 2 + fault_width + 2 + sham_width <= width:
        head = f"  {'':{name_width}}  {'with the fault':{fault_width}}  sham"
        lines.append(Text(head, "dim", no_wrap=True))
        for key, name in names:
            line = Text(f"  {pad(name, name_width, sign)}  ", no_wrap=True).append_text(cells[key, "fault"])
            line.append(" " * (fault_width - cells[key, "fault"].cell_len + 2)).append_text(cells[key, "sham"])
            lines.append(line)
        return lines
    for key, name in names:
        lines.append(Text("  " + fit(name, width - 2, sign), "bold"))
        for side in ("fault", "sham"):
            line = Text(f"    {side:5}  ", no_wrap=True).append_text(cells[key, side])
            lines.append(cut(line, width, sign))
    return lines


def _cell(arm: Fields | None, twin: bool, sign: Signs) -> Text:
    if arm is None:
        return Text(sign.waiting + " not run", "dim")
    verdict, expected = str(arm.get("verdict")), bool(arm.get("as_expected"))
    mark, style = sign_of(verdict, expected, sign)
    words = outcome_of(arm, sign)
    if verdict == "fail":
        words = f"fails: {words}" + (", as it must" if expected and twin else "")
    elif not expected and verdict == "pass":
        words = f"pass, where {clean(arm.get('expected', ''), sign)} was due"
    return Text.assemble((mark, style), " ", (words, style if not expected else ""))


def _status(scenario: Fields, width: int, sign: Signs) -> list[Text]:
    status = str(scenario.get("status", ""))
    why = clean(scenario.get("why", ""), sign)
    twins = len(scenario.get("twins", []))
    if status == "proven" and not why and twins:
        which = "the twin fails" if twins == 1 else "both twins fail" if twins == 2 else f"all {twins} twins fail"
        why = f"the sound queue holds, with the fault and without it; {which} with the fault, as named, and only then"
    lines = paragraph(f"{status}: {why}" if why else status, width, indent=2)
    lines[0].stylize(STATUS.get(status, "bold"), 2, 2 + len(status))
    return lines
