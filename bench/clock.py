"""A wall clock that the bench can set, for one worker: libfaketime, preloaded, which reads its offset from a file.

Nothing but CLOCK_REALTIME is off. Whatever waits, waits as long as ever: Python and most runtimes wait by the monotonic
clock, and the one call left that goes by the other, pthread_cond_timedwait, is put right by the library itself.
"""

import ctypes
import importlib.util
import os
import secrets
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

MISSING = (
    "a clock that the bench can set needs libfaketime, on Linux on x86-64, and a Python whose timeouts don't go by the "
    "wall clock: pip install 'leaseproof[clock]'"
)
"""Why there is none, and the cure."""

LIBRARY = "vendor/libfaketime/src/libfaketime.so.1"

SHARED = Path("/dev/shm")
"""Where semaphores and shared memory are files."""

PATIENCE = 10.0
"""Seconds that the trial may take."""

TRIAL = """
import threading, time
print(time.time())
for wait in threading.Event().wait, time.sleep:
    before = time.monotonic()
    wait(0.01)
    assert time.monotonic() - before >= 0.01
"""

BEHIND = -10_000.0
"""Seconds that the clock of the trial is off: a wait that went by it would be over at once."""


class ClockError(Exception):
    """There is no clock that could be set; says what would help."""


@cache
def library() -> Path | None:
    """The library, tried out with this Python; None where there is none that does it, and MISSING then says the cure.

    Debian's own package won't do: under it a process cannot sleep until a moment of a clock that is not faked.
    """
    spec = importlib.util.find_spec("libfaketime")
    for folder in (spec and spec.submodule_search_locations) or []:
        path = Path(folder).resolve() / LIBRARY
        if path.exists() and _works(path):
            return path
    return None


def _works(path: Path) -> bool:
    """Whether it takes a Python's wall clock back, and nothing else with it."""
    command = [sys.executable, "-I", "-S", "-c", TRIAL]
    environment = {**os.environ, **_preload(path), "FAKETIME": f"{BEHIND:+f}"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE, check=True)
        return abs(float(done.stdout) - time.time() - BEHIND) < PATIENCE
    except (OSError, ValueError, subprocess.SubprocessError):
        return False


def _preload(path: Path) -> dict[str, str]:
    """By its name, from a folder: a path with a space in it can't be preloaded."""
    folders, libraries = os.environ.get("LD_LIBRARY_PATH"), os.environ.get("LD_PRELOAD")
    return {
        "LD_LIBRARY_PATH": ":".join(filter(None, [str(path.parent), folders])),
        "LD_PRELOAD": ":".join(filter(None, [path.name, libraries])),
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        # 1, which it would be by itself, is for a libc that asks the faked clock itself; on any other it spoils waits.
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",
        "FAKETIME_NO_CACHE": "1",
    }


class Clock:
    """The wall clock of one worker, right at first; `environment` is what that worker is started with.

    `file` has the offset. The library shares a semaphore and a page of memory with a process's children, and leaves
    both behind when it is killed; so it is given some that bear the run's id, and `forget` removes them.

    Raises ClockError where there is no library.
    """

    def __init__(self, file: Path, run_id: str) -> None:
        path = library()
        if path is None:
            raise ClockError(MISSING)
        self.file = file.absolute()
        self.set(0)
        name = f"{_prefix(run_id)}{secrets.token_hex(4)}"
        self.environment = {
            **_preload(path),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_SHARED": f"/{name} /{name}",
        }
        libc = ctypes.CDLL(None, use_errno=True)
        libc.sem_open.restype = ctypes.c_void_p
        semaphore = libc.sem_open(f"/{name}".encode(), os.O_CREAT | os.O_EXCL, 0o600, 1)
        if semaphore is None:
            raise ClockError(f"no semaphore for libfaketime: {os.strerror(ctypes.get_errno())}")
        libc.sem_close(ctypes.c_void_p(semaphore))
        (SHARED / name).write_bytes(bytes(4096))

    def set(self, seconds: float) -> None:
        """Put the clock so far ahead (or, negative, behind), from the next time that it is asked."""
        new = self.file.with_name(self.file.name + ".new")
        # Always as long: the library's threads may read the old and the new one at once.
        new.write_text(f"{seconds:+015.6f}\n")
        new.replace(self.file)


def forget(run_id: str) -> None:
    """Remove what the clocks of a run share."""
    for file in SHARED.glob(f"*{_prefix(run_id)}*"):
        file.unlink(missing_ok=True)


def _prefix(run_id: str) -> str:
    return f"leaseproof_{run_id}_"
