"""Cleans up after the bench, in whatever way it ended.

The janitor is a process of its own. It reads its standard input until the bench is gone, be it by `kill -9`, and then
ends and removes all that carries the run's id. It takes orders as JSON lines: {"drop": DSN}, and {"tidy": NAME, "url":
URL} for a service of the user's.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil

from bench import clock
from bench.postgres.account import outside
from bench.postgres.halt import alive, halt, kill, wait_gone

MARK = "LEASEPROOF_RUN"
"""the environment variable that every process of a run is started with; its value is the run's id"""
DEADLINE = 5.0
"""seconds until killed processes must be gone"""
_ENGINE_DELAY = 2.0
"""seconds in which a container that was asked for when the bench died may still appear"""


class JanitorError(Exception):
    """The janitor could not do its work; the cause is on standard error."""


class Janitor:
    """The bench's end of the string: as long as it is held, the janitor waits.

    Start it before anything that it has to clean up.
    """

    def __init__(self, run_dir: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.janitor", str(run_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            bufsize=0,  # a line is written whole or not at all
            cwd=Path(__file__).parent.parent,
            env={key: value for key, value in os.environ.items() if key != MARK},
            start_new_session=True,
        )

    def tell_dsn(self, dsn: str) -> None:
        """Has the run's databases on the user's server dropped at the end. Raises JanitorError if it has died."""
        self._order({"drop": dsn})

    def tell_service(self, name: str, url: str) -> None:
        """Has a service of the user's tidied up at the end. Raises JanitorError if it has died."""
        self._order({"tidy": name, "url": url})

    def _order(self, order: Mapping[str, str]) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
        except BrokenPipeError:
            raise JanitorError(f"the janitor (pid {self._process.pid}) is gone") from None

    def close(self, timeout: float) -> None:
        """Lets the janitor do its work and waits for it. Raises JanitorError if it fails or takes over `timeout` s."""
        assert self._process.stdin
        self._process.stdin.close()
        try:
            status = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise JanitorError(f"the janitor (pid {self._process.pid}) is still at work after {timeout:g} s") from None
        if status:
            raise JanitorError(f"the janitor failed (status {status})")


def clean(run_dir: Path, dsns: Sequence[str] = (), services: Sequence[tuple[str, str]] = ()) -> None:
    """Ends and removes all that a run left. What fails hinders nothing else, and is raised at the end.

    On the user's servers it does so only by their `dsns` and the `services`' names and URLs.
    """
    folders = [run_dir, *outside(run_dir)]
    servers = [*run_dir.glob("*/data"), *(folder / "data" for folder in folders[1:])]
    # An ExitStack runs every step whatever the others raise; it runs the last one first.
    with ExitStack() as steps:
        steps.callback(_remove_if_empty, run_dir.parent)
        for folder in folders:
            steps.callback(_remove, folder)
        for dsn in dsns:
            steps.callback(_drop_databases, dsn, run_dir.name)
        for name, url in services:
            steps.callback(_tidy_service, name, url, run_dir.name)
        steps.callback(_remove_containers, run_dir)
        steps.callback(clock.forget, run_dir.name)
        # Twice: first those that are up, gently; then what came of one that was just starting.
        for data in servers:
            steps.callback(halt, data)
        steps.callback(_kill_marked, run_dir.name)
        for data in servers:
            steps.callback(halt, data)


def _kill_marked(run_id: str) -> None:
    """Kills by the environment that a process was started with: it stays, whatever parent or session it has now."""
    deadline = time.monotonic() + DEADLINE
    while left := [process for process in psutil.process_iter() if _is_marked(process, run_id)]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes of run {run_id} outlive SIGKILL: {[process.pid for process in left]}")
        kill(left)
        wait_gone(left, 0.1)


def _is_marked(process: psutil.Process, run_id: str) -> bool:
    try:
        return process.environ().get(MARK) == run_id and alive(process)
    except (psutil.Error, OSError):
        return False  # another user's, or gone


def _remove_containers(run_dir: Path) -> None:
    listed = run_dir / "containers"
    if listed.exists():
        # Imported only here: it is slow, and most runs have no container.
        from bench.postgres.container import remove

        engine, *ids = listed.read_text().splitlines()
        remove(engine, run_dir.name, patience=0 if ids else _ENGINE_DELAY)


def _drop_databases(dsn: str, run_id: str) -> None:
    from bench.postgres import sql

    sql.drop_databases(dsn, sql.prefix(run_id))


def _tidy_service(name: str, url: str, run_id: str) -> None:
    from bench import services

    services.tidy(name, url, run_id)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):  # other runs are there, or were just as fast
        folder.rmdir()


def _remove(folder: Path) -> None:
    while folder.exists():
        with suppress(FileNotFoundError):  # two may clean at once
            shutil.rmtree(folder)


def main() -> None:
    """Waits for the end of standard input, then cleans the run whose folder is the only argument."""
    for signal_ in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signal_, signal.SIG_IGN)
    orders = [json.loads(line) for line in sys.stdin.buffer]
    dsns = [order["drop"] for order in orders if "drop" in order]
    clean(Path(sys.argv[1]), dsns, [(order["tidy"], order["url"]) for order in orders if "tidy" in order])


if __name__ == "__main__":
    main()
