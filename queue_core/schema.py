"""The named blocks of schema.sql, and how they get into a database."""

import re
from importlib.resources import files
from typing import Any, LiteralString, cast

import psycopg

_LOCK: LiteralString = "SELECT pg_advisory_xact_lock(hashtextextended('queue_core.install', 0))"


def _blocks(sql: str) -> dict[str, LiteralString]:
    parts = re.split(r"^-- name: (\w+)\n", sql, flags=re.MULTILINE)
    return dict(zip(parts[1::2], cast(list[LiteralString], parts[2::2]), strict=True))


BLOCKS = _blocks(files(__package__).joinpath("schema.sql").read_text("utf-8"))
"""The blocks of schema.sql by name."""


def install(connection: psycopg.Connection[Any], *blocks: LiteralString) -> None:
    """Create what is missing of some blocks, in one transaction: their own, or the caller's.

    It may be run again, and by several processes at once. Raises psycopg.Error as the connection does.
    """
    # Several statements sent as one are one transaction. The lock makes concurrent installs queue up, since
    # IF NOT EXISTS alone lets two of them collide.
    connection.execute(";\n".join([_LOCK, *blocks]))
