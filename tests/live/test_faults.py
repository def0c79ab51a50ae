"""Each fault on a real process: its receipt is real, and a fault that does nothing has none."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

from bench import runner
from bench.checks.ending import recovered
from bench.children import alive_tree, spawn
from bench.faults import Fault, NoReceipt, base
from bench.faults.base import alive, signal_bit
from bench.faults.crowd import Crowd
from bench.faults.kill import Kill
from bench.faults.outlast import Outlast
from bench.faults.pause import Pause
from bench.faults.terminate import Terminate
from bench.faults.write import Write
from bench.history import History
from bench.job import Job
from bench.scenario import Scenario
from bench.script import Run
from bench.subject import Worker
from tests.fakes.sane import Sane
from tests.fakes.subjects import subject
from tests.live.conftest import PATIENCE, Play, until

PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-S", "-c", "import subprocess; subprocess.run(['sleep', '600'])"])
time.sleep(600)
"""
"""A worker with a child and a grandchild."""

WAITS = "import time; time.sleep(600)"
DRAINS = "import signal, sys; signal.signal(15, lambda *_: sys.exit(0)); print('up', flush=True); signal.pause()"
GOES_ON = """
import signal, time
signal.signal(15, lambda *_: print('told', flush=True))
print('up', flush=True)
time.sleep(600)
"""
BLOCKS = """
import signal, time
signal.signal(15, lambda *_: None)
signal.pthread_sigmask(signal.SIG_BLOCK, [15])
print('up', flush=True)
time.sleep(600)
"""


@dataclass
class Subject:
    """One worker, which is a plain program, in the middle of a job."""

    worker: Worker
    job: Job

    @property
    def history(self) -> History:
        return self.worker.history

    def log(self) -> str:
        return self.worker.log.read_text()


Start = Callable[..., Subject]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    workers: list[Worker] = []

    def start(program: str, *, processes: int = 1, says: str = "", busy: bool = True) -> Subject:
        history = History()
        argv = [sys.executable, "-S", "-c", program]
        launch = lambda _, env, files: spawn(argv, env, files)  # noqa: E731
        worker = Worker("worker", "worker", launch, {}, tmp_path / "log", history)
        workers.append(worker)
        worker.watch()
        until(lambda: len(worker.tree()) == processes and worker.log.read_text().startswith(says), "it is up")
        desk = SimpleNamespace(plan=lambda job: history.add("planned", job=job))
        run = cast(Run, SimpleNamespace(history=history, desk=desk, lease=0.05))
        if busy:
            history.add("started", job="job", worker="worker", pid=worker.pid, attempt=1, execution=1)
        return Subject(worker, Job(run, "job", "1"))

    yield start
    for worker in workers:
        worker.close()


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "RECEIPT_WITHIN", 0.1)


def inert(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
    """Make a system call a no-op until the fault has been tried."""
    monkeypatch.setattr(owner, name, lambda *_: None)


# Kill.


def test_kill_takes_the_whole_tree(start: Start) -> None:
    it = start(PARENT, processes=3)
    tree = alive_tree(it.worker.pid)
    receipt = Kill(it.worker, it.job).inject()
    assert receipt["status"] == -signal.SIGKILL
    assert sorted(receipt["pids"]) == sorted(process.pid for process in tree)
    assert not any(alive(process) for process in tree)


@pytest.mark.usefixtures("_impatient")
def test_a_kill_that_does_nothing_has_no_receipt(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    it = start(WAITS)
    with monkeypatch.context() as patch:
        inert(patch, psutil.Process, "kill")
        with pytest.raises(NoReceipt, match="was not reaped after kill -9"):
            Kill(it.worker, it.job).inject()
    assert it.worker.tree()


@pytest.mark.usefixtures("_impatient")
def test_a_kill_that_spares_a_child_has_no_receipt(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    it = start(PARENT, processes=3)
    tree, kill = it.worker.tree(), psutil.Process.kill
    with monkeypatch.context() as patch:
        patch.setattr(psutil.Process, "kill", lambda self: kill(self) if self.pid == it.worker.pid else None)
        with pytest.raises(NoReceipt, match="children of worker outlived kill -9"):
            Kill(it.worker, it.job).inject()
    for process in tree[1:]:
        process.kill()


def test_a_death_of_another_kind_is_no_receipt(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    it = start(WAITS)
    monkeypatch.setattr(psutil.Process, "kill", psutil.Process.terminate)
    with pytest.raises(NoReceipt, match="ended with -15, not by kill -9"):
        Kill(it.worker, it.job).inject()


# Pause.


def states(processes: Sequence[psutil.Process]) -> set[str]:
    return {process.status() for process in processes}


def test_pause_stops_the_whole_tree_and_lifts(start: Start) -> None:
    it = start(PARENT, processes=3)
    tree = it.worker.tree()
    fault = Pause(it.worker, it.job)
    receipt = fault.inject()
    assert states(tree) == {psutil.STATUS_STOPPED}
    assert receipt["states"] == [psutil.STATUS_STOPPED] * 3
    assert sorted(receipt["pids"]) == sorted(process.pid for process in tree)
    receipt = fault.lift()
    assert psutil.STATUS_STOPPED not in states(tree)
    assert psutil.STATUS_STOPPED not in receipt["states"]


@pytest.mark.usefixtures("_impatient")
def test_a_pause_that_does_nothing_has_no_receipt(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    it = start(WAITS)
    inert(monkeypatch, psutil.Process, "suspend")
    with pytest.raises(NoReceipt, match="worker is not stopped"):
        Pause(it.worker, it.job).inject()


@pytest.mark.usefixtures("_impatient")
def test_a_pause_that_is_not_lifted_has_no_receipt(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    it = start(WAITS)
    fault = Pause(it.worker, it.job)
    fault.inject()
    inert(monkeypatch, psutil.Process, "resume")
    with pytest.raises(NoReceipt, match="worker is not running again"):
        fault.lift()


# Terminate.


def test_sigterm_is_told_to_one_who_catches_it_and_ends(start: Start) -> None:
    it = start(DRAINS, says="up")
    receipt = Terminate(it.worker, it.job).inject()
    assert receipt == {"pid": it.worker.pid, "arrived": True, "caught": True, "pending": False}
    exited = it.history.until(lambda events: [e for e in events if e["event"] == "exited"], PATIENCE)
    assert exited[0]["status"] == 0


def test_sigterm_is_told_to_one_who_catches_it_and_goes_on(start: Start) -> None:
    it = start(GOES_ON, says="up")
    receipt = Terminate(it.worker, it.job).inject()
    assert receipt == {"pid": it.worker.pid, "arrived": True, "caught": True, "pending": False}
    until(lambda: it.log() == "up\ntold\n", "it was told")
    assert it.worker.tree()


def test_one_whom_sigterm_kills_got_it_all_the_same(start: Start) -> None:
    it = start(WAITS)
    receipt = Terminate(it.worker, it.job).inject()
    assert receipt == {"pid": it.worker.pid, "arrived": True, "caught": False, "pending": False}
    exited = it.history.until(lambda events: [e for e in events if e["event"] == "exited"], PATIENCE)
    assert exited[0]["status"] == -signal.SIGTERM


def test_a_sigterm_that_was_never_sent_leaves_no_receipt(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    it = start(GOES_ON, says="up")
    inert(monkeypatch, it.worker, "signal")
    with pytest.raises(NoReceipt, match="SIGTERM did not arrive at worker"):
        Terminate(it.worker, it.job).inject()
    until(lambda: it.worker.tree()[0].status() != psutil.STATUS_STOPPED, "it runs again")


def test_one_who_ignores_sigterm_got_it_all_the_same(start: Start) -> None:
    it = start("import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)")
    until(lambda: it.log() == "up\n", "it is up")
    assert Terminate(it.worker, it.job).inject() == {"pid": it.worker.pid, "ignored": True}
    assert it.worker.tree()


@pytest.mark.usefixtures("_impatient")
def test_one_who_blocks_sigterm_was_not_told(start: Start) -> None:
    it = start(BLOCKS, says="up")
    with pytest.raises(NoReceipt, match="SIGTERM is still pending at worker"):
        Terminate(it.worker, it.job).inject()


def test_a_signals_bit_is_read_from_the_kernel(start: Start) -> None:
    it = start(DRAINS, says="up")
    assert signal_bit(it.worker.pid, "SigCgt", signal.SIGTERM) is True
    assert signal_bit(it.worker.pid, "SigCgt", signal.SIGHUP) is False
    assert signal_bit(it.worker.pid, "NoSuchField", signal.SIGTERM) is None
    it.worker.close()
    assert signal_bit(it.worker.pid, "SigCgt", signal.SIGTERM) is None


# What a worker must be at for a fault on it to mean anything.


@pytest.mark.parametrize("kind", [Kill, Pause, Terminate])
def test_a_fault_on_a_worker_waits_for_the_middle_of_its_job(kind: type[Any], start: Start) -> None:
    it = start(WAITS, busy=False)
    fault = kind(it.worker, it.job)
    assert fault.hindrance(it.history.events()) == "worker is not in the middle of job"
    it.history.add("started", job="other", worker="worker", pid=1, attempt=1, execution=1)
    it.history.add("started", job="job", worker="another", pid=1, attempt=1, execution=2)
    assert fault.hindrance(it.history.events()) == "worker is not in the middle of job"
    it.history.add("started", job="job", worker="worker", pid=1, attempt=1, execution=3)
    assert fault.hindrance(it.history.events()) == ""
    it.history.add("finished", job="job", worker="worker", execution=3)
    assert fault.hindrance(it.history.events()) == "worker is not in the middle of job"
    os.kill(it.worker.pid, signal.SIGKILL)
    until(lambda: not it.worker.tree(), "it is gone")
    assert fault.hindrance(it.history.events()) == "worker is not alive"


# The others.


def test_outlast_has_its_receipt_at_the_end(start: Start) -> None:
    it = start(WAITS)
    fault = Outlast(it.job)
    assert fault.hindrance(it.history.events()) == ""
    fault.inject()
    assert it.history.events()[-1]["event"] == "planned"
    it.history.until(lambda _: False, 0.06)
    it.history.add("finished", job="job", worker="worker", execution=1)
    receipt = fault.confirm(it.history.events())
    assert receipt["execution"] == 1
    assert receipt["lasted"] > receipt["lease"] == 0.05


def test_a_job_that_was_cut_short_could_not_outlast_its_lease(start: Start) -> None:
    it = start(WAITS)
    events = [event | {"t": 0.0} for event in it.history.events()]
    events.append({"t": 0.03, "event": "died", "job": "job", "worker": "worker", "execution": 1})
    assert Outlast(it.job).confirm(events) == {"execution": 1, "lasted": 0.03, "lease": 0.05, "ended": "died"}


def test_a_job_that_ended_within_its_lease_is_no_receipt(start: Start) -> None:
    it = start(WAITS)
    events = [event | {"t": 0.0} for event in it.history.events()]
    events.append({"t": 0.05, "event": "finished", "job": "job", "worker": "worker", "execution": 1})
    with pytest.raises(NoReceipt, match=r"no execution of job lasted longer than the lease of 0\.05 s"):
        Outlast(it.job).confirm(events)


def test_outlast_waits_for_its_job(start: Start) -> None:
    it = start(WAITS, busy=False)
    assert Outlast(it.job).hindrance(it.history.events()) == "job is not running"


def crowd(workers: Sequence[Worker], count: int) -> Crowd:
    return Crowd(cast(Run, SimpleNamespace(workers=lambda name, count, first: workers)), "worker", count, first=1)


def test_a_crowd_is_counted_by_its_pids(start: Start, tmp_path: Path) -> None:
    first = start(WAITS).worker
    second = start(WAITS).worker
    assert crowd([first, second], 2).inject() == {"joined": 2, "pids": sorted([first.pid, second.pid])}
    with pytest.raises(NoReceipt, match="1 of 2 workers came"):
        crowd([first, first], 2).inject()
    second.close()
    with pytest.raises(NoReceipt, match="1 of 2 workers came"):
        crowd([first, second], 2).inject()


def test_a_write_is_counted_by_its_answers() -> None:
    answered = {"answered": 2, "tried": 2, "accepted": []}
    assert Write("jobs", lambda: answered, 2).inject() == answered
    with pytest.raises(NoReceipt, match="2 of 3 writes"):
        Write("jobs", lambda: answered, 3).inject()


# In an arm.


class Nothing(Fault):
    """Is done, and shows nothing."""

    kind, target = "nothing", "nobody"

    def inject(self) -> None:
        pass


def early(run: Run) -> None:
    worker = run.worker("worker")
    run.fault(Kill(worker, during=Job(run, "none", "0")))


def unconfirmed(run: Run) -> None:
    run.fault(Nothing())


def absent(run: Run) -> None:
    run.worker("worker")


SCRIPTS: list[tuple[Callable[[Run], None], str]] = [
    (early, "there was no ground for the fault kill -9: worker is not in the middle of none"),
    (unconfirmed, "the fault nothing on nobody left no receipt"),
    (absent, "the script came to no fault step"),
]


@pytest.mark.parametrize(("script", "reason"), SCRIPTS, ids=[script.__name__ for script, _ in SCRIPTS])
def test_an_arm_without_its_fault_is_inconclusive(
    script: Callable[[Run], None], reason: str, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "TRIES", 1)
    scenario = Scenario("no-fault", "-", 1, "test", "-", "-", [], [recovered], run=script)
    outcome = play(scenario, subject=subject(Sane))
    assert outcome.verdict == "inconclusive"
    assert reason in outcome.said
    assert not outcome.events("receipt")
