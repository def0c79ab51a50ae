"""Arms with a server of their own: they may crash it, nobody else notices, and nothing of it is left."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from bench import postgres, runner, services
from bench.faults.crash import Crash, Restart
from bench.faults.kill import Kill
from bench.history import Closed
from bench.janitor import MARK
from bench.job import Job
from bench.postgres import halt
from bench.postgres.cluster import Cluster
from bench.rundir import sweep
from bench.runner import Bench
from bench.scenario import Arm, Scenario
from bench.script import SERVER, Run
from bench.services.redis import Redis, RedisServer
from tests.fakes import private
from tests.fakes.sane import Sane
from tests.fakes.subjects import subject
from tests.live.conftest import PATIENCE, Outcome, Play, Quiet, exit_code, until
from tests.services import needed

SANE = subject(Sane)


def servers(bench: Bench) -> list[Path]:
    """The folders of all servers below the run's folder, the shared one's left out."""
    assert isinstance(bench.server, Cluster)
    return [data for data in bench.run_dir.path.glob("*/data") if data != bench.server.data]


def evidence(outcome: Outcome) -> dict[str, Any]:
    (receipt,) = outcome.events("receipt")
    found: dict[str, Any] = receipt["evidence"]
    return found


# The faults.


@pytest.mark.parametrize(("scenario", "status"), [(private.restart, 0), (private.crash, -signal.SIGKILL)])
def test_the_server_goes_down_and_comes_back(scenario: Scenario, status: int, play: Play, bench: Bench) -> None:
    outcome = play(scenario, subject=SANE)
    assert outcome.verdict == "pass", outcome.said
    (fault,) = outcome.events("fault")
    assert (fault["target"], fault["injected"]) == (SERVER, True)
    found = evidence(outcome)
    old, new = found["postmasters"]
    began, again = found["started"]
    assert old != new
    assert began < again
    assert found["status"] == status
    assert old in found["gone"]
    assert len(found["gone"]) > 3
    assert "database system was not properly shut down; automatic recovery in progress" in found["log"]
    assert outcome.arm.events[0]["versions"] == bench.versions
    assert servers(bench) == []


def test_the_sham_has_a_server_of_its_own_as_well(play: Play, bench: Bench) -> None:
    seen = []

    def script(run: Run) -> None:
        seen.extend(servers(bench))
        assert isinstance(run.server, Cluster)
        assert seen == [run.server.data]
        run.fault(Crash(run, during=run.enqueue()))

    (fault,) = play(private.scenario(script), subject=SANE, fault=False).events("fault")
    assert fault["injected"] is False
    assert len(seen) == 1


def test_arms_side_by_side_crash_their_own_and_no_other(bench: Bench, tmp_path: Path) -> None:
    running = replace(bench, settings=replace(bench.settings, out=tmp_path), launch=SANE.launch)
    arms = [Arm(replace(private.crash, name=name), None, fault=True) for name in ("a", "b", "c")]
    with psycopg.connect(bench.server.create_database("beside")) as connection:
        with ThreadPoolExecutor(len(arms)) as pool:
            outcomes = [Outcome(arm) for arm in pool.map(lambda arm: running.run(arm, Quiet()), arms)]
        assert [outcome.verdict for outcome in outcomes] == ["pass"] * 3
        assert len({pid for outcome in outcomes for pid in evidence(outcome)["postmasters"]}) == 6
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert servers(bench) == []


@pytest.fixture
def on_redis(bench: Bench, tmp_path: Path) -> Iterator[Bench]:
    """The bench, with a subject that is on Redis, as far as its subject.toml knows."""
    needed(Redis)
    with services.started(["redis"], {}, bench.run_dir.path, lambda *_: None) as running:
        settings = replace(bench.settings, subject=replace(SANE, services=("redis",)), out=tmp_path)
        yield replace(bench, settings=settings, launch=SANE.launch, services=running)


@pytest.mark.parametrize("scenario", [private.restart, private.crash])
def test_any_other_server_goes_down_and_comes_back_as_well(scenario: Scenario, on_redis: Bench) -> None:
    outcome = Outcome(on_redis.run(scenario.arms[0], Quiet()))
    assert outcome.verdict == "pass", outcome.said
    found = evidence(outcome)
    old, new = found["pids"]
    assert old != new
    assert found["gone"] == [old]
    assert found["down"] > 0


def test_another_server_that_is_not_taken_down_leaves_no_receipt(
    on_redis: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "TRIES", 1)
    monkeypatch.setattr("bench.faults.base.RECEIPT_WITHIN", 0.1)
    monkeypatch.setattr(RedisServer, "crash", lambda _: -signal.SIGKILL)
    outcome = Outcome(on_redis.run(private.crash.arms[0], Quiet()))
    assert outcome.verdict == "inconclusive"
    assert "outlived the kill -9" in outcome.said


def test_a_queue_without_a_server_has_none_to_stop(bench: Bench, tmp_path: Path) -> None:
    settings = replace(bench.settings, subject=replace(SANE, services=()), out=tmp_path)
    running = replace(bench, settings=settings, launch=SANE.launch)
    outcome = Outcome(running.run(private.crash.arms[0], Quiet()))
    assert (outcome.verdict, outcome.said) == ("unsupported", "it has no server that could be stopped")


# What leaves no receipt.


def fast_shutdown(server: Cluster) -> int | None:
    """Takes it down with time to tidy up."""
    everyone, postmaster = halt.members(server.data), server.postmaster()
    assert postmaster
    psutil.Process(postmaster).send_signal(signal.SIGINT)
    halt.wait_gone(everyone, PATIENCE)
    return server.abort()


def halfway(server: Cluster) -> int | None:
    """Ends in the right way, and is a clean shutdown all the same."""
    return -signal.SIGKILL if fast_shutdown(server) == 0 else None


SABOTAGE: list[tuple[Scenario, str, Callable[[Cluster], int | None], str]] = [
    (private.crash, "crash", lambda _: None, "outlived the kill -9"),
    (private.crash, "crash", lambda _: -signal.SIGKILL, "outlived the kill -9"),
    (private.crash, "crash", Cluster.abort, "the server ended with 0, not as of the kill -9"),
    (private.crash, "crash", halfway, "the log tells of no recovery"),
    (private.restart, "abort", lambda _: None, "outlived the immediate restart"),
    (private.restart, "abort", Cluster.crash, "the server ended with -9, not as of the immediate restart"),
]


@pytest.mark.parametrize(("scenario", "way", "instead", "reason"), SABOTAGE)
def test_a_fault_that_does_something_else_has_none(
    scenario: Scenario,
    way: str,
    instead: Callable[[Cluster], int | None],
    reason: str,
    play: Play,
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "TRIES", 1)
    monkeypatch.setattr("bench.faults.base.RECEIPT_WITHIN", 0.1)
    monkeypatch.setattr(Cluster, way, instead)
    outcome = play(scenario, subject=SANE)
    assert outcome.verdict == "inconclusive"
    assert reason in outcome.said
    assert outcome.events("receipt") == []
    assert servers(bench) == []


@pytest.mark.parametrize("kind", [Crash, Restart])
def test_a_crash_waits_for_the_middle_of_a_job(kind: type[Any], play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "TRIES", 1)

    def script(run: Run) -> None:
        run.fault(kind(run, during=Job(run, "none", "0")))

    outcome = play(private.scenario(script), subject=SANE)
    assert outcome.verdict == "inconclusive"
    assert "none is not running" in outcome.said


# Who has none, and who can't.


def test_a_script_that_asks_for_a_server_must_say_so_before(play: Play) -> None:
    outcome = play(replace(private.crash, private=False), subject=SANE)
    assert outcome.verdict == "error"
    assert "private has no server of its own: its Scenario is not private" in outcome.said


def test_a_users_server_is_never_crashed(bench: Bench, dsn: str, tmp_path: Path) -> None:
    theirs = postgres.start(dsn, tmp_path / "theirs01")
    settings = replace(bench.settings, out=tmp_path)
    running = replace(bench, settings=settings, launch=SANE.launch, server=theirs)
    outcomes = [Outcome(running.run(arm, Quiet())) for arm in private.crash.arms]
    theirs.stop()
    reason = "needs a server of its own, which it may crash: not the one behind a DSN"
    assert [(outcome.verdict, outcome.said) for outcome in outcomes] == [("unsupported", reason)] * 2
    assert [outcome.events("fault") for outcome in outcomes] == [[], []]
    assert exit_code(private.crash, outcomes) == 0
    assert servers(bench) == []


# What is left.


def test_an_arms_database_goes_with_it(play: Play, bench: Bench) -> None:
    seen: list[str] = []

    def script(run: Run) -> None:
        seen.extend(line[0] for line in run.query("SELECT current_database()")[1])
        worker, job = run.worker("worker"), run.enqueue()
        job.until_started(by=worker)
        run.fault(Kill(worker, during=job))
        job.finish()
        job.until_finished(by=worker)

    outcome = play(replace(private.scenario(script), private=False), subject=SANE, fault=False)
    assert outcome.verdict == "pass", outcome.said
    with psycopg.connect(bench.server.create_database("after")) as connection:
        names = connection.execute("SELECT datname FROM pg_database").fetchall()
    assert len(seen) == 1
    assert (seen[0],) not in names


def test_nothing_is_left_of_an_arm_that_breaks(play: Play, bench: Bench) -> None:
    def script(run: Run) -> None:
        run.server.crash()
        raise ZeroDivisionError

    assert "ZeroDivisionError" in play(private.scenario(script), subject=SANE).said
    assert servers(bench) == []


def test_nothing_is_left_of_an_arm_that_is_interrupted(bench: Bench, tmp_path: Path) -> None:
    stopped = threading.Event()
    stopped.set()
    settings = replace(bench.settings, out=tmp_path)
    running = replace(bench, settings=settings, launch=SANE.launch, _stopped=stopped)
    with pytest.raises(Closed):
        running.run(private.crash.arms[0], Quiet())
    assert servers(bench) == []


BENCH = """
import signal, sys
from pathlib import Path
from bench import runner
from tests.fakes.private import endless
from tests.fakes.sane import Sane
from tests.fakes.subjects import subject
from tests.live.conftest import Quiet

for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.default_int_handler)
arms = [arm for arm in endless.arms if arm.fault] * 2
runner.run(runner.Settings(subject(Sane), Path(sys.argv[1]) / "out", jobs=2), {"endless": arms}, Quiet(), "test")
"""
"""Two arms that crash their servers again and again, beside the shared one."""


class Crashing:
    """Such a bench, in a process of its own, with a place of its own."""

    def __init__(self, place: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", BENCH, str(place)],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "TMPDIR": str(place)},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.place = place
        self.data: set[Path] = set()
        until(self.crashed, "two servers have come back from crashes")

    def crashed(self) -> bool:
        """Whether all but one have recovered at least twice; and all that are there are remembered."""
        assert self.process.poll() is None, self.process.communicate()
        self.data |= set(self.place.glob("leaseproof-*/*/*/data"))
        logs = [data.with_name("log") for data in self.data]
        recovered = [log for log in logs if log.exists() and log.read_text().count("automatic recovery") > 1]
        return len(recovered) == 2 < len(logs)

    def left(self) -> list[object]:
        """Processes and folders."""
        (run,) = {data.parents[1] for data in self.data}
        processes = [process for process in psutil.process_iter() if marked(process, run.name)]
        return [*processes, *(each for data in self.data for each in halt.members(data)), *run.parent.glob("*")]

    def end(self, number: signal.Signals) -> str:
        self.process.send_signal(number)
        return self.process.communicate(timeout=PATIENCE)[1]


def marked(process: psutil.Process, run: str) -> bool:
    with suppress(psutil.Error, OSError):
        return process.environ().get(MARK) == run and halt.alive(process)
    return False


@pytest.fixture
def crashing() -> Iterator[Crashing]:
    with tempfile.TemporaryDirectory() as place:
        bench = Crashing(Path(place))
        yield bench
        if bench.process.returncode is None:
            bench.end(signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_of_a_bench_that_ends_in_the_middle_of_crashes(
    number: signal.Signals, crashing: Crashing
) -> None:
    said = crashing.end(number)
    assert ("KeyboardInterrupt" in said) == (number != signal.SIGKILL)
    until(lambda: not crashing.left(), "nothing is left")


def command(process: psutil.Process) -> list[str]:
    """Its command line; none where it has just ended, as servers that crash do all the time."""
    with suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return []


def test_the_next_run_sweeps_where_the_janitor_died_as_well(
    crashing: Crashing, monkeypatch: pytest.MonkeyPatch
) -> None:
    (janitor,) = [
        process for process in psutil.Process(crashing.process.pid).children() if "bench.janitor" in command(process)
    ]
    janitor.kill()
    crashing.end(signal.SIGKILL)
    assert crashing.left()
    monkeypatch.setenv("TMPDIR", str(crashing.place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert len(sweep()) == 1
    assert crashing.left() == []
