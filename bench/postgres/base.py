"""What every way to a PostgreSQL shares: the error, the server's face, and the hiding of passwords."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.postgres.cluster import Cluster

OLDEST = 14


class PostgresError(Exception):
    """No server, or not a fit one. The message names the thing and the cure, and never holds a password."""


class Unavailable(PostgresError):
    """No server for one arm alone can be had here; the message says why."""


class Server(ABC):
    """A running server for one run."""

    kind: str
    """embedded, system, docker or dsn"""
    version: str
    """as in 18.6"""

    @abstractmethod
    def create_database(self, name: str) -> str:
        """Makes an empty UTF-8 database, sorted by byte, and returns its DSN as a URL. Any thread may call it.

        Raises PostgresError where the server refuses or the name is too long.
        """

    @abstractmethod
    def private(self, run_dir: Path) -> Cluster:
        """A new server for one arm, which it may crash; whoever asked for it stops it. Any thread may call it.

        Raises Unavailable where there can be none, PostgresError where it does not start.
        """

    def drop(self, dsn: str) -> None:  # noqa: B027 - what is not dropped goes with the server, or at the end of the run
        """Drops a database that create_database() made, where that is cheap: thousands of arms fill a disk."""

    @abstractmethod
    def describe(self) -> dict[str, str]:
        """Kind, version and the settings that a result depends on; no password."""

    @abstractmethod
    def stop(self) -> None:
        """Ends the server, or drops what the run made in the user's. Calling it twice does no harm."""


def check_version(number: int) -> None:
    """Raises PostgresError where a server_version_num (as in 130011) is older than the bench can use."""
    if number < OLDEST * 10000:
        raise PostgresError(
            f"the server is PostgreSQL {number // 10000}.{number % 10000}; "
            f"PostgreSQL {OLDEST} or newer is needed: upgrade it, or leave the DSN out to use the embedded server"
        )


_IN_URL = re.compile(r"(://[^:/?#@\s]*):\S*@")
_AS_KEY = re.compile(r"(?i)(\w*password\s*=\s*)(?:'(?:\\.|[^'\\])*'|(?:\\.|\S)+)")


def redact(text: str) -> str:
    """The text with the password of every DSN in it hidden. Where it can't tell the end, it hides too much."""
    return _AS_KEY.sub(r"\1***", _IN_URL.sub(r"\1:***@", text))
