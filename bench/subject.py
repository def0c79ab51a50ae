"""A subject: the queue under test behind the contract. One control process, any number of worker processes."""

import contextlib
import json
import os
import queue
import signal
import sys
import threading
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import psutil

from bench.children import Child, Launcher, LaunchError, alive_tree, environment, how, kill_tree, last_words, spawn
from bench.contract import PROTOCOL, AdapterFault
from bench.history import History

ANSWER_WITHIN = 30.0
"""Seconds that a control process may take for one answer before it counts as hung."""

_KEYS = {
    "name": str,
    "protocol": int,
    "control": list,
    "worker": list,
    "scheduler": list,
    "services": list,
    "warm": str,
    "twins": bool,
}
_REQUIRED = ("name", "protocol", "control", "worker")


class SubjectError(Exception):
    """A subject.toml that cannot be used; names the file, the key and the cure."""


@dataclass(frozen=True)
class Subject:
    """What subject.toml says. `warm` is a function that serves both commands in Python; `twins`: it can load one."""

    name: str
    commands: Mapping[str, tuple[str, ...]]
    folder: Path
    warm: str = ""
    twins: bool = False

    @classmethod
    def load(cls, folder: Path) -> "Subject":
        """Read FOLDER/subject.toml. Raises SubjectError."""
        path = folder / "subject.toml"
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise SubjectError(f"cannot read {path}: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SubjectError(f"{path} is not TOML: {error}") from error
        for key, value in table.items():
            if key not in _KEYS:
                raise SubjectError(f"{path} has the unknown key {key!r}; known are: {', '.join(_KEYS)}")
            if not isinstance(value, _KEYS[key]):
                raise SubjectError(f"{path}: {key} must be a {_KEYS[key].__name__}, not {value!r}")
        for key in _REQUIRED:
            if key not in table:
                raise SubjectError(f"{path} lacks the key {key!r}")
        if table["protocol"] != PROTOCOL:
            raise SubjectError(f"{path} is for protocol {table['protocol']}; this leaseproof speaks {PROTOCOL}")
        if table.get("services", ["postgres"]) != ["postgres"]:
            raise SubjectError(f"{path}: the only service that this leaseproof can start is postgres")
        given: list[str] = [command for command in ("control", "worker", "scheduler") if command in table]
        commands = {command: tuple(map(str, table[command])) for command in given}
        return cls(table["name"], commands, folder, table.get("warm", ""), table.get("twins", False))

    def launch(self, command: str, env: Mapping[str, str], files: tuple[int, int, int]) -> Child:
        """Start a command afresh, `{python}` (the bench's own) and `{folder}` filled in. Raises LaunchError."""
        places = {"{python}": sys.executable, "{folder}": str(self.folder)}
        argv = [places.get(part, part.replace("{folder}", str(self.folder))) for part in self.commands[command]]
        return spawn(argv, env, files)


class Control:
    """The long-lived control process: one JSON object a line on stdin and stdout, stderr kept as a log."""

    def __init__(self, launch: Launcher, extra: Mapping[str, str], log: Path) -> None:
        self._log = log
        self._asked = 0
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._unsent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        (its_stdin, mine), (answers, its_stdout) = os.pipe(), os.pipe()
        self._requests: IO[bytes] = os.fdopen(mine, "wb")
        try:
            with log.open("ab") as stderr:
                self._child = launch("control", environment(extra), (its_stdin, its_stdout, stderr.fileno()))
        except LaunchError as error:
            self._requests.close()
            os.close(answers)
            raise AdapterFault(f"the control process: {error}") from error
        finally:
            os.close(its_stdin)
            os.close(its_stdout)
        threading.Thread(target=self._read, args=(os.fdopen(answers, "rb"),), daemon=True).start()
        threading.Thread(target=self._write, daemon=True).start()

    def _read(self, answers: IO[bytes]) -> None:
        with answers:
            for line in answers:
                self._lines.put(line)
        self._lines.put(None)

    def _write(self) -> None:
        # On a thread of its own, since a process that does not read makes its writer wait.
        with (
            contextlib.suppress(BrokenPipeError),
            self._requests,
        ):  # Dead: the missing answer tells so, with its status.
            while (message := self._unsent.get()) is not None:
                self._requests.write(message)
                self._requests.flush()

    def ask(self, request: str, within: float | None = None, **fields: Any) -> dict[str, Any]:
        """Send one request and return its answer. Raises AdapterFault when it dies, hangs, refuses or talks rubbish."""
        within = ANSWER_WITHIN if within is None else within
        self._asked += 1
        self._unsent.put(json.dumps({"id": self._asked, "request": request, **fields}).encode() + b"\n")
        try:
            line = self._lines.get(timeout=within)
        except queue.Empty:
            raise AdapterFault(f"the control process hung: no answer to `{request}` in {within:g} s") from None
        if line is None:
            kill_tree(self._child.pid)  # It may live on with its stdout closed, which is as good as dead.
            status = how(self._child.wait())
            raise AdapterFault(f"the control process died at `{request}` {status}{last_words(self._log)}")
        return self._answer(request, line)

    def _answer(self, request: str, line: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            raise AdapterFault(f"the control process printed rubbish at `{request}`: {line[:120]!r}") from None
        if not isinstance(answer, dict) or answer.get("id") != self._asked:
            raise AdapterFault(f"the control process answered `{request}` out of turn: {line[:120]!r}")
        if "error" in answer:
            raise AdapterFault(f"the control process could not do `{request}`: {answer['error']}")
        if not isinstance(answer.get("answer"), dict):
            raise AdapterFault(f"the control process answered `{request}` without an `answer`: {line[:120]!r}")
        result: dict[str, Any] = answer["answer"]
        return result

    @property
    def pid(self) -> int:
        return self._child.pid

    def wait(self) -> int:
        """Wait until it is reaped, and return its status."""
        return self._child.wait()

    def close(self) -> None:
        """End it, whatever state it is in."""
        kill_tree(self._child.pid)
        self._child.wait()
        self._unsent.put(None)


class Worker:
    """One worker process (or tree) under a name; its end goes into the history the moment that it is reaped.

    A scheduler is one, too: `command` says as what it is started.
    """

    def __init__(
        self, name: str, command: str, launch: Launcher, extra: Mapping[str, str], log: Path, history: History
    ) -> None:
        self.name = name
        self.log = log
        self.history = history
        self.dismissed = False
        with log.open("ab") as output, open(os.devnull, "rb") as nothing:
            files = (nothing.fileno(), output.fileno(), output.fileno())
            try:
                self._child = launch(command, environment(extra), files)
            except LaunchError as error:
                raise AdapterFault(f"{command} {name}: {error}") from error
        self.pid = self._child.pid
        self._reaper = threading.Thread(target=self._reap, daemon=True)

    def watch(self) -> None:
        """Begin to wait for its end."""
        self._reaper.start()

    def _reap(self) -> None:
        status = self._child.wait()
        self.history.add("exited", worker=self.name, pid=self.pid, status=status)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the parent process alone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def tree(self) -> list[psutil.Process]:
        """The process and all its descendants that are alive."""
        return alive_tree(self.pid)

    def cpu_seconds(self) -> float:
        """What it and all its descendants that are alive have burnt so far, in seconds."""
        times = [process.cpu_times() for process in self.tree()]
        return sum(time.user + time.system for time in times)

    def close(self) -> None:
        """End it, whatever state it is in, and wait until it is reaped."""
        kill_tree(self.pid)
        self._reaper.join()
