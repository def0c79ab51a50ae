"""The bench's side of the cases: a real witness, and a kit's two programs, built once and started as a bench does."""

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bench.history import History
from bench.witness import Desk, Witness

pytest.register_assert_rewrite("tests.kits.cases")

HERE = Path(__file__).parent
KITS = HERE.parents[1] / "bench" / "kits"

PATIENCE = 60.0
"""Seconds: a bound for a loaded machine, not an expectation."""

TOOLS = ("key", "lost", "once", "connection", "tick")

WORKER = "wörker-1"
"""The name of the worker in all cases."""


@dataclass(frozen=True)
class Kit:
    """A kit under test: the two small programs that are written with it (cases.py says what they do).

    In commands and in `env`, {kits} is bench/kits, {here} is tests/kits, and {out} an empty folder for what `build`
    makes; `build` is run once. `tools` are those of TOOLS that the puppet can be given. `loop`: jobs that run at once
    share one event loop, which `block` and `spin` hold up. `programs` are what must be installed, and how to get it.
    """

    worker: Sequence[str]
    control: Sequence[str]
    build: Sequence[Sequence[str]] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    tools: Sequence[str] = TOOLS
    loop: bool = False
    programs: Mapping[str, str] = field(default_factory=dict)


class Program:
    """One of a kit's two programs, running: JSON lines from its stdout, and to its stdin."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], log: Path) -> None:
        self.log = log
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        with log.open("wb") as stderr:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                argv, env=env, stdin=pipe, stdout=pipe, stderr=stderr, start_new_session=True
            )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def write(self, raw: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def say(self, **message: Any) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def hear(self) -> Any:
        """The next line; None when it has closed its stdout."""
        line = self._lines.get(timeout=PATIENCE)
        return None if line is None else json.loads(line)

    @property
    def is_quiet(self) -> bool:
        """Whether there is nothing to hear now."""
        return self._lines.empty()

    def end(self) -> int:
        """Close its stdin, wait until it ends by itself, and return its status; negative is a signal."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        """End it, whatever state it is in; what it said on stderr is shown where the case fails."""
        if self.process.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream
            try:
                stream.close()
            except BrokenPipeError:
                continue  # It has ended with something unread.
        print(self.log.read_text(encoding="utf-8", errors="replace"), file=sys.stderr)


@pytest.fixture(scope="session")
def witness() -> Iterator[Witness]:
    with Witness() as witness:
        yield witness


@pytest.fixture
def desk(witness: Witness) -> Iterator[Desk]:
    desk = witness.desk(History())
    yield desk
    witness.dismiss(desk)


@pytest.fixture(scope="class")
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What the places in a kit's commands stand for, after it was built; skipped where a program is missing."""
    kit: Kit = request.cls.kit
    for program, how in kit.programs.items():
        if shutil.which(program) is None:
            why = f"{program} is not installed; get it by: {how}"
            if os.environ.get("LEASEPROOF_TEST_SERVICES") == "1":
                pytest.fail(why)
            pytest.skip(why)
    places = {"{kits}": str(KITS), "{here}": str(HERE), "{out}": str(tmp_path_factory.mktemp("kit"))}
    env = {**os.environ, **{name: filled(value, places) for name, value in kit.env.items()}}
    for command in kit.build:
        argv = [filled(part, places) for part in command]
        done = subprocess.run(argv, env=env, cwd=places["{out}"], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.fail(f"{' '.join(argv)} ended with status {done.returncode}\n{done.stdout}{done.stderr}")
    return places


def filled(text: str, places: Mapping[str, str]) -> str:
    for place, value in places.items():
        text = text.replace(place, value)
    return text


Start = Callable[..., Program]


@pytest.fixture
def start(
    request: pytest.FixtureRequest, built: Mapping[str, str], witness: Witness, desk: Desk, tmp_path: Path
) -> Iterator[Start]:
    """Start one of the kit's programs, under the environment that a bench gives; `more` is set besides."""
    kit: Kit = request.cls.kit
    started: list[Program] = []

    def start(command: Sequence[str], *arguments: str, **more: str) -> Program:
        env = {
            **os.environ,
            **{name: filled(value, built) for name, value in kit.env.items()},
            "LC_ALL": "C.UTF-8",
            "LEASEPROOF_WITNESS": witness.address,
            "LEASEPROOF_TOKEN": desk.token,
            "LEASEPROOF_WORKER": WORKER,
            "LEASEPROOF_OPTIONS": "{}",
            "LEASEPROOF_PROFILE": "default",
            "LEASEPROOF_LEASE": "1.0",
            "LEASEPROOF_SEED": "1",
            **more,
        }
        argv = [*(filled(part, built) for part in command), *arguments]
        started.append(Program(argv, env, tmp_path / f"{len(started)}.log"))
        return started[-1]

    yield start
    for program in started:
        program.close()
