"""One process of a worker is killed, and the others are not; what then is left of it is ended with the arm."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

from bench.children import kill_left_behind, spawn
from bench.discover import pick, scenarios
from bench.faults import NoReceipt, base
from bench.faults.base import alive
from bench.faults.kill import Kill, KillChild, KillParent
from bench.history import History
from bench.job import Job
from bench.scenario import Scenario
from bench.script import Run
from bench.subject import Worker
from tests.fakes import trees
from tests.fakes.sane import Sane
from tests.fakes.subjects import subject
from tests.live.conftest import PATIENCE, Play, until

child_killed, parent_killed, frozen_leader = pick(["child-killed", "parent-killed", "frozen-leader"], scenarios())

FAMILY = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
subprocess.Popen([sys.executable, "-S", "-c", "import subprocess; subprocess.run(['sleep', '600'])"])
time.sleep(600)
"""
"""A worker with two children, and a child of the second."""

EMIGRANT = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], start_new_session=True)
time.sleep(600)
"""
"""A worker whose child has a session of its own."""

Start = Callable[..., Worker]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    workers: list[Worker] = []

    def start(program: str, processes: int) -> Worker:
        argv = [sys.executable, "-S", "-c", program]
        launch = lambda _, env, files: spawn(argv, env, files)  # noqa: E731
        worker = Worker("worker", "worker", launch, {}, tmp_path / "log", History())
        workers.append(worker)
        worker.watch()
        until(lambda: len(worker.tree()) == processes, "it is up")
        return worker

    yield start
    for worker in workers:
        worker.close()


def job(worker: Worker, pid: int) -> Job:
    """A job that a process of the worker's runs, as the witness sees it: its death is heard of a moment later."""
    worker.history.add("started", job="job", worker="worker", pid=pid, attempt=1, execution=1)
    return Job(cast(Run, SimpleNamespace(history=worker.history)), "job", "1")


def heard_of(worker: Worker) -> None:
    worker.history.add("died", job="job", worker="worker", execution=1)


@pytest.fixture
def hears(monkeypatch: pytest.MonkeyPatch) -> Callable[[Worker], None]:
    """Call it with a worker: whichever process is killed, the witness hears of it."""

    def listen(worker: Worker) -> None:
        kill = psutil.Process.kill

        def kill_and_tell(self: psutil.Process) -> None:
            kill(self)
            heard_of(worker)

        monkeypatch.setattr(psutil.Process, "kill", kill_and_tell)

    return listen


def gone(processes: list[psutil.Process]) -> None:
    until(lambda: not any(alive(process) for process in processes), "all are gone")


# The child.


def test_the_one_child_is_killed_that_runs_the_job(start: Start, hears: Callable[[Worker], None]) -> None:
    worker = start(FAMILY, 4)
    parent, child, *others = worker.tree()
    hears(worker)
    receipt = KillChild(worker, job(worker, child.pid)).inject()
    assert receipt == {
        "pid": child.pid,
        "of": parent.pid,
        "status": None,
        "alive": [parent.pid, *(other.pid for other in others)],
    }
    assert not alive(child)


def test_a_worker_that_is_one_process_dies_of_it(start: Start, hears: Callable[[Worker], None]) -> None:
    worker = start("import time; time.sleep(600)", 1)
    hears(worker)
    receipt = KillChild(worker, job(worker, worker.pid)).inject()
    assert receipt == {"pid": worker.pid, "of": worker.pid, "status": -signal.SIGKILL, "alive": "none"}


def test_a_process_that_is_not_the_workers_is_let_be(start: Start) -> None:
    worker = start("import time; time.sleep(600)", 1)
    fault = KillChild(worker, job(worker, os.getpid()))
    assert fault.hindrance(worker.history.events()) == f"job runs in process {os.getpid()}, which is none of worker's"


@pytest.mark.parametrize(
    ("sabotage", "words"),
    [
        (lambda self: None, "outlived kill -9"),
        (psutil.Process.kill, "is gone, and somebody still holds its line to the witness"),
    ],
)
def test_a_child_that_is_not_seen_to_die_is_no_receipt(
    sabotage: Callable[[Any], None], words: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "RECEIPT_WITHIN", 0.1)
    worker = start(FAMILY, 4)
    child = worker.tree()[1]
    with monkeypatch.context() as patch:
        patch.setattr(psutil.Process, "kill", sabotage)
        with pytest.raises(NoReceipt, match=words):
            KillChild(worker, job(worker, child.pid)).inject()


# The parent.


def test_the_parent_is_killed_and_its_children_live_on_until_it_is_closed(start: Start) -> None:
    worker = start(FAMILY, 4)
    parent, *children = worker.tree()
    receipt = KillParent(worker, job(worker, children[0].pid)).inject()
    assert receipt["status"] == -signal.SIGKILL
    assert receipt["alive"] == [child.pid for child in children]
    assert not alive(parent)
    assert all(alive(child) for child in children)
    worker.close()
    gone(children)


def test_a_child_that_has_left_its_session_is_ended_too(start: Start) -> None:
    worker = start(EMIGRANT, 2)
    child = worker.tree()[1]
    until(lambda: os.getsid(child.pid) != worker.pid, "it has a session of its own")
    KillParent(worker, job(worker, child.pid)).inject()
    assert alive(child)
    worker.close()
    gone([child])


def test_what_nobody_knew_of_is_found_by_its_session(start: Start) -> None:
    worker = start(FAMILY, 4)
    children = worker.tree()[1:]
    children[0].suspend()
    os.kill(worker.pid, signal.SIGKILL)
    worker.close()
    gone(children)


def test_a_session_whose_leader_is_there_is_another_s(start: Start) -> None:
    worker = start(FAMILY, 4)
    kill_left_behind(worker.pid)
    assert len(worker.tree()) == 4


def test_a_killed_tree_is_over_when_the_witness_has_heard_of_it(start: Start) -> None:
    worker = start(FAMILY, 4)
    child = worker.tree()[1]
    fault = Kill(worker, job(worker, child.pid))
    timer = threading.Timer(0.3, heard_of, [worker])
    timer.start()
    fault.inject()
    assert worker.history.events()[-1]["event"] == "died"
    timer.join(PATIENCE)


# In an arm.

TREES: list[tuple[type[Sane], Scenario, set[str]]] = [
    (trees.RunsInAChild, child_killed, set()),
    (trees.WaitsForTheDead, child_killed, {"stranded"}),
    (trees.RunsInAChild, parent_killed, {"double-execution"}),
    (trees.EndsWithItsParent, parent_killed, set()),
]


@pytest.mark.parametrize(("fake", "scenario", "anomalies"), TREES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_worker_that_is_a_tree(fake: type[Sane], scenario: Scenario, anomalies: set[str], play: Play) -> None:
    outcome = play(scenario, subject=subject(fake))
    assert outcome.anomalies == anomalies, outcome.said
    assert outcome.verdict == ("fail" if anomalies else "pass"), outcome.said
    ran = {event["pid"] for event in outcome.events("started")}
    assert not ran & {event["pid"] for event in outcome.events("spawned")}
    assert not [pid for pid in ran if psutil.pid_exists(pid) and alive(psutil.Process(pid))]


@pytest.mark.parametrize("scenario", [child_killed, parent_killed], ids=lambda scenario: scenario.name)
def test_a_tree_that_is_let_be(scenario: Scenario, play: Play) -> None:
    outcome = play(scenario, subject=subject(trees.RunsInAChild), fault=False)
    assert outcome.verdict == "pass", outcome.said


def test_who_claims_ahead_is_not_taken_for_a_frozen_leader(play: Play) -> None:
    outcome = play(frozen_leader, subject=subject(trees.ClaimsAhead))
    assert outcome.verdict == "pass", outcome.said
    assert {event["target"] for event in outcome.events("fault")} == {"first", "second"}
    assert {start["worker"] for start in outcome.events("started") if start["job"] == "own"} == {"first", "third"}
