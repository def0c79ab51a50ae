"""Any width, any cut, any text: a report stays readable and inside its columns."""

from __future__ import annotations

import ast
import copy
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

import reports
from reports.terminal import matrix, scenario_report
from reports.timeline import timeline
from tests.reports.drawing import drawn
from tests.reports.results import mixed, sound, worker_death
from tests.reports.samples import EXPLANATIONS, HISTORIES

HOSTILE = "[bold red]x[/] \x1b[31mred\x1b[0m \x07\u202e\u2066 \n\r\t 日本語 🧨 \ud800 é " + "w" * 90


def check(text: str, width: int, ascii_only: bool) -> None:
    for line in text.splitlines():
        assert cell_len(line) <= width, line
    assert not ascii_only or text.isascii()
    assert {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs")} <= {"\n"}


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("name", HISTORIES)
def test_every_width(name: str, ascii_only: bool) -> None:
    for width in (30, 40, 41, 60, 79, 80, 99, 132, 200):
        picture = timeline(HISTORIES[name](), width, ascii_only=ascii_only, explanations=EXPLANATIONS)
        check(drawn(picture, width), width, ascii_only)


@pytest.mark.parametrize("name", HISTORIES)
def test_every_cut(name: str) -> None:
    history = HISTORIES[name]()
    for n in range(0, len(history) + 1, 1 + len(history) // 40):
        last = history[n - 1]["t"] if n else 0.0
        check(drawn(timeline(history[:n], 70), 70), 70, False)
        check(drawn(timeline(history[:n], 70, now=last + 0.3, compact=True), 70), 70, False)


@pytest.mark.parametrize("width", [30, 40, 60, 100])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_reports_in_every_width(width: int, ascii_only: bool) -> None:
    histories = {"sound-fault": HISTORIES["worker-death"]()}
    for result in (sound(), mixed()):
        check(drawn(matrix(result, width, ascii_only, "./runs/1"), width), width, ascii_only)
        for scenario in result["scenarios"]:
            check(drawn(scenario_report(scenario, histories, width, ascii_only), width), width, ascii_only)


def spoil(value: Any, keep: tuple[str, ...] = ("event", "status", "verdict", "id", "role", "kind")) -> Any:
    """The same with a hostile text in place of each text."""
    if isinstance(value, dict):
        return {k: v if k in keep else spoil(v, keep) for k, v in value.items()}
    if isinstance(value, list):
        return [spoil(v, keep) for v in value]
    return HOSTILE if isinstance(value, str) else value


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("width", [40, 100])
def test_hostile_text(width: int, ascii_only: bool) -> None:
    for history in HISTORIES.values():
        text = drawn(timeline(spoil(history()), width, ascii_only=ascii_only), width)
        check(text, width, ascii_only)
    scenario = spoil(copy.deepcopy(worker_death()))
    text = drawn(scenario_report(scenario, {"sound-fault": spoil(HISTORIES["drain"]())}, width, ascii_only), width)
    check(text, width, ascii_only)
    assert "[bold red]x[/]" in text
    check(drawn(matrix(spoil(mixed()), width, ascii_only), width), width, ascii_only)


def test_odd_events_stop_nothing() -> None:
    odd: list[dict[str, Any]] = [
        {},
        {"event": "no such event", "t": 1},
        {"event": "started"},
        {"event": "died", "execution": 99, "t": "late"},
        {"event": "exited", "worker": "w", "pid": 1, "t": 0.5},
        {"event": "observation", "n": "x", "rows": [1, None, ["a", None]], "predictions": ["no"], "ruled_out": "a"},
        {"event": "row", "job": "1", "row": "running"},
        {"event": "renewed"},
        {"event": "let-go", "job": "1"},
        {"event": "fault-ended", "step": 9},
        {"event": "receipt", "step": 9},
        {"event": "header", "lease": 0},
        {"event": "fault", "target": None},
        {"event": "outcome"},
        {"event": "reclaimed", "jobs": None},
    ]
    check(drawn(timeline(odd, 60), 60), 60, False)


def test_reports_read_results_only() -> None:
    for path in Path(reports.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {m.split(".")[0] for m in modules} & {"bench", "scenarios", "queue_core", "subjects"}, path


def test_a_ruled_out_explanation_is_struck_out_and_signed() -> None:
    text = drawn(timeline(HISTORIES["worker-death"](), 100, explanations=EXPLANATIONS), 100, styled=True)
    line = next(line for line in text.splitlines() if "ruled out" in line)
    assert "✗" in line
    assert "\x1b[2;9m" in line
