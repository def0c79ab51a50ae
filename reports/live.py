"""Progress while arms run: a picture that draws itself on a terminal, a plain line an arm anywhere else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import rich.live
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from reports.chart import MOST_LANES, chart
from reports.console import ascii_only
from reports.events import at
from reports.signs import clean, fit, number, seconds, side_by_side, sign_of, signs
from reports.story import read

FRAMES = 5
SHARE = 20
"""Drawing takes at most one part in so many of the time."""
SHOWN_ARM = "sound-fault"

History = list[dict[str, Any]]


@dataclass
class _Arm:
    scenario: str
    id: str
    began: float | None = None
    took: float | None = None
    verdict: str = ""
    as_expected: bool = True
    history: Callable[[], History] | None = None


class Live:
    """Use as a context manager around a run; all methods may be called from any thread.

    On leaving, by Ctrl-C too, the terminal is as it was: the picture is taken away, the report follows.
    """

    def __init__(
        self,
        console: Console,
        plan: Sequence[tuple[str, str]],
        *,
        single: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._single = single
        self._clock = clock
        self._sign = signs(ascii_only(console))
        self._lock = threading.RLock()
        self._arms = {(scenario, arm): _Arm(scenario, arm) for scenario, arm in plan}
        self._began = clock()
        self._frame: RenderableType | None = None
        self._next_frame = 0.0
        self._live: rich.live.Live | None = None
        if console.is_terminal and console.is_interactive:
            self._live = rich.live.Live(
                self,
                console=console,
                refresh_per_second=FRAMES,
                transient=True,
                vertical_overflow="crop",
                redirect_stdout=False,  # a result that goes to a pipe stays in the pipe
            )

    def __enter__(self) -> Live:
        self._began = self._clock()
        if self._live:
            self._live.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live:
            self._live.__exit__(kind, error, at)

    def arm_started(self, scenario: str, arm: str, history: Callable[[], History]) -> None:
        """An arm begins, or begins again with a longer lease. `history` gives a copy of the events so far."""
        with self._lock:
            self._arms[scenario, arm] = _Arm(scenario, arm, began=self._clock(), history=history)

    def arm_ended(self, scenario: str, arm: str, verdict: str, as_expected: bool) -> None:
        """An arm has its verdict."""
        with self._lock:
            state = self._arms.setdefault((scenario, arm), _Arm(scenario, arm))
            now = self._clock()
            state.took = now - (now if state.began is None else state.began)
            state.verdict, state.as_expected = verdict, as_expected
            if not self._live:
                self._console.print(Text(self._line(state)), soft_wrap=True)

    def _line(self, arm: _Arm) -> str:
        """A line for a log: what a person greps for, and no more."""
        said = clean(arm.verdict, self._sign)
        if arm.verdict == "unsupported":
            said += " (nothing was run)"
        elif not arm.as_expected:
            said += " (not as expected)"
        elif arm.verdict != "pass":
            said += " (as expected)"
        return f"{clean(arm.scenario, self._sign)} {clean(arm.id, self._sign)} {said} {seconds(arm.took or 0.0)}"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        began = self._clock()
        if self._frame is None or began >= self._next_frame:
            with self._lock:
                arms = [_Arm(**vars(arm)) for arm in self._arms.values()]
            width, height = options.max_width, max(console.height, 8)
            self._frame = self._one(arms, width, height) if self._single else self._all(arms, width, height)
            # A long history takes long to draw. Drawing must not stall the bench, which measures stalls.
            self._next_frame = began + SHARE * (self._clock() - began)
        yield self._frame

    def _one(self, arms: Sequence[_Arm], width: int, height: int) -> RenderableType:
        """One scenario: its sound arm with the fault as a picture, over the states of all its arms."""
        sign = self._sign
        states = side_by_side([self._state(arm) for arm in arms], width, sign)
        shown = next((a for a in arms if a.id == SHOWN_ARM and a.history), None) or next(
            (a for a in arms if a.history), None
        )
        if shown is None or shown.history is None or shown.began is None:
            return Group(*states)
        history = shown.history()
        now = None if shown.took is not None else self._clock() - shown.began
        story = read(history, now)
        room = height - len(states) - 2
        drawn = chart(story, width, sign, max(3, min(MOST_LANES, room - 7))).lines[:room]
        seen: list[Text] = []
        for event in story.observations:
            text = f"{story.units(at(event)):6.2f} L  {number(event.get('n'), sign)} {clean(event.get('title'), sign)}"
            seen.append(Text("  " + fit(text, width - 2, sign), no_wrap=True))
        left = room - len(drawn) - 1
        seen = seen[-left:] if left > 0 else []
        return Group(*drawn, *([Text(), *seen] if seen else []), Text(), *states)

    def _state(self, arm: _Arm) -> Text:
        mark, style = self._mark(arm)
        name = Text.assemble((mark, style), " ", clean(arm.id, self._sign))
        took = arm.took if arm.took is not None else None if arm.began is None else self._clock() - arm.began
        if took is not None:
            name.append(f" {took:.1f} s", "dim")
        return name

    def _mark(self, arm: _Arm) -> tuple[str, str]:
        if arm.took is not None:
            return sign_of(arm.verdict, arm.as_expected, self._sign)
        return (self._sign.waiting, "dim") if arm.began is None else (self._sign.running, "cyan")

    def _all(self, arms: Sequence[_Arm], width: int, height: int) -> RenderableType:
        """A matrix: a cell a scenario with a sign an arm; what is finished gives way where the screen is too small."""
        sign = self._sign
        done = sum(a.took is not None for a in arms)
        running = [f"{a.scenario} {a.id}" for a in arms if a.began is not None and a.took is None]
        top = Text(f"  {done} of {len(arms)} arms", "bold", no_wrap=True)
        top.append(f"  {self._clock() - self._began:.0f} s", "dim")
        by_name: dict[str, list[_Arm]] = {}
        for arm in arms:
            by_name.setdefault(arm.scenario, []).append(arm)
        names = min(max((len(n) for n in by_name), default=0), 48)
        cells: list[Text] = []
        for name, own in by_name.items():
            cell = Text(fit(clean(name, sign), names, sign).ljust(names) + "  ")
            for arm in own:
                cell.append(*self._mark(arm))
            cells.append(cell)
        each = max((c.cell_len for c in cells), default=1) + 3
        per_row = max((width - 2 + 3) // each, 1)
        room = max(height - 4, 1)
        if -(-len(cells) // per_row) > room:
            open_ = [c for c, own in zip(cells, by_name.values(), strict=True) if any(a.took is None for a in own)]
            cells = open_[: room * per_row] or cells[-room * per_row :]
        rows: list[Text] = []
        for i in range(0, len(cells), per_row):
            row = Text("  ", no_wrap=True)
            for cell in cells[i : i + per_row]:
                row.append_text(cell)
                row.append(" " * (each - cell.cell_len))
            row.rstrip()
            rows.append(row)
        now = Text("  " + fit(clean("now: " + ", ".join(running), sign), width - 2, sign), "dim", no_wrap=True)
        return Group(top, Text(), *rows, *([now] if running else []))
