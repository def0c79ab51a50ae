"""A subject: the queue under test behind the contract. One control process, any number of worker processes."""

import contextlib
import difflib
import json
import os
import queue
import signal
import sys
import threading
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil

from bench import services
from bench.children import (
    Child,
    Launcher,
    LaunchError,
    alive_tree,
    environment,
    how,
    kill_left_behind,
    kill_tree,
    last_words,
    semaphores,
    spawn,
    waited_for_cpu,
)
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
    "make": list,
    "profiles": dict,
}
_REQUIRED = ("name", "protocol", "control", "worker")

PROFILES = ("default", "tuned")
"""As the queue's own documentation has it on its first page, and as an expert sets it for the lease of a run."""


KNOWN = "known.toml"
"""In a subject's folder: the record of what is known of it, see bench/expect.py."""


class SubjectError(Exception):
    """A subject.toml that cannot be used; names the file, the key and the cure."""


@dataclass(frozen=True)
class Subject:
    """What subject.toml says. `warm` is a function that serves both commands in Python; `twins`: it can load one.

    `make` are the commands that make its own environment, and `profiles` what it says of each of PROFILES, if anything.
    """

    name: str
    commands: Mapping[str, tuple[str, ...]]
    folder: Path
    warm: str = ""
    twins: bool = False
    services: tuple[str, ...] = ("postgres",)
    make: tuple[tuple[str, ...], ...] = ()
    profiles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

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
                raise SubjectError(_unknown(f"{path} has the unknown key", key, _KEYS))
            if not isinstance(value, _KEYS[key]):
                raise SubjectError(f"{path}: {key} must be a {_KEYS[key].__name__}, not {value!r}")
        for key in _REQUIRED:
            if key not in table:
                raise SubjectError(f"{path} lacks the key {key!r}")
        if table["protocol"] != PROTOCOL:
            raise SubjectError(f"{path} is for protocol {table['protocol']}; this leaseproof speaks {PROTOCOL}")
        needed = tuple(map(str, table.get("services", ["postgres"])))
        for service in needed:
            if service not in services.NAMES:
                raise SubjectError(f"{path}: {services.unknown(service)}")
        make = table.get("make", [])
        if not all(isinstance(command, list) and command for command in make):
            raise SubjectError(f"{path}: make must be a list of commands, each a list of strings, not {make!r}")
        _check_profiles(path, table.get("profiles", {}))
        given: list[str] = [command for command in ("control", "worker", "scheduler") if command in table]
        return cls(
            table["name"],
            {command: tuple(map(str, table[command])) for command in given},
            folder,
            table.get("warm", ""),
            table.get("twins", False),
            needed,
            tuple(tuple(map(str, command)) for command in make),
            table.get("profiles", {}),
        )

    @property
    def env(self) -> Path:
        """The folder of its own environment, which `make` makes."""
        return self.folder / ".env"

    def argv(self, command: Sequence[str]) -> list[str]:
        """A command with `{python}` (the bench's own), `{folder}` and `{env}` filled in."""
        places = {"{python}": sys.executable, "{folder}": str(self.folder), "{env}": str(self.env)}
        filled = []
        for part in command:
            for place, value in places.items():
                part = part.replace(place, value)
            filled.append(part)
        return filled

    def environment(self, profile: str) -> dict[str, str]:
        """What its processes are told of a profile: its name, and what subject.toml sets in it, as JSON."""
        about = self.profiles.get(profile, {})
        settings = {key: value for key, value in about.items() if key not in _ABOUT}
        return {"LEASEPROOF_PROFILE": profile, "LEASEPROOF_SETTINGS": json.dumps(settings)}

    def launch(self, command: str, env: Mapping[str, str], files: tuple[int, int, int]) -> Child:
        """Start a command afresh. Raises LaunchError."""
        if command not in self.commands:
            raise LaunchError(f"{self.folder / 'subject.toml'} has no command `{command}`")
        argv = self.argv(self.commands[command])
        try:
            return spawn(argv, env, files)
        except LaunchError as error:
            if self.make and not self.env.exists():
                raise LaunchError(f"{error}; make its environment first: leaseproof make {self.folder.name}") from error
            raise


_ABOUT = ("about", "docs")
"""What a profile says of itself: a sentence, and the page of the queue's documentation that it follows."""


def _check_profiles(path: Path, profiles: Mapping[str, Any]) -> None:
    for name, profile in profiles.items():
        if name not in PROFILES:
            raise SubjectError(_unknown(f"{path} has the unknown profile", name, PROFILES))
        if not isinstance(profile, dict):
            raise SubjectError(f"{path}: profiles.{name} must be a table, not {profile!r}")
    for name in PROFILES if profiles else ():
        for key in _ABOUT:
            if not isinstance(profiles.get(name, {}).get(key), str):
                raise SubjectError(f"{path}: [profiles.{name}] lacks the key {key!r}, a string")


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, known := list(known), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{what} {name!r}; {hint}known are: {', '.join(known)}"


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
        self.say(request, **fields)
        try:
            line = self._lines.get(timeout=within)
        except queue.Empty:
            raise AdapterFault(f"the control process hung: no answer to `{request}` in {within:g} s") from None
        if line is None:
            kill_tree(self._child.pid)  # It may live on with its stdout closed, which is as good as dead.
            status = how(self._child.wait())
            raise AdapterFault(f"the control process died at `{request}` {status}{last_words(self._log)}")
        return self._answer(request, line)

    def say(self, request: str, **fields: Any) -> None:
        """Send one request, and wait for nothing: for `stop`, which needs no answer."""
        self._asked += 1
        self._unsent.put(json.dumps({"id": self._asked, "request": request, **fields}).encode() + b"\n")

    def hang_up(self) -> None:
        """Close its stdin."""
        self._unsent.put(None)

    def ended_within(self, seconds: float) -> int | None:
        """Its status, if it ends by itself in so many seconds."""
        waiter = threading.Thread(target=self._child.wait, daemon=True)
        waiter.start()
        waiter.join(seconds)
        return None if waiter.is_alive() else self._child.wait()

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
        self.orphans: list[psutil.Process] = []
        """Its children that may have outlived it, wherever they are now."""
        self._semaphores: set[Path] = set()
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
        if number == signal.SIGKILL:
            self._semaphores |= semaphores(self.tree())
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def tree(self) -> list[psutil.Process]:
        """The process and all its descendants that are alive."""
        return alive_tree(self.pid)

    def cpu_seconds(self) -> float:
        """What it and all its descendants have burnt so far, in seconds: those that are alive, or were waited for."""
        times = [process.cpu_times() for process in self.tree()]
        return sum(t.user + t.system + t.children_user + t.children_system for t in times)

    def waited(self) -> dict[int, float]:
        """How long each thread of the tree that is alive was ready to run and had no CPU so far, in seconds.

        Nothing where the kernel does not tell it.
        """
        return waited_for_cpu(self.tree())

    def close(self) -> None:
        """End it, whatever state it is in, wait until it is reaped, and end what it has left behind."""
        if self._reaper.is_alive():  # else its number may be another's by now
            self._semaphores |= semaphores(self.tree())
            kill_tree(self.pid)
        self._reaper.join()
        kill_left_behind(self.pid, self.orphans)
        for file in self._semaphores:
            file.unlink(missing_ok=True)
