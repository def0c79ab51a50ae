"""Counting lines: what is code, and what belongs to which name."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.lines import LIBRARIES, OWN, SCHEMA, NoSuchName, Part, code_lines, counted

SOURCE = '''\
"""A docstring
of two lines."""

import os
from pathlib import (
    Path,
)

LIMIT: int = 3
"""What LIMIT is."""


# A comment.
@decorated(
    1,
)
class Queue:
    """Its docstring."""

    CLAIM: str = """
        UPDATE jobs

        -- a line of the statement
    """
    """What CLAIM does."""

    def claim(self) -> str:
        """Its docstring."""

        # a comment
        return (  # another
            self.CLAIM
        )


def run() -> None:
    import json

    print(os, Path, json)
'''


@pytest.mark.parametrize(
    ("names", "count"),
    [
        ([], 15),
        (["LIMIT"], 1),
        (["Queue"], 12),
        (["Queue.CLAIM"], 4),
        (["Queue.claim"], 4),
        (["Queue", "Queue.claim"], 12),
        (["run"], 2),
    ],
)
def test_a_line_counts_if_there_is_code_on_it(names: list[str], count: int) -> None:
    assert len(code_lines(SOURCE, Part("queue.py", names))) == count


def test_a_name_that_is_not_there_is_told() -> None:
    with pytest.raises(NoSuchName, match=r"queue\.py has no Queue\.heartbeat: reports/lines\.py"):
        code_lines(SOURCE, Part("queue.py", ["Queue.heartbeat"]))


ROOT = Path(__file__).parents[2]


def test_what_is_counted_is_there() -> None:
    counts = counted(ROOT)
    assert [*counts["own"]] == ["schema", *OWN]
    assert all(count > 0 for count in counts["own"].values())
    assert counts["own_total"] == sum(counts["own"].values())
    assert {*counts["libraries"]} == {*LIBRARIES}


def test_no_line_is_counted_twice() -> None:
    files = {part.file for parts in OWN.values() for part in parts}
    most = sum(len(code_lines((ROOT / file).read_text(encoding="utf-8"), Part(file))) for file in files)
    own = counted(ROOT)["own"]
    assert sum(own.values()) - own["schema"] <= most


def test_a_block_that_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / SCHEMA[0]).parent.mkdir()
    (tmp_path / SCHEMA[0]).write_text("-- name: table\nCREATE TABLE jobs (\n\n    -- a comment\n    id int\n);\n")
    with pytest.raises(NoSuchName, match="has no block lease_check"):
        counted(tmp_path)
