"""One bench for all of these tests: one server, one witness, one nursery; and folders of their own for their runs."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bench import discover, result, runner
from bench.result import ArmResult, ScenarioResult
from bench.runner import Bench, Settings
from bench.scenario import Arm, Scenario
from bench.subject import Subject

PATIENCE = 60.0
"""Seconds: a bound for a loaded machine, not an expectation."""

LEASEPROOF = Path(sys.executable).with_name("leaseproof")


def until(condition: Callable[[], object], what: str, within: float = PATIENCE) -> None:
    """Wait until something holds that tells no event."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, f"not within {within:g} s: {what}"
        time.sleep(0.005)


class Quiet:
    """Watches a run, and remembers how its arms ended."""

    def __init__(self) -> None:
        self.ended: list[tuple[str, str, bool]] = []

    def arm_started(self, scenario: str, arm: str, history: Any) -> None: ...

    def arm_ended(self, scenario: str, arm: str, verdict: str, as_expected: bool) -> None:
        self.ended.append((arm, verdict, as_expected))


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> Iterator[None]:
    """SIGINT as it is by default: one that pytest was started to ignore (a shell's `&`) every child would ignore, too.

    A signal that is caught is reset when a child is executed; one that is ignored stays so, and no Ctrl-C would come.
    """
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="package", autouse=True)
def _places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Temporary files and a cache of our own, in memory where that is to be had; no settings of the user's."""
    tmp_path_factory.getbasetemp()  # before TMPDIR is ours: it must outlive these tests
    memory = Path("/dev/shm")
    place = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        patch.setenv("XDG_CACHE_HOME", f"{folder}/cache")
        for name in ("LEASEPROOF_POSTGRES", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONIOENCODING", "LC_ALL"):
            patch.delenv(name, raising=False)
        patch.setattr(tempfile, "tempdir", None)
        yield
    tempfile.tempdir = None


@pytest.fixture(scope="package")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """The shared bench. Its arms are queue_core's, warm; its lease is half a second."""
    settings = Settings(subject=discover.subject("queue_core"), out=tmp_path_factory.mktemp("out"), lease=0.5)
    with runner.bench(settings, discover.scenarios()) as running:
        yield running


@dataclass(frozen=True)
class Outcome:
    """What came of one arm."""

    arm: ArmResult

    @property
    def verdict(self) -> str:
        return self.arm.verdict.verdict

    @property
    def anomalies(self) -> set[str]:
        return self.arm.verdict.names

    @property
    def said(self) -> str:
        """All that a reader is told."""
        return "\n".join([self.arm.verdict.reason, *(anomaly.text for anomaly in self.arm.verdict.anomalies)])

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.arm.events if event["event"] == kind]


Play = Callable[..., Outcome]


@pytest.fixture(scope="package")
def play(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Run one arm of a scenario, with another subject if one is given."""

    def play(
        scenario: Scenario,
        *,
        subject: Subject | None = None,
        fault: bool = True,
        lease: float = 0.5,
        twin: bool = False,
    ) -> Outcome:
        settings = replace(bench.settings, out=tmp_path_factory.mktemp("play"), lease=lease)
        running = replace(bench, settings=settings, launch=subject.launch if subject else bench.launch)
        arm = Arm(scenario, scenario.twins[0] if twin else None, fault)
        return Outcome(running.run(arm, Quiet()))

    return play


def exit_code(scenario: Scenario, outcomes: Sequence[Outcome]) -> int:
    """What `leaseproof` would exit with."""
    return result.EXIT_CODES[result.overall([ScenarioResult(scenario, {}, [it.arm for it in outcomes]).status[0]])]


@pytest.fixture(scope="package")
def dsn(bench: Bench) -> str:
    """A server that belongs to the user, as far as a run can see: its DSN, with a password."""
    return bench.server.create_database("theirs")


def password(dsn: str) -> str:
    return str(psycopg.conninfo.conninfo_to_dict(dsn)["password"])


STALLED = "the machine just stalled"
"""What a run is refused with when this machine is too busy at its start; nothing can be said then but `again`."""


def leaseproof(*arguments: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, its streams in pipes."""
    done = subprocess.run(
        [LEASEPROOF, *arguments],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=PATIENCE,
    )
    return leaseproof(*arguments, cwd=cwd, **variables) if STALLED in done.stderr else done


@pytest.fixture
def _signals() -> Iterator[None]:
    """`main` takes SIGTERM for itself."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)
