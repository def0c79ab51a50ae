"""How busy a line is, where single executions are too many to be drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from reports.story import Execution, Lane
from reports.svg.board import Board
from reports.svg.sheet import num

STEP = 3.0
"""Pixels of one column."""
SHADES = (0.35, 0.55, 0.8, 1.0)
HEIGHT = 16.0


def share(board: Board, lanes: Sequence[Lane], y: float) -> None:
    """The share of them that is busy, as a shade: of the lanes, or of the most that one lane does at once."""
    runs = [run for lane in lanes for run in lane.executions]
    if not runs:
        return
    board.used.add("busy")
    jobs = len({run.job for run in runs})
    drawn = board.lines.group(f"{len(runs)} executions of {jobs} jobs; the darker, the more at once")
    for style, tested in (("shade", False), ("job", True)):
        busy = _busy(board, [run for run in runs if (run.role == "job") == tested])
        most = len(lanes) if len(lanes) > 1 else max([1.0, *busy])
        for i, shade in enumerate(SHADES):
            columns = [k for k, n in enumerate(busy) if n > 0 and min(int(n / most * 4 - 1e-9), 3) == i]
            if d := "".join(_block(board, a, b, y) for a, b in _stretches(columns)):
                drawn.add("path", style, d=d, fill_opacity=f"{shade:g}")


def _busy(board: Board, runs: Iterable[Execution]) -> list[float]:
    """How many ran, on the average, in each column."""
    left, right = board.axis.left, board.axis.right
    columns = int((right - left) / STEP) + 1
    parts, steps = [0.0] * (columns + 1), [0.0] * (columns + 1)
    for run in runs:
        x0 = (board.x(run.start) - left) / STEP
        x1 = max((board.x(run.end) - left) / STEP, x0 + 0.1)
        a, b = int(x0), min(int(x1), columns)
        # A whole column from the first on, less what was before the start and what is after the end.
        steps[a] += 1
        steps[b] -= 1
        parts[a] -= x0 - a
        parts[b] += x1 - b
    return [max(whole + part, 0.0) for whole, part in zip(accumulate(steps), parts, strict=True)][:columns]


def _stretches(columns: Sequence[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for k in columns:
        if found and found[-1][1] == k:
            found[-1] = (found[-1][0], k + 1)
        else:
            found.append((k, k + 1))
    return found


def _block(board: Board, a: int, b: int, y: float) -> str:
    x0 = board.axis.left + a * STEP
    x1 = min(board.axis.left + b * STEP, board.axis.right)
    return f"M{num(x0)} {num(y - HEIGHT / 2)}H{num(x1)}v{num(HEIGHT)}H{num(x0)}z" if x1 > x0 else ""
