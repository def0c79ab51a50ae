"""Child processes: how the bench starts them, waits for them, and ends them with all their descendants."""

import contextlib
import glob
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

import psutil

MEMORY = Path("/dev/shm")

GONE_WITHIN = 5.0
"""Seconds in which processes that were killed are gone."""


class LaunchError(Exception):
    """A process that could not be started; says why."""


class Child(Protocol):
    """A process that somebody waits for. `wait` returns its status; negative is the signal that ended it."""

    pid: int

    def wait(self) -> int: ...


class Launcher(Protocol):
    """Starts one of a subject's two commands, `control` or `worker`; raises LaunchError."""

    def __call__(self, command: str, env: Mapping[str, str], files: tuple[int, int, int]) -> Child: ...


def spawn(argv: list[str], env: Mapping[str, str], files: tuple[int, int, int]) -> Child:
    """Start a program in a session of its own; `files` are its stdin, stdout and stderr. Raises LaunchError."""
    stdin, stdout, stderr = files
    try:
        return subprocess.Popen(argv, env=dict(env), stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True)
    except OSError as error:
        raise LaunchError(f"{argv[0]} could not be started: {error.strerror}") from error


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of a subject's process: the bench's own, its code first on Python's path, and `extra`."""
    root = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1", **extra}


def alive_tree(pid: int) -> list[psutil.Process]:
    """A process and all its descendants; empty when it is gone or a zombie."""
    try:
        parent = psutil.Process(pid)
        if parent.status() == psutil.STATUS_ZOMBIE:
            return []
        return [parent, *_descendants(parent)]
    except psutil.NoSuchProcess:
        return []


def waited_for_cpu(processes: Iterable[psutil.Process]) -> dict[int, float]:
    """How long each of their threads was ready to run and had no CPU so far, in seconds; none where Linux is not."""
    found: dict[int, float] = {}
    for path in (path for process in processes for path in glob.glob(f"/proc/{process.pid}/task/*/schedstat")):
        with contextlib.suppress(OSError, IndexError):  # a thread that has just ended; a kernel without the figures
            found[int(Path(path).parent.name)] = int(Path(path).read_text().split()[1]) / 1e9
    return found


def _descendants(parent: psutil.Process) -> list[psutil.Process]:
    """All below a process. Where the kernel lists a process's children, it is asked: psutil reads all of /proc."""
    try:
        lists = [file.read_text() for file in Path(f"/proc/{parent.pid}/task").glob("*/children")]
    except OSError:
        lists = []
    if not lists:
        return parent.children(recursive=True)
    children = [psutil.Process(int(pid)) for text in lists for pid in text.split() if psutil.pid_exists(int(pid))]
    return [process for child in children for process in (child, *_descendants(child))]


def semaphores(processes: Iterable[psutil.Process]) -> set[Path]:
    """The named semaphores that processes have open: files in memory that whoever is killed leaves behind.

    Linux only; elsewhere they have no files. The kernel knows them by the name under which they were made, before they
    were given their own; so they are found by their inode.
    """
    inodes: set[str] = set()
    for process in processes:
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{process.pid}/maps").read_text().splitlines()
            inodes.update(line.split()[4] for line in lines if f"{MEMORY}/sem." in line)
    return {file for file in MEMORY.glob("sem.*") if str(_inode(file)) in inodes} if inodes else set()


def _inode(file: Path) -> int | None:
    try:
        return file.stat().st_ino
    except OSError:
        return None


def kill_tree(pid: int) -> None:
    """kill -9 of a process and all its descendants."""
    for process in alive_tree(pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def kill_left_behind(leader: int, known: Iterable[psutil.Process] = ()) -> None:
    """kill -9 of whatever the leader of a session has left behind: who is in its session, and who is `known` to be.

    The leader must have been reaped. Again until none is left, since one may have been born meanwhile.
    """
    deadline = time.monotonic() + GONE_WITHIN
    while left := [*_session(leader), *_trees(known)]:
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left, timeout=0.05)
        if time.monotonic() > deadline:
            return  # The janitor looks for them again at the end of the run, by their environment.


def _session(leader: int) -> list[psutil.Process]:
    """Who is alive in the session of a leader that was reaped.

    A number is not given again while a session goes by it. So where it was, there is nobody left of the old session.
    """
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(OSError, psutil.NoSuchProcess):
            if os.getsid(pid) == leader:
                found.append(psutil.Process(pid))
    return [] if psutil.pid_exists(leader) else _trees(found)


def _trees(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those that are alive, with all their descendants."""
    return [each for process in processes if process.is_running() for each in alive_tree(process.pid)]


def how(status: int) -> str:
    """How a process ended, for a message."""
    if status < 0:
        return f"by {signal.Signals(-status).name}"
    return f"with status {status}"


def last_words(log: Path, lines: int = 6) -> str:
    """The end of a log, for a message; empty when it has none."""
    text = log.read_text(encoding="utf-8", errors="replace").rstrip() if log.exists() else ""
    return "; it said last:\n" + "\n".join("    " + line for line in text.splitlines()[-lines:]) if text else ""
