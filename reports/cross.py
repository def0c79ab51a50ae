"""Twins in one another's scenarios: who fails where, and what came out otherwise than it must."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from reports.findings import NEVER_FINE, findings
from reports.matrix import count, effort, key
from reports.signs import STATUS, Signs, clean, cut, pad, paragraph, side_by_side, sign_of, signs

GAP = 2
SOUND = "sound"

Scenarios = Sequence[Mapping[str, Any]]


def cross_table(result: Mapping[str, Any], width: int, ascii_only: bool = False, where: str = "") -> RenderableType:
    """The result of a cross as a table: a line a twin, a column a scenario, by the number that it has below."""
    sign = signs(ascii_only)
    scenarios = list(result.get("scenarios", []))
    odd = [s for s in scenarios if any(not a.get("as_expected") or a.get("verdict") in NEVER_FINE for a in _arms(s))]
    parts = _table(scenarios, width, sign) or _stacked(scenarios, width, sign)
    parts += [Text(), *side_by_side([_numbered(scenario, sign) for scenario in scenarios], width, sign)]
    parts += _declared(scenarios, width, sign)
    parts += key(scenarios, width, sign, "as expected (a twin must fail in its own scenario, and pass in the others)")
    parts += findings(odd, width, sign, where, again=lambda scenario, arm: again(scenarios, scenario, arm))
    return Group(*parts, Text(), *_summary(result, scenarios, width, sign, where))


def crossed(result: Mapping[str, Any]) -> bool:
    """Whether twins were tried in scenarios that are not their own."""
    return any(
        arm.get("twin") and arm["twin"] not in [twin.get("name") for twin in scenario.get("twins", [])]
        for scenario in result.get("scenarios", [])
        for arm in _arms(scenario)
    )


def _arms(scenario: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(scenario.get("arms", []))


def lines_of(scenarios: Scenarios) -> list[str]:
    """The sound subject and all twins, in the order of their own scenarios."""
    ran = [str(arm.get("twin") or SOUND) for scenario in scenarios for arm in _arms(scenario)]
    names = [SOUND, *(str(twin.get("name")) for scenario in scenarios for twin in scenario.get("twins", []))]
    return [name for name in dict.fromkeys(names) if name in ran]


def arm_of(scenario: Mapping[str, Any], line: str) -> Mapping[str, Any] | None:
    return next((arm for arm in _arms(scenario) if (arm.get("twin") or SOUND) == line), None)


def _cell(scenario: Mapping[str, Any], line: str, sign: Signs) -> Text:
    arm = arm_of(scenario, line)
    if arm is None:
        return Text(sign.waiting, "dim")
    verdict, expected = str(arm.get("verdict")), bool(arm.get("as_expected"))
    mark, style = sign_of(verdict, expected, sign)
    words = "fails" if verdict == "fail" else verdict
    return Text.assemble((mark, style), " ", (words, style if not expected else "bold" if verdict == "fail" else "dim"))


def _shown(scenarios: Scenarios, line: str, sign: Signs) -> str:
    """What a twin showed, wherever it did."""
    arms = [arm for scenario in scenarios if (arm := arm_of(scenario, line))]
    found = [clean(anomaly.get("name", ""), sign) for arm in arms for anomaly in arm.get("anomalies", [])]
    return ", ".join(dict.fromkeys(found))


def _number(scenario: Mapping[str, Any]) -> str:
    return str(scenario.get("row") or "?")


def _numbered(scenario: Mapping[str, Any], sign: Signs) -> Text:
    return Text.assemble((_number(scenario), "bold"), " ", (clean(scenario.get("name", ""), sign), "dim"))


def _table(scenarios: Scenarios, width: int, sign: Signs) -> list[Text]:
    """The table, if it fits; else nothing."""
    lines = lines_of(scenarios)
    names = max([8, *(cell_len(clean(line, sign)) for line in lines)])
    cells = {line: [_cell(scenario, line, sign) for scenario in scenarios] for line in lines}
    columns = [max([4, *(cells[line][i].cell_len for line in lines)]) for i in range(len(scenarios))]
    shown = [_shown(scenarios, line, sign) for line in lines]
    total = names + sum(columns) + GAP * (len(columns) + 1) + max([5, *map(cell_len, shown)])
    if 2 + total > width:
        return []
    head = Text(f"  {pad('twin', names, sign)}", "dim", no_wrap=True)
    for scenario, wide in zip(scenarios, columns, strict=True):
        head.append(" " * GAP + pad(_number(scenario), wide, sign))
    table = [head.append(" " * GAP + "shows"), Text("  " + sign.rule * total, "dim")]
    for line, anomalies in zip(lines, shown, strict=True):
        row = Text(f"  {pad(clean(line, sign), names, sign)}", no_wrap=True)
        for cell, wide in zip(cells[line], columns, strict=True):
            row.append(" " * GAP).append_text(cell).append(" " * (wide - cell.cell_len))
        row.append(" " * GAP + anomalies).rstrip()
        table.append(row)
    return table


def _stacked(scenarios: Scenarios, width: int, sign: Signs) -> list[Text]:
    """The same for a narrow terminal: a few lines a twin."""
    out: list[Text] = []
    for line in lines_of(scenarios):
        cells = [Text.assemble((f"{_number(scenario)} ", "dim"), _cell(scenario, line, sign)) for scenario in scenarios]
        out += [Text()] if out else []
        out.append(cut(Text(clean(line, sign), "bold", no_wrap=True), width, sign))
        out += side_by_side(cells, width, sign)
        if anomalies := _shown(scenarios, line, sign):
            out += paragraph(f"shows {anomalies}", width, indent=2)
    return out


def declared(scenarios: Scenarios) -> list[str]:
    """Why a twin fails in a scenario that is not its own, in a sentence each."""
    there = {scenario.get("name") for scenario in scenarios}
    return [
        f"{twin.get('name', '')} fails in {name}, too: {reason}"
        for scenario in scenarios
        for twin in scenario.get("twins", [])
        for name, reason in dict(twin.get("fails_in", {})).items()
        if name in there
    ]


def _declared(scenarios: Scenarios, width: int, sign: Signs) -> list[Text]:
    said = [line for words in declared(scenarios) for line in paragraph(clean(words, sign), width, indent=2)]
    return [Text(), *said] if said else []


def again(scenarios: Scenarios, scenario: Mapping[str, Any], arm: Mapping[str, Any]) -> str:
    """The command that tries a twin again where it came out otherwise, and in its own scenario."""
    name = str(scenario.get("name"))
    own = [s for s in scenarios if arm.get("twin") in [twin.get("name") for twin in s.get("twins", [])]]
    names = dict.fromkeys([name, *(str(s.get("name")) for s in own)])
    return shlex.join(["leaseproof", "cross", *names, "--arms", str(arm.get("id"))])


def _summary(result: Mapping[str, Any], scenarios: Scenarios, width: int, sign: Signs, where: str) -> list[Text]:
    """The cross in a sentence."""
    arms = [arm for scenario in scenarios for arm in _arms(scenario)]
    tried = [arm for arm in arms if arm.get("twin")]
    as_due = sum(bool(arm.get("as_expected")) for arm in arms)
    fails = sum(arm.get("verdict") == "fail" for arm in tried)
    twins = count(len({arm.get("twin") for arm in tried}), "twin")
    tally = f"{twins} in {count(len(scenarios), 'scenario')}: {fails} of {len(tried)} fail, "
    tally += (
        "all as they must"
        if as_due == len(arms)
        else f"and {count(len(arms) - as_due, 'arm')} came out otherwise than due"
    )
    lines = paragraph("; ".join([tally, *effort(result, arms, sign, where)]), width, indent=2)
    style = STATUS["proven" if as_due == len(arms) else str(result.get("verdict", ""))]
    lines[0].stylize(style, 2, min(2 + len(tally), len(lines[0])))
    return lines
