"""Progress: plain lines in a pipe, a picture on a terminal, and the terminal as it was afterwards."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from reports.live import Live
from tests.reports.drawing import drawn
from tests.reports.samples import HISTORIES

PLAN = [("worker-death", arm) for arm in ("sound-fault", "sound-sham", "NoReclaim-fault", "NoReclaim-sham")]


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LC_ALL", raising=False)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def pipe() -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(file=stream, width=30, force_terminal=False, color_system=None, _environ={}), stream


def terminal(height: int = 40) -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(
        file=stream,
        width=100,
        height=height,
        force_terminal=True,
        force_interactive=True,
        color_system="standard",
        _environ={"TERM": "xterm"},
    ), stream


def history(until: float) -> Callable[[], list[dict[str, Any]]]:
    return lambda: [e for e in HISTORIES["worker-death"]() if e["t"] <= until]


def test_a_pipe_gets_a_line_an_arm() -> None:
    console, stream = pipe()
    clock = Clock()
    with Live(console, PLAN, single=True, clock=clock) as live:
        live.arm_started("worker-death", "sound-fault", history(0.0))
        live.arm_started("worker-death", "NoReclaim-fault", history(0.0))
        clock.now += 3.2
        live.arm_ended("worker-death", "sound-fault", "pass", True)
        live.arm_ended("worker-death", "NoReclaim-fault", "fail", True)
        live.arm_ended("worker-death", "sound-sham", "fail", False)
        live.arm_ended("worker-death", "NoReclaim-sham", "unsupported", False)
    assert stream.getvalue().splitlines() == [
        "worker-death sound-fault pass 3.2 s",
        "worker-death NoReclaim-fault fail (as expected) 3.2 s",
        "worker-death sound-sham fail (not as expected) 0 ms",
        "worker-death NoReclaim-sham unsupported (nothing was run) 0 ms",
    ]


def test_a_single_scenario_draws_itself() -> None:
    console, _ = terminal()
    clock = Clock()
    live = Live(console, PLAN, single=True, clock=clock)
    live.arm_started("worker-death", "sound-fault", history(1.2))
    clock.now += 1.25
    text = drawn(live, 100)
    assert "▇ 1 ▇" in text
    assert "① the owner is dead" in text
    assert "● sound-fault 1.2 s" in text
    assert "· NoReclaim-sham" in text
    live.arm_ended("worker-death", "sound-fault", "pass", True)
    assert "✓ sound-fault" in drawn(live, 100)


@pytest.mark.parametrize("height", [8, 12, 20])
def test_a_low_terminal_keeps_the_states(height: int) -> None:
    console, stream = terminal(height)
    live = Live(console, PLAN, single=True)
    live.arm_started("worker-death", "sound-fault", history(2.5))
    console.print(live)
    lines = stream.getvalue().splitlines()
    assert len(lines) < height
    assert "sound-fault" in stream.getvalue()


def test_a_matrix_fits_the_screen() -> None:
    console, stream = terminal(12)
    plan = [(f"scenario-{n}", arm) for n in range(60) for _, arm in PLAN]
    live = Live(console, plan, single=False)
    for scenario, arm in plan[:100]:
        live.arm_started(scenario, arm, history(0.0))
        live.arm_ended(scenario, arm, "pass", True)
    live.arm_started(*plan[100], history(0.0))
    console.print(live)
    text = stream.getvalue()
    assert "100 of 240 arms" in text
    assert "now: scenario-25 sound-fault" in text
    assert len(text.splitlines()) <= 12


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_the_terminal_is_given_back(error: type[BaseException]) -> None:
    console, stream = terminal()

    def run() -> None:
        with Live(console, PLAN, single=True) as live:
            live.arm_started("worker-death", "sound-fault", history(1.0))
            raise error

    with pytest.raises(error):
        run()
    shown, hidden = stream.getvalue().rfind("\x1b[?25h"), stream.getvalue().rfind("\x1b[?25l")
    assert 0 <= hidden < shown


def test_arms_report_from_many_threads() -> None:
    console, stream = pipe()
    live = Live(console, [], single=False)

    def run(n: int) -> None:
        live.arm_started(f"s{n}", "sound-fault", history(0.5))
        drawn(live, 80)
        live.arm_ended(f"s{n}", "sound-fault", "pass", True)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stream.getvalue().splitlines()) == 24
