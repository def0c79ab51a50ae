"""A server process of the bench's own, and a service that starts one for each arm."""

import os
import re
import shutil
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

import psutil

from bench.children import alive_tree, kill_tree, last_words
from bench.ports import free_ports
from bench.postgres.halt import wait_gone
from bench.services.base import Own, Program, ServiceError, look, which

TRIES = 5
"""with how many ports to try, should others take them between our choice and the server's"""
TAKEN = re.compile("address already in use|eaddrinuse|port_already_used", re.IGNORECASE)
"""what a server says then"""


class Daemon(ABC):
    """A server on loopback ports of its own, with all that it keeps, and its log, in one folder.

    It can be killed and launched again, on the same ports, as often as wanted; `stop` ends it for good.
    """

    needs: ClassVar[int] = 1
    """how many ports"""
    within: ClassVar[float] = 30.0
    """seconds that it may take to answer"""

    def __init__(self, program: Program, home: Path, run_id: str) -> None:
        self.program = program
        self.home = home
        self.log = home / "log"
        self.ports: list[int] = []
        self._run_id = run_id
        self._process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def url(self) -> str:
        """What a client is given."""

    @abstractmethod
    def command(self) -> list[str | Path]:
        """What starts it, in the foreground, on the first of its ports and over its folder, in which it is started."""

    def environment(self) -> dict[str, str]:
        """What it is started with; by the mark in it the janitor finds it."""
        return {**os.environ, "LEASEPROOF_RUN": self._run_id}

    def answers(self) -> bool:
        """Whether it is of use, once it listens."""
        return True

    def start(self) -> None:
        """Start one that never ran, on ports that nobody has. Raises ServiceError with the end of its log."""
        self.home.mkdir(mode=0o700)
        for left in reversed(range(TRIES)):
            self.ports = free_ports(self.needs)
            try:
                self.launch()
                return
            except ServiceError:
                if not left or not TAKEN.search(self.log.read_text(errors="replace")):
                    raise
                self.log.unlink()

    def launch(self) -> None:
        """Start it over what it keeps, and wait until it answers. Raises ServiceError with the end of its log."""
        with self.log.open("ab") as log:
            process = self._process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.home,
                env=self.environment(),
                start_new_session=True,
            )
        since = time.monotonic()
        while not (self._listens(process.pid) and self.answers()):
            took = time.monotonic() - since
            if process.poll() is not None:
                raise ServiceError(f"{self.program} ended while starting{last_words(self.log)}")
            if took > self.within:
                self.kill()
                raise ServiceError(f"{self.program} took over {self.within:g} s to start{last_words(self.log)}")
            time.sleep(max(0.002, took / 50))

    def processes(self) -> list[psutil.Process]:
        """All of its processes that are alive; the first is the one that was launched."""
        # Its pid may be another's once it is reaped.
        return alive_tree(self._process.pid) if self._process and self._process.poll() is None else []

    def abort(self) -> int | None:
        """SIGTERM, and the wait for its end; its status, None where it lives on."""
        return self._ended(lambda process: process.terminate())

    def crash(self) -> int | None:
        """kill -9 of all its processes; the status of the one that was launched, None where it lives on."""
        return self._ended(lambda process: kill_tree(process.pid))

    def _ended(self, end: Callable[[subprocess.Popen[bytes]], None]) -> int | None:
        if self._process is None or self._process.poll() is not None:
            return None
        everyone = self.processes()
        end(self._process)
        with suppress(subprocess.TimeoutExpired):
            status = self._process.wait(self.within)
            wait_gone(everyone, self.within)
            self._until_deaf()
            return status
        return None

    def _until_deaf(self) -> None:
        """Wait until nobody listens on its port: a child that was just being born has it for a moment more."""
        deadline = time.monotonic() + self.within
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.ports[0]), 1.0).close()
            except ConnectionRefusedError:
                return
            except OSError:
                pass
            time.sleep(0.005)

    def kill(self) -> None:
        """kill -9 of all its processes; what it keeps stays."""
        if self._process and self._process.poll() is None:
            kill_tree(self._process.pid)
            self._process.wait()

    def stop(self) -> None:
        """End it, and remove all that it kept. Calling it twice does no harm."""
        self.kill()
        if self.home.exists():
            shutil.rmtree(self.home)

    def _listens(self, pid: int) -> bool:
        """Whether the first port is ours, and not somebody's who was faster."""
        for process in alive_tree(pid):
            with suppress(psutil.Error):
                connections = process.net_connections("tcp4")
                if any(c.status == psutil.CONN_LISTEN and c.laddr.port == self.ports[0] for c in connections):
                    return True
        return False


class Private(Own):
    """A service that starts within milliseconds, so that each arm has a server of its own, which it may stop."""

    programs: ClassVar[tuple[str, ...]]
    version_option: ClassVar[str]
    daemon: ClassVar[type[Daemon]]

    @classmethod
    def find(cls) -> Program:
        return look(cls.name, cls.candidates(), cls.version_option, cls.cure)

    @classmethod
    def candidates(cls) -> list[Path]:
        """Where its program may be, best first."""
        return [path for program in cls.programs for path in which(program)]

    def start(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._program = self.find()
        self.version = f"{self._program}, one an arm"

    @contextmanager
    def fresh(self, number: int) -> Iterator[str]:
        with self.own(number) as daemon:
            yield daemon.url

    @contextmanager
    def own(self, number: int) -> Iterator[Daemon]:
        daemon = self.daemon(self._program, self._run_dir / f"{self.name}-{number}", self._run_dir.name)
        try:
            daemon.start()
            yield daemon
        finally:
            daemon.stop()

    def stop(self) -> None:
        """Nothing is left to do: each server ends with its arm."""
