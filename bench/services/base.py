"""What every service shares: its name, how it is found, and what an arm gets of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from bench.services.daemon import Daemon

_BESIDE_PATH = ("/usr/local/sbin", "/usr/sbin", "/opt/homebrew/sbin")
"""where servers are, and a user's PATH may not lead"""


class ServiceError(Exception):
    """No service, or not a fit one. The message names it and the cure, and never holds a password."""


class NotOurs(ServiceError):
    """A server of the user's, which no arm may stop."""


@dataclass(frozen=True)
class Program:
    """A server's program on this machine; `version` as in 7.0.15."""

    path: Path
    version: str

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version, to be compared."""
        return tuple(map(int, re.findall(r"\d+", self.version)))

    def __str__(self) -> str:
        return f"{self.path.name} {self.version}"


class Service(ABC):
    """Where the arms of one run have a service from."""

    name: ClassVar[str]
    version: str
    """what it is, and whose; known once it is started"""

    @abstractmethod
    def start(self, run_dir: Path) -> None:
        """Make ready for the arms. All that it leaves on disk is below `run_dir`. Raises ServiceError."""

    @abstractmethod
    def fresh(self, number: int) -> AbstractContextManager[str]:
        """Something empty for one arm, as long as it lasts: its URL. Any thread may call it. Raises ServiceError."""

    @abstractmethod
    def own(self, number: int) -> AbstractContextManager[Daemon]:
        """A server for one arm, as long as it lasts, which it may stop. Raises ServiceError."""

    @abstractmethod
    def stop(self) -> None:
        """End what was started, and leave nothing. Calling it twice does no harm."""


class Own(Service):
    """From servers of the bench's own."""

    cure: ClassVar[str]
    """how to get the program"""

    @classmethod
    @abstractmethod
    def find(cls) -> Program:
        """The server's program on this machine. Raises ServiceError, which tells the cure."""

    @classmethod
    def theirs(cls, url: str) -> Theirs:
        """The same from a server of the user's. Raises ServiceError where nothing in it can be set apart for an arm."""
        raise ServiceError(
            f"nothing in a {cls.name} of yours can be set apart for one arm, and arms would get one another's jobs; "
            f"leave it out, and each gets one of its own: {cls.cure}"
        )


class Theirs(Service):
    """From a server of the user's: the bench puts a mark on what it makes or takes in it, and touches nothing else."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._run_id = ""

    @abstractmethod
    def check(self) -> None:
        """Whether it can be used; nothing is done there yet. Raises ServiceError."""

    def start(self, run_dir: Path) -> None:
        self._run_id = run_dir.name

    def own(self, number: int) -> AbstractContextManager[Daemon]:
        raise NotOurs(f"a {self.name} of yours is not stopped; leave it out, and an arm gets one of its own")

    @abstractmethod
    def tidy(self, run_id: str) -> None:
        """Take away what a run has left in it. Raises ServiceError where it can't be reached."""

    def stop(self) -> None:
        if self._run_id:
            self.tidy(self._run_id)


def which(program: str) -> list[Path]:
    """Where a program is: at most one place, on PATH or where servers are besides."""
    found = shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *_BESIDE_PATH]))
    return [Path(found)] if found else []


def look(name: str, candidates: Sequence[Path], option: str, cure: str) -> Program:
    """The first program that runs and, given `option`, tells its version. Raises ServiceError."""
    seen = []
    for path in candidates:
        try:
            told = subprocess.run([path, option], capture_output=True, text=True, check=False)
        except OSError as error:
            seen.append(f"{path} can't be run: {error.strerror}")
            continue
        version = re.search(r"\d+\.\d[\w.-]*", told.stdout)
        if not told.returncode and version:
            return Program(path, version[0])
        seen.append(f"{path} {option} said {(told.stderr or told.stdout).strip()!r}")
    raise ServiceError("; ".join([f"no {name} is installed", *seen]) + f": {cure}")
