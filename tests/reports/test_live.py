"""Progress: lines in a log, or the picture so far; a picture on a terminal, and the terminal as it was afterwards."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console, Group

from reports.live import Live
from tests.reports.drawing import drawn
from tests.reports.samples import HISTORIES

ARMS = ("sound-fault", "sound-sham", "NoReclaim-fault", "NoReclaim-sham")
PLAN = [("worker-death", arm) for arm in ARMS]
MATRIX = [(f"scenario-{n}", arm) for n in range(60) for arm in ARMS]
EVIL = ["<script>alert(1)</script>", "a|b`c\x1b[2J", "\u202egnp.exe", "x" * 10_000, "\u4e2d\u6587" * 20]


def strangers(*subjects: str, scenarios: int = 54) -> list[tuple[str, str]]:
    """A plan of `validate`: the reference in all arms, and each subject in both of its profiles."""
    names = [f"scenario-{n}" for n in range(scenarios)]
    reference = [(f"queue_core {name}", arm) for name in names for arm in ARMS]
    whose = [f"{subject} {profile}" for subject in subjects for profile in ("default", "tuned")]
    return reference + [(f"{who} {name}", arm) for who in whose for name in names for arm in ARMS[:2]]


MANY = strangers(*(f"queue-{n}" for n in range(1, 30)))


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LC_ALL", raising=False)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def pipe(width: int = 100) -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(file=stream, width=width, force_terminal=False, color_system=None, _environ={}), stream


def terminal(height: int = 40, width: int = 100, **more: Any) -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(
        file=stream,
        width=width,
        height=height,
        force_terminal=True,
        force_interactive=True,
        color_system="standard",
        _environ={"TERM": "xterm"},
        **more,
    ), stream


def history(until: float) -> Callable[[], list[dict[str, Any]]]:
    return lambda: [e for e in HISTORIES["worker-death"]() if e["t"] <= until]


def nothing() -> list[dict[str, Any]]:
    return []


def shown(live: Live, width: int, height: int | None = None) -> str:
    return drawn(Group(*live.lines(width, height)), width)


def run(live: Live, arms: list[tuple[str, str]], verdict: str = "pass") -> None:
    for name, arm in arms:
        live.arm_started(name, arm, nothing)
        live.arm_ended(name, arm, verdict, verdict == "pass")


# In a log.


def test_a_pipe_gets_a_line_an_arm() -> None:
    console, stream = pipe(30)
    clock = Clock()
    with Live(console, PLAN, clock=clock) as live:
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


def test_a_log_that_is_watched_has_the_matrix_at_each_tenth() -> None:
    console, stream = pipe()
    clock = Clock()
    with Live(console, MATRIX, watch=True, clock=clock) as live:
        for name, arm in MATRIX:
            live.arm_started(name, arm, nothing)
            clock.now += 0.8
            live.arm_ended(name, arm, "pass", True)
    text = stream.getvalue()
    assert [line.split()[0] for line in text.splitlines() if " arms " in line] == [f"{24 * n}" for n in range(1, 10)]
    assert text.startswith("  24 of 240 arms   10 %   19 s   about 3 min left   ━━━━──")
    assert "\n\n  scenario-0   ✓✓✓✓   scenario-1   ✓✓✓✓   scenario-2   ✓✓✓✓   scenario-3   ✓✓✓✓   " in text
    assert text.count("scenario-59  ") == 9


def test_in_a_long_run_it_has_a_line_between() -> None:
    console, stream = pipe()
    clock = Clock()
    with Live(console, MANY, watch=True, clock=clock) as live:
        for name, arm in MANY[:100]:
            live.arm_started(name, arm, nothing)
            clock.now += 1.0
            live.arm_ended(name, arm, "pass", True)
    assert [line.split("   ")[0] for line in stream.getvalue().splitlines()] == [
        f"  {done} of {len(MANY)} arms" for done in (30, 60, 90)
    ]


def test_a_watched_log_shows_the_subjects_that_have_begun() -> None:
    console, stream = pipe()
    with Live(console, MANY, watch=True, clock=Clock()) as live:
        run(live, MANY[: len(MANY) // 10 + 1])
    text = stream.getvalue()
    assert "queue-1 " in text
    assert "queue-29" not in text
    assert len(re.findall("scenario-53 +✓✓", text)) == 1


def test_a_watched_log_of_one_scenario_has_its_timeline() -> None:
    console, stream = pipe()
    with Live(console, PLAN, watch=True, clock=Clock()) as live:
        live.arm_started("worker-death", "sound-fault", history(9.0))
        live.arm_ended("worker-death", "sound-fault", "pass", True)
    assert "▇ 1 ▇" in stream.getvalue()
    assert "✓ sound-fault" in stream.getvalue()


# On a terminal.


def test_a_single_scenario_draws_itself() -> None:
    console, _ = terminal()
    clock = Clock()
    live = Live(console, PLAN, clock=clock)
    live.arm_started("worker-death", "sound-fault", history(1.2))
    clock.now += 1.25
    text = shown(live, 100, 39)
    assert "▇ 1 ▇" in text
    assert "① the owner is dead" in text
    assert "● sound-fault 1.2 s" in text
    assert "· NoReclaim-sham" in text
    live.arm_ended("worker-death", "sound-fault", "pass", True)
    assert "✓ sound-fault" in shown(live, 100, 39)


@pytest.mark.parametrize("height", [8, 12, 20])
def test_a_low_terminal_keeps_the_states(height: int) -> None:
    console, stream = terminal(height)
    live = Live(console, PLAN)
    live.arm_started("worker-death", "sound-fault", history(2.5))
    console.print(live)
    lines = stream.getvalue().splitlines()
    assert len(lines) < height
    assert "sound-fault" in stream.getvalue()


def test_a_matrix_fits_the_screen() -> None:
    console, stream = terminal(12)
    live = Live(console, MATRIX)
    run(live, MATRIX[:100])
    live.arm_started(*MATRIX[100], nothing)
    console.print(live)
    text = stream.getvalue()
    assert "100 of 240 arms" in text
    assert "now: scenario-25 sound-fault" in text
    assert len(text.splitlines()) <= 12


def test_subjects_have_a_cell_a_scenario() -> None:
    plan = strangers("celery-redis", scenarios=3)
    live = Live(terminal()[0], plan, clock=Clock())
    run(live, plan[:5])  # the reference: its first scenario, and an arm of the second
    live.arm_started(*plan[5], nothing)
    run(live, [("celery-redis default scenario-0", "sound-fault")], "fail")
    run(live, [("celery-redis default scenario-0", "sound-sham")])
    live.arm_ended("celery-redis default scenario-1", "sound-fault", "unsupported", False)
    live.arm_ended("celery-redis tuned scenario-0", "sound-fault", "error", False)
    live.arm_started("celery-redis tuned scenario-0", "sound-sham", nothing)
    text = "\n".join(line.rstrip() for line in shown(live, 80, 23).splitlines())
    assert text.replace("\u2013", "-") == (
        "  9 of 24 arms   37 %   0 s   ━━━━━━━━━━━━━━━─────────────────────────\n"
        "  ✓ 6 as expected   ✗ 1 not as expected   - 1 unsupported   ! 1 error\n"
        "  ● 2 running   · 13 waiting   in a cell: with the fault, without\n"
        "\n"
        "                               celery-\n"
        "                   queue_core  redis\n"
        "  scenario                     d  t\n"
        "  ────────────────────────────────────\n"
        "  scenario-0       ✓✓          ✗✓ !●\n"
        "  scenario-1       ●●          -· ··\n"
        "  scenario-2       ··          ·· ··\n"
        "  now: queue_core scenario-1 sound-sham 0 s, celery-redis tuned scenario-0 soun…"
    )


@pytest.mark.parametrize(("width", "height"), [(30, 8), (40, 20), (60, 24), (80, 24), (120, 40), (200, 60)])
def test_many_subjects_fit_the_screen(width: int, height: int) -> None:
    live = Live(terminal()[0], MANY, clock=Clock())
    for begun in (0, 300, 2000, len(MANY) - 3):
        run(live, MANY[:begun])
        for name, arm in MANY[begun : begun + 40]:
            live.arm_started(name, arm, nothing)
        lines = live.lines(width, height - 1)
        assert len(lines) < height
        assert all(cell_len(line.plain) <= width for line in lines)
        assert f"of {len(MANY)} arms" in lines[0].plain


def test_the_page_is_one_on_which_something_runs_and_they_take_turns() -> None:
    clock = Clock()
    live = Live(terminal()[0], MANY, clock=clock)

    def rows() -> str:
        """The page's subjects, and each line in which something has begun."""
        text = shown(live, 80, 23).replace(" ·", "").replace("·", "")
        words = [" ".join(line.split()) for line in text.splitlines()[:-1]]
        return "; ".join(word for word in words if re.search(r"^subjects |^scenario-\d+ \S", word))

    live.arm_started("queue-20 default scenario-50", "sound-fault", nothing)
    late = "subjects 19-24/30 queue-18 queue-19 queue-20 queue-21 queue-22 queue-23; scenario-50 "
    assert rows() == late + "●"
    live.arm_started("queue-3 tuned scenario-2", "sound-fault", nothing)
    clock.now += 5.0
    assert rows() == late + "●"
    early = "subjects 1-6/30 queue_core queue-1 queue-2 queue-3 queue-4 queue-5; scenario-2 ●"
    clock.now += 2.0
    assert rows() == early
    clock.now += 7.0
    assert rows() == late + "●"
    live.arm_ended("queue-20 default scenario-50", "sound-fault", "pass", True)
    clock.now += 1.0
    assert rows() == late + "✓"  # one looks at it for a moment
    clock.now += 1.0
    assert rows() == early


@pytest.mark.parametrize("width", [30, 80, 200])
def test_hostile_names_move_no_cursor(width: int) -> None:
    plan = [(f"{name} tuned scenario-1", "sound-fault") for name in EVIL] + [(f"one tuned {EVIL[0]}", "sound-fault")]
    console, stream = terminal(24, width)
    live = Live(console, plan, clock=Clock())
    for name, arm in plan:
        live.arm_started(name, arm, nothing)
    live.arm_ended(*plan[0], "\x1b[2J" + "y" * 9000, False)
    lines = live.lines(width, 23)
    assert all(cell_len(line.plain) <= width for line in lines)
    assert not any(sign in line.plain for line in lines for sign in ("\x1b", "\u202e", "\n"))
    console.print(live)
    assert "\x1b[2J" not in stream.getvalue()


def test_colour_is_never_the_only_sign() -> None:
    console, stream = terminal(24, 80, no_color=True)
    live = Live(console, MANY, clock=Clock())
    run(live, MANY[:4], "fail")
    live.arm_started(*MANY[4], nothing)
    console.print(live)
    assert "✗✗" in re.sub(r"\x1b\[\d*m", "", stream.getvalue())
    assert "●·" in re.sub(r"\x1b\[\d*m", "", stream.getvalue())
    assert not re.search(r"\x1b\[(\d;)?3\dm", stream.getvalue())


def test_a_frame_is_its_lines_in_colour() -> None:
    console, stream = terminal(24, 80)
    live = Live(console, MANY, clock=Clock())
    run(live, MANY[:2], "fail")
    for _ in range(2):  # the second is of what was kept of the first
        begin = stream.tell()
        console.print(live)
        frame = stream.getvalue()[begin:]
        assert "\x1b[1;31m✗" in frame
        assert re.sub(r"\x1b\[[\d;]*m", "", frame) == "\n".join(line.plain for line in live.lines(80, 23))
        live._next_frame = 0.0


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("plan", [PLAN, MATRIX, MANY], ids=["one", "matrix", "subjects"])
def test_the_terminal_is_given_back(plan: list[tuple[str, str]], error: type[BaseException]) -> None:
    console, stream = terminal()

    def fail() -> None:
        with Live(console, plan) as live:
            live.arm_started(*plan[0], history(1.0))
            raise error

    with pytest.raises(error):
        fail()
    hidden, back = stream.getvalue().rfind("\x1b[?25l"), stream.getvalue().rfind("\x1b[?25h")
    assert 0 <= hidden < back


def test_histories_of_many_arms_are_not_kept() -> None:
    live = Live(pipe()[0], MATRIX)
    live.arm_started(*MATRIX[0], history(1.0))
    assert live._progress.arms[MATRIX[0]].history is None


@pytest.mark.parametrize("plan", [[], MATRIX, MANY], ids=["none", "matrix", "subjects"])
def test_arms_report_from_many_threads(plan: list[tuple[str, str]]) -> None:
    console, stream = pipe()
    live = Live(console, plan)
    arms = plan[:96] or [(f"s{n}", "sound-fault") for n in range(24)]

    def some(n: int) -> None:
        for name, arm in arms[n::24]:
            live.arm_started(name, arm, history(0.5))
            live.lines(80, 23)
            live.arm_ended(name, arm, "pass", True)

    threads = [threading.Thread(target=some, args=(n,)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stream.getvalue().splitlines()) == len(arms)
