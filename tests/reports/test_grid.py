"""Subjects side by side: which go on which page, how long names are broken, and hostile ones held in their columns."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from rich.text import Text

from reports.grid import Grid
from reports.signs import signs

ROWS = ["worker-death", "deploys-are-not-failures"]
EVIL = ["<script>alert(1)</script>", "a|b`c\x1b[2J", "\u202egnp.exe", "x" * 10_000, "-" * 300, "\u4e2d\u6587" * 20, ""]


def both(*names: str) -> list[tuple[str, str]]:
    return [(name, profile) for name in names for profile in ("default", "tuned")]


def heads(grid: Grid, page: int = 0) -> list[str]:
    return [line.plain for line in grid.head(page)]


def test_a_long_name_is_broken_at_the_seam_that_makes_it_narrowest() -> None:
    grid = Grid(both("django-tasks-db", "rq", "procrastinate", "pg-boss"), ["a"], 80, signs(True))
    assert heads(grid) == [
        "            django-",
        "            tasks-db  rq     procrastinate  pg-boss",
        "  scenario  d  t      d  t   d  t           d  t",
        "  -------------------------------------------------",
    ]


def test_pages_are_as_few_as_can_be_and_none_is_much_emptier() -> None:
    grid = Grid(both(*(f"queue{n}" for n in range(10))), ["a"], 12 + 9 * 8, signs(True))
    assert [len(page) for page in grid.pages] == [5, 5]


def test_a_cell_stands_under_its_profile() -> None:
    grid = Grid(both("one", "two"), ROWS, 60, signs(True))
    row = grid.row(0, ROWS[0], lambda column: Text(f"{column}!"))
    letters = grid.head(0)[-2].plain
    assert row.plain.index("3!") == letters.rindex("t")


def test_without_subjects_there_is_an_empty_page() -> None:
    grid = Grid([], ROWS, 60, signs(True))
    assert grid.row(0, ROWS[0], lambda _: Text()).plain == "  worker-death"
    assert heads(grid)


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120, 200])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_hostile_names_stay_in_their_columns(width: int, ascii_only: bool) -> None:
    grid = Grid(both(*EVIL), [*ROWS, *EVIL], width, signs(ascii_only))
    lines = []
    for page in range(len(grid.pages)):
        lines += grid.head(page, "page 1 of 100,000,000")
        lines += [grid.row(page, name, lambda _: Text("++")) for name in (*ROWS, *EVIL)]
    assert all(cell_len(line.plain) <= width for line in lines)
    shown = "".join(line.plain for line in lines)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert not ascii_only or shown.isascii()
