"""The commands that run nothing: list, check."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import discover
from bench.history import HistoryError, load
from bench.scenario import Scenario
from bench.twins import difference
from bench.verdict import as_expected, judge
from reports.catalogue import needs, page


def add(commands: Any, outputs: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add them to the parser; `outputs` adds the options that all commands share."""
    command = commands.add_parser("list", help="the scenarios, what each claims, and its twins")
    command.add_argument("--markdown", action="store_true", help="as a page of Markdown: docs/scenarios.md")
    command.add_argument("--needs", action="store_true", help="what each needs of a subject: in docs/subjects.md")
    outputs(command)
    command.set_defaults(command=_list)

    command = commands.add_parser("check", help="judge a saved history again, without a queue")
    command.add_argument("history", type=Path, metavar="HISTORY", help="a .jsonl file of an earlier run")
    outputs(command)
    command.set_defaults(command=_check)


def _list(options: argparse.Namespace) -> int:
    known = discover.scenarios()
    if options.json:
        print(json.dumps([_describe(scenario) for scenario in known], indent=1))
        return 0
    if options.markdown:
        print(page([_describe(scenario) for scenario in known]), end="")
        return 0
    if options.needs:
        print(needs([_describe(scenario) for scenario in known]), end="")
        return 0
    for scenario in known:
        print(f"{scenario.name}\n    {scenario.claim}")
        for twin in scenario.twins:
            print(f"    twin {twin.name} ({difference(twin).member}) -> {twin.anomaly}")
    return 0


def _describe(scenario: Scenario) -> dict[str, Any]:
    return {
        "name": scenario.name,
        "claim": scenario.claim,
        "row": scenario.row,
        "origin": scenario.origin,
        "fault": scenario.fault,
        "sham": scenario.sham,
        "needs": [*scenario.needs],
        "private": scenario.private,
        "clock": scenario.clock,
        "twins": [
            {"name": t.name, "member": difference(t).member, "anomaly": t.anomaly, "summary": t.summary}
            for t in scenario.twins
        ],
        "arms": [arm.id for arm in scenario.arms],
    }


def _check(options: argparse.Namespace) -> int:
    events = load(options.history)
    known = discover.scenarios()
    try:
        (scenario,) = discover.pick([events[0]["scenario"]], known)
        arm = events[0]["arm"]
        verdict = judge(events, scenario.checks)
        expected, id = as_expected(verdict, arm["expected"], arm["also"]), arm["id"]
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise HistoryError(f"{options.history} lacks what a history has: {error!r}") from error
    unsupported = verdict.verdict == "unsupported"
    if options.json:
        anomalies = [{"name": a.name, "text": a.text, "events": list(a.events)} for a in verdict.anomalies]
        answer = {"verdict": verdict.verdict, "anomalies": anomalies, "reason": verdict.reason, "as_expected": expected}
        print(json.dumps({"scenario": scenario.name, "arm": id, **answer}, ensure_ascii=False, indent=1))
    else:
        said = "nothing was run" if unsupported else "as it must be" if expected else "not as it must be"
        print(f"{scenario.name} {id}: {verdict.verdict}, {said}")
        for anomaly in verdict.anomalies:
            print(f"    {anomaly.name}: {anomaly.text} (lines {', '.join(str(i + 1) for i in anomaly.events)})")
        if verdict.reason:
            print(f"    {verdict.reason}")
    if verdict.verdict in ("inconclusive", "error"):
        return {"inconclusive": 3, "error": 4}[verdict.verdict]
    return 0 if expected or unsupported else 1
