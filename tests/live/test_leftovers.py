"""However a run ends, nothing of it is left: no process, no server, no folder, no database."""

import os
import random
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from bench.janitor import MARK
from bench.postgres.halt import alive
from tests.live.conftest import LEASEPROOF, STALLED, until

GONE_WITHIN = 10.0
"""Seconds that the janitor may take after the bench's end, however that came."""

CTRL_C, SIGTERM, SIGKILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL


class Run:
    """A `leaseproof run` of two arms of heartbeat, in a process of its own, with a place of its own for its folder."""

    def __init__(self, place: Path, postgres: str, lease: float) -> None:
        self.place, self.postgres = place, postgres
        self.parent = place / f"leaseproof-{os.geteuid()}"
        options = ["--arms", "sound", "--lease", str(lease), "--postgres", postgres, "--out", str(place / "out")]
        self.process = subprocess.Popen(
            [LEASEPROOF, "run", "heartbeat", *options],
            env={**os.environ, "TMPDIR": str(place)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def begun(self) -> bool:
        """Wait until it has a folder; False if this machine stalled so much just now that it was refused."""
        until(lambda: self.folders() or self.process.poll() is not None, "the run has a folder")
        if not self.folders():
            assert STALLED in self.end()[2]
            return False
        self.id = self.folders()[0].name
        return True

    def folders(self) -> list[Path]:
        return list(self.parent.iterdir()) if self.parent.exists() else []

    def processes(self) -> list[psutil.Process]:
        """All that bear the run's id, the server's included."""
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def _is_ours(self, process: psutil.Process) -> bool:
        with suppress(psutil.Error, OSError):
            ours = process.environ().get(MARK) == self.id
            return (ours or f"/{self.id}/" in " ".join(process.cmdline())) and alive(process)
        return False

    def databases(self) -> list[str]:
        """Those on the user's server."""
        if "://" not in self.postgres:
            return []
        with psycopg.connect(self.postgres) as connection:
            names = connection.execute(
                "SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [f"leaseproof_{self.id}"]
            )
            return [name for (name,) in names]

    def under_way(self) -> bool:
        """Whether a worker was started, and so everything else."""
        return any((self.place / "out").rglob("owner.log"))

    def left(self) -> list[object]:
        return [*self.processes(), *self.folders(), *self.databases()]

    def end(self, number: signal.Signals | None = None) -> tuple[int, str, str]:
        """Wait for the end, after a signal if one is given: the exit code, stdout and stderr."""
        if number:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err

    def leaves_nothing(self) -> None:
        until(lambda: not self.left(), f"nothing is left of run {self.id}", GONE_WITHIN)
        assert [path.name for path in self.place.iterdir() if path.name.startswith("leaseproof-nobody")] == []


Begin = Callable[..., Run]


@pytest.fixture
def begin(dsn: str) -> Iterator[Begin]:
    """Start a run on a server of its own, or on the user's."""
    runs: list[Run] = []
    with ExitStack() as stack:

        def begin(server: str, lease: float = 3.0) -> Run:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            run = Run(place, dsn if server == "dsn" else server, lease)
            runs.append(run)
            return run if run.begun() else begin(server, lease)

        yield begin
        for run in runs:
            if run.process.returncode is None:
                run.end(SIGKILL)


def test_after_success(begin: Begin) -> None:
    run = begin("embedded", lease=1.0)
    until(run.under_way, "the arms run")
    assert len(run.processes()) > 1
    code, out, err = run.end()
    assert code == 0, err
    assert "partial" in out
    assert run.left() == []


@pytest.mark.parametrize(("number", "server"), [(CTRL_C, "embedded"), (CTRL_C, "dsn"), (SIGTERM, "embedded")])
def test_after_a_signal_in_the_middle(number: signal.Signals, server: str, begin: Begin) -> None:
    run = begin(server)
    until(run.under_way, "the arms run")
    assert bool(run.databases()) == (server == "dsn")
    code, out, err = run.end(number)
    assert (code, out) == (130, "")
    assert err.splitlines()[-1] == "leaseproof: interrupted; nothing is left running"
    assert "Traceback" not in err
    assert run.left() == []


def test_after_ctrl_c_as_soon_as_there_is_a_process(begin: Begin) -> None:
    run = begin("embedded")
    until(run.processes, "a process of its own")
    code, out, err = run.end(CTRL_C)
    assert (code, out, err) == (130, "", "leaseproof: interrupted; nothing is left running\n")
    assert run.left() == []


@pytest.mark.parametrize("server", ["embedded", "dsn"])
def test_after_kill_9_in_the_middle(server: str, begin: Begin) -> None:
    run = begin(server)
    until(run.under_way, "the arms run")
    run.end(SIGKILL)
    run.leaves_nothing()


def test_after_kill_9_at_any_moment(begin: Begin) -> None:
    def kill(third: int) -> None:
        run = begin("embedded")
        until(run.processes, "a process of its own")
        with suppress(subprocess.TimeoutExpired):
            run.process.wait(random.uniform(third, third + 1))
        run.end(SIGKILL)
        run.leaves_nothing()

    with ThreadPoolExecutor() as pool:
        for killed in [pool.submit(kill, third) for third in range(3)]:
            killed.result()
