"""From the two arms of a stranger in a scenario to its cell; and from all cells to the verdict of a run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.declared import not_kept
from bench.result import ArmResult

EXIT_CODES = {"clean": 0, "finding": 1, "inconclusive": 3, "error": 4}
"""What the process exits with; 2 is wrong usage."""

Cell = dict[str, Any]
"""As validate.json has it: see reports/validate.schema.json."""

WORST = ("error", "fail", "inconclusive", "unsupported", "pass")
"""An arm that an adapter broke says nothing of the queue, and neither does the other one of its cell. A fail is one
whatever became of the other arm: no doubt explains it away."""


def cell(scenario: str, describe: Mapping[str, Any], arms: Sequence[ArmResult]) -> Cell:
    """The cell of a stranger's arms, which ran with the fault and without it."""
    verdict = next(word for word in WORST if any(arm.verdict.verdict == word for arm in arms))
    mine = [arm for arm in arms if arm.verdict.verdict == verdict]
    failed = mine if verdict == "fail" else []
    return _cell(
        scenario,
        verdict,
        reason=next(filter(None, (arm.verdict.reason for arm in mine)), ""),
        without_fault=any(not arm.arm.fault for arm in failed),
        not_kept=list(dict.fromkeys(words for arm in failed for words in _not_kept(describe, arm))),
        arms=[arm.to_json() for arm in arms if arm.history],
    )


def unproven(scenario: str, status: str, why: str) -> Cell:
    """The cell of a scenario that the reference pair did not prove: whatever a stranger did in it, nothing is shown."""
    return _cell(scenario, "unproven", reason=f"{status} here: {why}")


def not_run(scenario: str) -> Cell:
    """The cell of a scenario that a stranger did not go through, where others did."""
    return _cell(scenario, "unsupported", reason="it was not run")


def _cell(scenario: str, verdict: str, **more: Any) -> Cell:
    nothing: Cell = {"reason": "", "without_fault": False, "not_kept": [], "arms": []}
    return {"scenario": scenario, "verdict": verdict, **nothing, **more}


def _not_kept(describe: Mapping[str, Any], arm: ArmResult) -> list[str]:
    faults = {event["kind"] for event in arm.events if event["event"] == "fault" and event["injected"]}
    return not_kept(describe, arm.lease, arm.verdict.names, faults)


def verdict(scenarios: Iterable[str], cells: Iterable[Cell]) -> str:
    """The worst of a run: of the scenarios' statuses by the reference pair, and of all cells."""
    seen = {*scenarios, *(cell["verdict"] for cell in cells if cell["verdict"] != "unproven")}
    if seen & {"fail", "unproven"}:
        return "finding"
    return next((word for word in ("error", "inconclusive") if word in seen), "clean")
