"""Ending a PostgreSQL server, known only by its data folder: for good, or as a fault does. The janitor uses it, too."""

import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil

GRACE = 1.0
"""seconds that a postmaster gets to end on SIGQUIT; it takes 5 ms unless it is stopped"""
DEADLINE = 5.0
"""seconds until killed processes must be gone"""


def halt(data: Path) -> None:
    """Ends every process of the server over this data folder and removes its shared-memory segment.

    Raises TimeoutError where a process outlives SIGKILL.
    """
    abort(data, GRACE)
    deadline = time.monotonic() + DEADLINE
    while left := members(data):
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes of {data} outlive SIGKILL: {[process.pid for process in left]}")
        kill(left)
        wait_gone(left, 0.1)

    # A clean end takes the file and the segment away. Where the file is still there, so may be the segment.
    _, segment = read_pid_file(data / "postmaster.pid")
    if segment and shutil.which("ipcrm"):
        subprocess.run(["ipcrm", "-m", segment], stderr=subprocess.DEVNULL, check=False)


def abort(data: Path, within: float = DEADLINE) -> None:
    """An immediate shutdown: SIGQUIT to the postmaster, which ends its children. Waits until all are gone, or `within`.

    It writes nothing more, so the next start has to recover.
    """
    everyone = members(data)
    for postmaster in _leader(everyone, data):
        with suppress(psutil.NoSuchProcess):
            postmaster.send_signal(signal.SIGQUIT)
        wait_gone(everyone, within)


def crash(data: Path) -> None:
    """kill -9 of the postmaster and of all its children in one moment. Waits until all are gone, or DEADLINE.

    A backend that outlived its postmaster would keep the shared memory, and with it the next start, for seconds.
    """
    for postmaster in _leader(members(data), data):
        with suppress(psutil.NoSuchProcess):
            postmaster.suspend()  # it forks no more once it is seen to be stopped
            deadline = time.monotonic() + GRACE
            while postmaster.status() != psutil.STATUS_STOPPED and time.monotonic() < deadline:
                time.sleep(0.001)
    everyone = members(data)
    kill(everyone)
    wait_gone(everyone, DEADLINE)


def _leader(processes: list[psutil.Process], data: Path) -> list[psutil.Process]:
    """The postmaster among a server's processes; none where it is gone."""
    pid, _ = read_pid_file(data / "postmaster.pid")
    return [process for process in processes if process.pid == pid]


def members(data: Path) -> list[psutil.Process]:
    """All processes of a server. They work in its data folder, which finds orphans that no tree leads to."""
    folder = str(data.resolve())
    found = []
    for process in psutil.process_iter():
        # Another user's process, or one that just ended.
        with suppress(psutil.Error):
            if process.name() == "postgres" and process.cwd() == folder and alive(process):
                found.append(process)
    return found


def read_pid_file(path: Path) -> tuple[int | None, str | None]:
    """The postmaster's pid and the id of its SysV segment, as far as postmaster.pid tells them."""
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return None, None
    pid = int(lines[0]) if lines and lines[0].isdigit() else None
    segment = lines[6].split() if len(lines) > 6 else []
    return pid, segment[1] if len(segment) == 2 else None


def alive(process: psutil.Process) -> bool:
    """Whether it still runs; a zombie does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def kill(processes: list[psutil.Process]) -> None:
    """SIGKILL to each; a stopped process dies of it too."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def wait_gone(processes: list[psutil.Process], seconds: float) -> None:
    """Waits until none of them runs, at most so long."""
    deadline = time.monotonic() + seconds
    while any(alive(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(0.005)
