"""Progress while arms run: a picture that draws itself on a terminal; anywhere else lines, or the picture so far."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from types import TracebackType

import rich.live
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.segment import ControlType, Segment
from rich.text import Text

from reports.console import ascii_only
from reports.live_pictures import picture_of
from reports.progress import Arm, History, Progress
from reports.signs import clean, seconds, signs

FRAMES = 2
FRAMES_OF_ONE = 5
"""A second: of many scenarios, and of a single one, whose timeline moves."""

SHARE = 20
"""Drawing takes at most one part in so many of the time."""

TENTHS = 10
EACH = 30.0
"""A log that is watched has the picture so often in a run, and a line of progress after so many seconds."""


class Live:
    """Use as a context manager around a run; all methods may be called from any thread.

    Where it can't draw it prints a line an arm, or, if it is to `watch`, the picture so far, now and then.
    On leaving, by Ctrl-C too, the terminal is as it was: the picture is taken away, the report follows.
    """

    def __init__(
        self,
        console: Console,
        plan: Sequence[tuple[str, str]],
        *,
        watch: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._watch = watch
        self._clock = clock
        self._sign = signs(ascii_only(console))
        self._progress = Progress(plan, clock())
        self._picture = picture_of(self._progress, self._sign)
        self._tenth = 0
        self._told = clock()
        self._frame: list[Segment] = []
        self._next_frame = 0.0
        self._painter = _Painter(console)
        self._live: rich.live.Live | None = None
        if console.is_terminal and console.is_interactive:
            self._live = rich.live.Live(
                self,
                console=console,
                refresh_per_second=FRAMES_OF_ONE if self._progress.single else FRAMES,
                transient=True,
                vertical_overflow="crop",
                redirect_stdout=False,  # a result that goes to a pipe stays in the pipe
            )

    def __enter__(self) -> Live:
        if self._live:
            self._live.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live:
            self._live.__exit__(kind, error, at)

    def arm_started(self, scenario: str, arm: str, history: Callable[[], History]) -> None:
        """An arm begins, or begins again with a longer lease. `history` gives a copy of the events so far."""
        with self._progress.lock:
            self._progress.started(scenario, arm, history, self._clock())

    def arm_ended(self, scenario: str, arm: str, verdict: str, as_expected: bool) -> None:
        """An arm has its verdict."""
        with self._progress.lock:
            now = self._clock()
            ended = self._progress.ended(scenario, arm, verdict, as_expected, now)
            if not self._live:
                self._print(ended, now)

    def _print(self, arm: Arm, now: float) -> None:
        """What a log gets when an arm has ended."""
        if not self._watch:
            self._console.print(Text(self._line(arm)), soft_wrap=True)
            return
        progress, width = self._progress, self._console.width
        tenth = progress.done * TENTHS // max(len(progress.arms), 1)
        if self._tenth < tenth < TENTHS:  # at the end comes the report
            self._tenth, self._told = tenth, now
            self._console.print(Group(*self.lines(width, None), Text()))
        elif now - self._told >= EACH:
            self._told = now
            self._console.print(progress.line(width, now, self._sign))

    def _line(self, arm: Arm) -> str:
        """A line for a log: what a person greps for, and no more."""
        said = clean(arm.verdict, self._sign)
        if arm.verdict == "unsupported":
            said += " (nothing was run)"
        elif not arm.as_expected:
            said += " (not as expected)"
        elif arm.verdict != "pass":
            said += " (as expected)"
        return f"{clean(arm.name, self._sign)} {clean(arm.id, self._sign)} {said} {seconds(arm.took or 0.0)}"

    def lines(self, width: int, height: int | None) -> list[Text]:
        """The picture as it is now, in at most so many lines, or in full."""
        return self._picture.lines(width, height, self._clock())

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        began = self._clock()
        if not self._frame or began >= self._next_frame:
            self._frame = self._painter.painted(self.lines(options.max_width, max(console.height - 1, 7)))
            # A long history takes long to draw. Drawing must not stall the bench, which measures stalls.
            self._next_frame = began + SHARE * (self._clock() - began)
        yield from self._frame


class _Painter:
    """Lines as a terminal is told them. One that is as it was is not made anew: a frame may have thousands of signs."""

    def __init__(self, console: Console) -> None:
        self._paper = Console(
            file=io.StringIO(),
            force_terminal=True,
            color_system="standard" if console.color_system else None,
            no_color=console.no_color,
            width=1000,
            markup=False,
            emoji=False,
            highlight=False,
            legacy_windows=False,
        )
        self._known: dict[int, tuple[Text, Segment]] = {}

    def painted(self, lines: Sequence[Text]) -> list[Segment]:
        """A segment a line, with a line's end between them."""
        before, self._known = self._known, {}
        frame: list[Segment] = []
        for line in lines:
            known = before.get(id(line)) or (line, self._paint(line))
            self._known[id(line)] = known
            frame += [known[1], Segment.line()]
        return frame[:-1]

    def _paint(self, line: Text) -> Segment:
        with self._paper.capture() as capture:
            self._paper.print(line, end="", soft_wrap=True)
        # A control segment, of whatever kind, goes to the terminal as it is: neither measured nor cut.
        return Segment(capture.get(), None, [(ControlType.BELL,)])
