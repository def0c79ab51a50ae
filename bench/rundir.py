"""The folder that holds all that a run leaves on disk, and the removal of what dead runs left."""

import fcntl
import json
import os
import secrets
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from bench.janitor import clean

ROOM = 2 << 30
"""bytes that must be free where a run lives; a matrix takes well under one GiB"""
_GRACE = 60
"""seconds after which a folder without an owner is no longer one that is just being made"""


class RunDirError(Exception):
    """The parent of all runs' folders is not safe to use. The message tells the cure."""


class RunDir:
    """One run's folder: `path`, and `id`, which names the run everywhere.

    The process that makes it holds a lock on `owner.json` until it ends, however it ends. The lock tells the living
    from the dead: pids come again, and clocks jump. What the file says (pid, time of start) is for people.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id = path.name

    @classmethod
    def create(cls, memory: bool = True) -> "RunDir":
        """Makes a folder of mode 0700 below the user's own, in `memory` where there is room for it.

        Raises RunDirError where that is not safe.
        """
        places = _places() if memory else _places()[-1:]
        roomy = [place for place in places if shutil.disk_usage(place).free >= ROOM]
        path = _make((roomy or places[-1:])[0])
        lock = os.open(path / "owner.json", os.O_WRONLY | os.O_CREAT, 0o600)  # never closed: held as long as we live
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.write(lock, json.dumps({"pid": os.getpid(), "started": psutil.Process().create_time()}).encode())
        return cls(path)

    def folder(self, name: str) -> Path:
        """A new, empty folder, which is gone when the run is."""
        path = self.path / "folders" / name
        path.mkdir(parents=True)
        return path


def sweep() -> list[str]:
    """Removes what the runs of dead owners left: processes, servers, containers, folders. Returns their ids."""
    dead: list[Path] = []
    for place in _places():
        with suppress(FileNotFoundError):  # no run is there, or the last one has just ended
            dead += [path for path in _checked(_parent(place)).iterdir() if _is_dead(path)]
    for path in dead:
        clean(path)
    return [path.name for path in dead]


def _is_dead(path: Path) -> bool:
    try:
        with (path / "owner.json").open() as owner:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if owner.read():
                return True
    except BlockingIOError:
        return False
    except (FileNotFoundError, NotADirectoryError):
        pass
    try:
        return time.time() - path.stat().st_mtime > _GRACE
    except FileNotFoundError:
        return False  # another sweep was faster


def _places() -> list[Path]:
    """Where runs may live: in memory where there is enough of it, since forty databases are thousands of files."""
    places = [Path(tempfile.gettempdir())]
    memory = Path("/dev/shm")
    if "TMPDIR" not in os.environ and memory.is_dir() and os.access(memory, os.W_OK):
        places.insert(0, memory)
    return places


def _make(place: Path) -> Path:
    """A new folder for one run. The last run to end removes the parent, perhaps just now."""
    parent, name = _parent(place), secrets.token_hex(4)
    while True:
        with suppress(FileExistsError):
            parent.mkdir(mode=0o700)
        with suppress(FileNotFoundError):
            (_checked(parent) / name).mkdir(mode=0o700)
            return parent / name


def _parent(place: Path) -> Path:
    return place / f"leaseproof-{os.geteuid()}"


def _checked(parent: Path) -> Path:
    found = parent.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise RunDirError(f"{parent} must be a folder of yours, of mode 0700, and no link: remove it, or set TMPDIR")
    return parent
