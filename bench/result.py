"""The result of a run: one versioned JSON object (reports/result.schema.json), from which every report is made."""

import json
import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.history import Event
from bench.scenario import Arm, Scenario
from bench.twins import Difference
from bench.verdict import Verdict, as_expected

FORMAT = 1

EXIT_CODES = {"proven": 0, "partial": 0, "unproven": 1, "inconclusive": 3, "error": 4}
"""What the process exits with; 2 is wrong usage."""


@dataclass(frozen=True)
class ArmResult:
    """One arm's outcome: `events` of its last try, `tries` how often it was run, `seconds` how long that try took."""

    arm: Arm
    verdict: Verdict
    events: Sequence[Event]
    lease: float
    tries: int = 1
    history: str = ""

    @property
    def expected(self) -> bool:
        return as_expected(self.verdict, self.arm.expected, list(self.arm.twin.also) if self.arm.twin else [])

    def standing(self) -> dict[str, Any]:
        """What came out, and what had to."""
        return {
            "id": self.arm.id,
            "verdict": self.verdict.verdict,
            "expected": self.arm.expected,
            "as_expected": self.expected,
            "anomalies": [
                {"name": anomaly.name, "text": anomaly.text, "events": list(anomaly.events)}
                for anomaly in self.verdict.anomalies
            ],
            "reason": self.verdict.reason,
        }

    def to_json(self) -> dict[str, Any]:
        return {
            **self.standing(),
            "code": self.arm.code,
            "twin": self.arm.twin.name if self.arm.twin else None,
            "fault": self.arm.fault,
            "figures": [[event["name"], event["value"]] for event in self.events if event["event"] == "figure"],
            "tries": self.tries,
            "lease": self.lease,
            "seconds": round(self.events[-1]["t"], 3) if self.events else 0.0,
            "stall": max((event["seconds"] for event in self.events if event["event"] == "stalled"), default=0.0),
            "history": self.history,
        }


@dataclass
class ScenarioResult:
    """A scenario's arms, and whether they prove it."""

    scenario: Scenario
    differences: Mapping[str, Difference]
    arms: list[ArmResult] = field(default_factory=list)

    @property
    def status(self) -> tuple[str, str]:
        """`proven`, `unproven`, `inconclusive`, `error`, or `partial` when only some arms were run; and why."""
        due = {arm.id for arm in self.scenario.arms}
        return status([arm.standing() for arm in self.arms], due)

    def to_json(self) -> dict[str, Any]:
        status, why = self.status
        scenario = self.scenario
        return {
            "name": scenario.name,
            "claim": scenario.claim,
            "row": scenario.row,
            "origin": scenario.origin,
            "fault": scenario.fault,
            "sham": scenario.sham,
            "status": status,
            "why": why,
            "explanations": dict(scenario.explanations),
            "twins": [
                {
                    "name": twin.name,
                    "member": self.differences[twin.name].member,
                    "summary": twin.summary,
                    "anomaly": twin.anomaly,
                    "also": sorted(twin.also),
                    "fails_in": dict(twin.fails_in),
                    "diff": self.differences[twin.name].diff,
                }
                for twin in scenario.twins
            ],
            "arms": [arm.to_json() for arm in self.arms],
        }


def status(arms: Sequence[Mapping[str, Any]], due: Collection[str]) -> tuple[str, str]:
    """What arms of a scenario prove, as result.json has them, of those that are `due`; and why no more than that."""
    # A finding first: no doubt about another arm explains it away.
    for arm in arms:
        if arm["verdict"] in ("pass", "fail") and not arm["as_expected"]:
            return "unproven", f"{arm['id']}: {_surprise(arm)}"
    for verdict, worse in (("error", "error"), ("inconclusive", "inconclusive"), ("unsupported", "partial")):
        for arm in arms:
            if arm["verdict"] == verdict:
                return worse, f"{arm['id']}: {arm['reason']}"
    run = {*due} & {arm["id"] for arm in arms}  # besides, other scenarios' twins may have been tried in it
    if run < {*due}:
        return "partial", f"{len(run)} of {len(due)} arms were run"
    return "proven", ""


def _surprise(arm: Mapping[str, Any]) -> str:
    shown = ", ".join(sorted({anomaly["name"] for anomaly in arm["anomalies"]})) or "pass"
    wanted = "pass" if arm["expected"] == "pass" else f"show {arm['expected']}"
    return f"it must {wanted}, and it came out as {shown}"


def overall(statuses: Collection[str]) -> str:
    """The worst of all scenarios' statuses: a finding outranks the rest, since it is never explained away."""
    return next(status for status in ("unproven", "error", "inconclusive", "partial", "proven") if status in statuses)


def versions(postgres: Mapping[str, str]) -> dict[str, str]:
    """What was run on what."""
    return {
        "leaseproof": version("leaseproof"),
        "postgres": f"{postgres['version']} ({postgres['kind']})",
        "python": platform.python_version(),
        "psycopg": version("psycopg"),
        "platform": platform.platform(terse=True),
    }


def write(result: Mapping[str, Any], path: Path) -> None:
    """Write a result as JSON."""
    path.write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
