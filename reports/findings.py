"""What did not come out as expected: each with its reason, its history and the command that repeats it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.text import Text

from reports.signs import STATUS, Signs, clean, fit, paragraph, sign_of

MOST_ANOMALIES = 5

Again = Callable[[Mapping[str, Any], Mapping[str, Any]], str]


def findings(
    scenarios: Sequence[Mapping[str, Any]],
    width: int,
    sign: Signs,
    where: str = "",
    heads: bool = True,
    again: Again | None = None,
) -> list[Text]:
    """A paragraph for each arm that needs a word; nothing where all came out as expected.

    `again` is the command that repeats an arm of a scenario, where it is not `leaseproof run`.
    """
    lines: list[Text] = []
    for scenario in scenarios:
        arms = [a for a in scenario.get("arms", []) if not a.get("as_expected") or a.get("verdict") in NEVER_FINE]
        status = str(scenario.get("status", ""))
        if status == "proven" and not arms:
            continue
        if not heads:
            lines.append(Text())
        elif arms or scenario.get("why"):
            name = clean(scenario.get("name", ""), sign)
            why = clean(scenario.get("why", ""), sign)
            head = paragraph(f"{name}: {status}{', ' + why if why else ''}", width, indent=2, style="")
            head[0].stylize(STATUS.get(status, "bold"), len(name) + 4, len(name) + 4 + len(status))
            head[0].stylize("bold", 2, 2 + len(name))
            lines += [Text(), *head]
        for arm in arms:
            lines += _arm(scenario, arm, width, sign, where, again or _run_again)
    return lines


NEVER_FINE = ("inconclusive", "error")


def _run_again(scenario: Mapping[str, Any], arm: Mapping[str, Any]) -> str:
    return shlex.join(["leaseproof", "run", str(scenario.get("name")), "--arms", str(arm.get("id"))])


def repeated(result: Mapping[str, Any]) -> Again:
    """How an arm of a run's is repeated: on its subject, where that is not queue_core, and in its profile."""
    given = str(result.get("given", "queue_core"))
    of = [] if given == "queue_core" else ["--subject", given, "--profile", str(result.get("profile"))]
    return lambda scenario, arm: shlex.join(
        ["leaseproof", "run", str(scenario.get("name")), *of, "--arms", str(arm.get("id"))]
    )


def _arm(
    scenario: Mapping[str, Any], arm: Mapping[str, Any], width: int, sign: Signs, where: str, again: Again
) -> list[Text]:
    name, verdict = clean(arm.get("id", ""), sign), clean(arm.get("verdict", ""), sign)
    mark, style = sign_of(verdict, bool(arm.get("as_expected")), sign)
    expected = clean(arm.get("expected", ""), sign)
    lines = paragraph(f"{name}: {verdict}, expected {expected}", width, indent=4, first=f"  {mark}")
    lines[0].stylize(style, 2, 3)
    if arm.get("reason"):
        lines += paragraph(clean(arm["reason"], sign), width, indent=4, style="yellow")
    anomalies = list(arm.get("anomalies", []))
    for anomaly in anomalies[:MOST_ANOMALIES]:
        events = ", ".join(str(n) for n in anomaly.get("events", []))
        text = f"{clean(anomaly.get('name', ''), sign)}: {clean(anomaly.get('text', ''), sign)}"
        lines += paragraph(text + (f" (events {events})" if events else ""), width, indent=4)
    if len(anomalies) > MOST_ANOMALIES:
        lines.append(Text(f"    {sign.cut} {len(anomalies) - MOST_ANOMALIES} more anomalies", "dim"))
    if arm.get("history"):
        path = f"{where.rstrip('/')}/{arm['history']}" if where else str(arm["history"])
        lines += _labelled("history", clean(path, sign), width, sign)
    return lines + _labelled("again", clean(again(scenario, arm), sign), width, sign)


def _labelled(label: str, text: str, width: int, sign: Signs) -> list[Text]:
    """A path or a command: on one line if it can be, so that it can be copied."""
    if len(text) + 13 <= width:
        return [Text.assemble("    ", (f"{label:7}  ", "dim"), text, no_wrap=True)]
    return [Text("    " + fit(label, width - 4, sign), "dim"), *paragraph(text, width, indent=6)]
