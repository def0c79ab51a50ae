"""Renderings, letter by letter. LEASEPROOF_UPDATE_GOLDEN=1 writes them anew; then read the diff."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rich.console import RenderableType

from reports.terminal import matrix, scenario_report
from reports.timeline import timeline
from tests.reports.drawing import drawn
from tests.reports.results import mixed, sound, worker_death
from tests.reports.samples import EXPLANATIONS, HISTORIES

GOLDEN = Path(__file__).parent / "golden"
FORMS = [(100, False), (50, False), (100, True)]
RUN = "./leaseproof-runs/0718-0930"


def render(name: str, width: int, ascii_only: bool) -> RenderableType:
    if name == "scenario":
        histories = {
            "sound-fault": HISTORIES["worker-death"](),
            "ReclaimFindsNothing-fault": HISTORIES["worker-death-twin"](),
        }
        return scenario_report(worker_death(), histories, width, ascii_only, RUN)
    if name == "matrix":
        return matrix(sound(), width, ascii_only, RUN)
    if name == "matrix-mixed":
        return matrix(mixed(), width, ascii_only, RUN)
    if name == "live":
        return timeline(HISTORIES["partial"](), width, ascii_only=ascii_only, compact=True, now=1.6)
    return timeline(HISTORIES[name](), width, ascii_only=ascii_only, explanations=EXPLANATIONS)


@pytest.mark.parametrize(("width", "ascii_only"), FORMS)
@pytest.mark.parametrize("name", [*HISTORIES, "live", "scenario", "matrix", "matrix-mixed"])
def test_looks_as_it_did(name: str, width: int, ascii_only: bool) -> None:
    text = drawn(render(name, width, ascii_only), width)
    path = GOLDEN / f"{name}-{width}{'-ascii' if ascii_only else ''}.txt"
    if os.environ.get("LEASEPROOF_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "changed on purpose? LEASEPROOF_UPDATE_GOLDEN=1"


def test_no_golden_is_left_over() -> None:
    names = {
        f"{name}-{width}{'-ascii' if plain else ''}.txt"
        for name in [*HISTORIES, "live", "scenario", "matrix", "matrix-mixed"]
        for width, plain in FORMS
    }
    assert {p.name for p in GOLDEN.glob("*.txt")} == names
