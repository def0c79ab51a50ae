"""The clock that can be set, under real processes: it is the wall clock alone that is off, and nothing waits by it."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import clock, runner
from bench.checks.ending import nothing_lost
from bench.children import environment
from bench.clock import Clock, ClockError
from bench.faults.skew import Skew
from bench.history import History
from bench.job import Job
from bench.orders import CLOCK
from bench.runner import Bench
from bench.scenario import Scenario, Script
from bench.script import Run
from bench.witness import Witness
from tests.live.conftest import PATIENCE, Outcome, Play

pytestmark = pytest.mark.skipif(clock.library() is None, reason=clock.MISSING)

FAR = 1000.0
"""Seconds: whatever waited by a clock that is so far off would be over at once, or not in this test's time."""

ID = "c10c0001"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Clock]:
    """A clock; its file has a space in its path."""
    (tmp_path / "a folder").mkdir()
    yield Clock(tmp_path / "a folder" / "clock", ID)
    clock.forget(ID)


def left() -> list[str]:
    """What there is of clocks, ours or the library's own."""
    return sorted(name for name in os.listdir(clock.SHARED) if ID in name or "faketime" in name)


class Process:
    """A program under the clock, to talk with line by line."""

    def __init__(self, own: Clock, program: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-u", "-c", program],
            env=environment(own.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._deadline = threading.Timer(PATIENCE, self._process.kill)
        self._deadline.start()

    def hear(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().rstrip()

    def ask(self, line: str = "") -> str:
        assert self._process.stdin
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self.hear()

    def kill(self) -> None:
        self._deadline.cancel()
        self._process.kill()
        self._process.communicate()


Start = Callable[[str], Process]


@pytest.fixture
def start(own: Clock) -> Iterator[Start]:
    started: list[Process] = []

    def start(program: str) -> Process:
        started.append(Process(own, program))
        return started[-1]

    yield start
    for process in started:
        process.kill()


# What it is off by.

CLOCKS = """
import datetime, sys, time
for line in sys.stdin:
    now = [time.time(), time.time_ns() / 1e9, datetime.datetime.now().timestamp(), time.clock_gettime(0)]
    print(*now, time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME), time.perf_counter())
"""

NEAR = 60.0
"""Seconds: a bound for a loaded machine, and far from FAR."""


def test_the_wall_clock_is_off_and_no_other(own: Clock, start: Start) -> None:
    process = start(CLOCKS)
    for seconds in (0, FAR, -FAR, 1.5, -1.5, 0):
        own.set(seconds)
        before = time.time()
        *walls, monotonic, boot, counter = map(float, process.ask().split())
        after = time.time()
        assert all(before - 0.001 <= wall - seconds <= after + 0.001 for wall in walls)
        assert abs(monotonic - time.monotonic()) < NEAR
        assert abs(boot - time.clock_gettime(time.CLOCK_BOOTTIME)) < NEAR
        assert abs(counter - time.perf_counter()) < NEAR


def test_it_is_right_at_first_and_the_bench_has_its_own(own: Clock, start: Start) -> None:
    process = start(CLOCKS)
    assert abs(float(process.ask().split()[0]) - time.time()) < NEAR
    own.set(FAR)
    assert abs(float(process.ask().split()[0]) - time.time() - FAR) < NEAR
    assert abs(time.time() - own.file.stat().st_mtime) < NEAR


def test_children_have_the_same_clock_and_each_clock_is_its_own(own: Clock, start: Start, tmp_path: Path) -> None:
    process = start(
        "import subprocess, sys\n"
        "child = [sys.executable, '-c', 'import time; print(time.time())']\n"
        "for line in sys.stdin: print(subprocess.check_output(child, text=True), end='')"
    )
    other = Process(Clock(tmp_path / "other", ID), CLOCKS)
    own.set(FAR)
    assert abs(float(process.ask()) - time.time() - FAR) < NEAR
    assert abs(float(other.ask().split()[0]) - time.time()) < NEAR
    other.kill()


# What waits, waits as long as ever.

WAITS = """
import asyncio, concurrent.futures, os, queue, select, socket, subprocess, sys, threading, time
import psycopg
SECONDS = 0.1
here, there = socket.socketpair()
here.settimeout(SECONDS)
taken = threading.Lock()
taken.acquire()

def condition():
    with (change := threading.Condition()): change.wait(SECONDS)
def join():
    sleeper = threading.Thread(target=time.sleep, args=(600,), daemon=True); sleeper.start(); sleeper.join(SECONDS)
def poll():
    poller = select.poll(); poller.register(here, select.POLLIN); poller.poll(SECONDS * 1000)
def epoll():
    with select.epoll() as poller: poller.register(here, select.EPOLLIN); poller.poll(SECONDS)
def timer():
    rung = threading.Event(); threading.Timer(SECONDS, rung.set).start(); rung.wait()
def database(use):
    with psycopg.connect(os.environ["DSN"], autocommit=True, connect_timeout=30) as connection: use(connection)

waits = {
    "event": lambda: threading.Event().wait(SECONDS),
    "condition": condition,
    "lock": lambda: taken.acquire(timeout=SECONDS),
    "semaphore": lambda: threading.Semaphore(0).acquire(timeout=SECONDS),
    "queue": lambda: queue.Queue().get(timeout=SECONDS),
    "simple queue": lambda: queue.SimpleQueue().get(timeout=SECONDS),
    "sleep": lambda: time.sleep(SECONDS),
    "join": join,
    "future": lambda: concurrent.futures.Future().result(timeout=SECONDS),
    "select": lambda: select.select([here], [], [], SECONDS),
    "poll": poll,
    "epoll": epoll,
    "socket": lambda: here.recv(1),
    "asyncio": lambda: asyncio.run(asyncio.sleep(SECONDS)),
    "process": lambda: subprocess.run(["sleep", "600"], timeout=SECONDS),
    "timer": timer,
    "database": lambda: database(lambda it: it.execute(f"SELECT pg_sleep({SECONDS})")),
    "notify": lambda: database(lambda it: list(it.notifies(timeout=SECONDS))),
}
print(*waits, sep=",")
for line in sys.stdin:
    before = time.monotonic()
    try:
        waits[line.strip()]()
    except (TimeoutError, queue.Empty, subprocess.TimeoutExpired):
        pass
    print(time.monotonic() - before)
"""


@pytest.fixture
def waits(own: Clock, start: Start, dsn: str) -> Process:
    own.environment["DSN"] = dsn
    return start(WAITS)


@pytest.mark.parametrize("seconds", [FAR, -FAR, 1.5, -1.5])
def test_nothing_waits_by_it(seconds: float, own: Clock, waits: Process) -> None:
    kinds = waits.hear().split(",")
    own.set(seconds)
    assert len(kinds) == 18
    took = {kind: float(waits.ask(kind)) for kind in kinds}
    assert all(0.099 <= each < PATIENCE for each in took.values()), took


@pytest.mark.parametrize("seconds", [FAR, -FAR])
def test_nor_does_it_when_the_clock_is_set_meanwhile(seconds: float, own: Clock, waits: Process) -> None:
    for kind in waits.hear().split(","):
        own.set(0)
        setting = threading.Timer(0.05, own.set, (seconds,))
        setting.start()
        assert 0.099 <= float(waits.ask(kind)) < PATIENCE, kind
        setting.join()


SPINS = """
import sys, threading, time
over = False
def spin():
    while not over: pass
spinner = threading.Thread(target=spin)
spinner.start()
turns, until = 0, time.monotonic() + 0.5
while time.monotonic() < until:
    turns += 1
    time.sleep(0)
over = True
spinner.join()
print(turns)
"""


@pytest.mark.parametrize("seconds", [FAR, -FAR])
def test_a_thread_that_spins_lets_the_others_have_their_turn(seconds: float, own: Clock, start: Start) -> None:
    own.set(seconds)
    assert int(start(SPINS).hear()) > 2


def test_it_may_be_set_again_and_again_while_many_threads_ask(own: Clock, start: Start) -> None:
    process = start(
        "import threading, time\n"
        "over = threading.Event()\n"
        "def ask():\n"
        "    while not over.wait(0.0001): time.time()\n"
        "threads = [threading.Thread(target=ask) for _ in range(8)]\n"
        "for thread in threads: thread.start()\n"
        "print('up'); input(); over.set()\n"
        "for thread in threads: thread.join()\n"
        "print('well')"
    )
    assert process.hear() == "up"
    for number in range(1000):
        own.set(FAR * (-1) ** number / (number + 1))
    assert process.ask() == "well"


# What is left of it.


def test_nothing_is_left_of_a_killed_process_or_of_its_children(own: Clock, start: Start) -> None:
    start(CLOCKS).ask()
    start(CLOCKS).kill()
    assert [name for name in left() if ID not in name] == []
    assert len(left()) == 2
    clock.forget("c10c0002")
    assert len(left()) == 2
    clock.forget(ID)
    assert left() == []


def test_what_others_preload_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "theirs.so")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/theirs")
    its = Clock(tmp_path / "clock", ID).environment
    clock.forget(ID)
    assert its["LD_PRELOAD"] == "libfaketime.so.1:theirs.so"
    assert its["LD_LIBRARY_PATH"].endswith("/vendor/libfaketime/src:/theirs")


# Where there is none.


@pytest.fixture
def _untried() -> Iterator[None]:
    clock.library.cache_clear()
    yield
    clock.library.cache_clear()


@pytest.mark.usefixtures("_untried")
@pytest.mark.parametrize(
    ("place", "instead"), [("bench.clock.LIBRARY", "no/such.so.1"), ("importlib.util.find_spec", lambda _: None)]
)
def test_where_there_is_no_library_the_cure_is_told(
    place: str, instead: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, instead)
    assert clock.library() is None
    with pytest.raises(ClockError, match=r"pip install 'leaseproof\[clock\]'"):
        Clock(tmp_path / "clock", ID)
    assert left() == []


WRONG = ["time.time = lambda: 0", "threading.Event.wait = lambda *_: None", "time.sleep = lambda *_: None", "1 / 0"]


@pytest.mark.usefixtures("_untried")
@pytest.mark.parametrize("wrong", WRONG)
def test_a_library_that_does_it_wrongly_is_none(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert clock.library()
    clock.library.cache_clear()
    monkeypatch.setattr(clock, "TRIAL", f"import threading, time; {wrong}\n{clock.TRIAL}")
    assert clock.library() is None


@pytest.mark.usefixtures("_untried")
def test_a_library_that_is_not_loaded_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "lib.so.1").write_bytes(b"of another machine")
    monkeypatch.setattr(clock, "LIBRARY", tmp_path / "lib.so.1")
    assert clock.library() is None


# What the witness hears.


@pytest.mark.parametrize(("wall", "trouble"), [("[]", "not 'list'"), ('"noon"', "'noon'"), ("null", "not 'NoneType'")])
def test_a_clock_that_is_no_number_is_the_adapters_trouble(wall: str, trouble: str) -> None:
    with Witness() as witness:
        desk = witness.desk(History(), 0.5)
        host, _, port = witness.address.rpartition(":")
        with socket.create_connection((host, int(port))) as line:
            hello = {"event": "started", "token": desk.token, "job": "job", "worker": "worker", "pid": 1}
            line.sendall(json.dumps(hello).encode() + b'\n{"event": "clock", "wall": ' + wall.encode() + b"}\n")
            (told,) = desk.history.until(lambda events: [e for e in events if e["event"] == "trouble"], PATIENCE)
    assert told["kind"] == "adapter"
    assert trouble in told["text"]


# The fault.


def scenario(script: Script) -> Scenario:
    return Scenario("skewed", "-", 22, "test", "a skewed clock", "none", [], [nothing_lost], run=script)


Skewed = Callable[..., Outcome]


@pytest.fixture
def skewed(play: Play, bench: Bench, tmp_path: Path) -> Iterator[Skewed]:
    """Play an arm in whose script a worker with such a clock is in the middle of a job."""

    def skewed(act: Callable[[Run, Job, Clock], None], **options: Any) -> Outcome:
        def script(run: Run) -> None:
            clock = Clock(tmp_path / "clock", bench.run_dir.id)
            worker, job = run.worker("worker", clock=clock), run.enqueue()
            job.until_started(by=worker)
            act(run, job, clock)
            job.finish()
            job.until_finished(by=worker)
            run.until_over([job])

        return play(scenario(script), **options)

    yield skewed
    clock.forget(bench.run_dir.id)


def test_a_skew_is_told_by_the_workers_own_clock(skewed: Skewed) -> None:
    def act(run: Run, job: Job, clock: Clock) -> None:
        (worker,) = run.processes
        for seconds in (FAR, -1.5):
            with run.fault(Skew(worker, job, clock, seconds)):
                job.until_renewed(by=worker)
        job.order(CLOCK)
        run.need("its clock is right again", lambda events: sum(e["event"] == "clock" for e in events) == 3)

    outcome = skewed(act)
    assert outcome.verdict == "pass", outcome.said
    told = outcome.events("clock")
    assert [(e["job"], e["worker"], e["execution"]) for e in told] == [("job", "worker", 1)] * 3
    assert abs(told[2]["wall"] - told[2]["ours"]) < 0.5
    for receipt, event, seconds in zip(outcome.events("receipt"), told, [FAR, -1.5], strict=False):
        evidence = receipt["evidence"]
        asked, heard = evidence["ours"]
        assert (evidence["wall"], heard) == (event["wall"], event["ours"])
        assert asked - 0.01 <= evidence["wall"] - seconds <= heard + 0.01
        assert abs(evidence["skew"] - seconds) < 0.75
    assert len(outcome.events("receipt")) == len(outcome.events("fault-ended")) == 2


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "TRIES", 1)
    monkeypatch.setattr("bench.faults.base.RECEIPT_WITHIN", 0.5)


@pytest.mark.parametrize("seconds", [1.5, -1.5])
@pytest.mark.usefixtures("_impatient")
def test_a_skew_that_is_none_has_no_receipt(seconds: float, skewed: Skewed, monkeypatch: pytest.MonkeyPatch) -> None:
    def act(run: Run, job: Job, clock: Clock) -> None:
        monkeypatch.setattr(clock, "set", lambda _: None)
        run.fault(Skew(run.processes[0], job, clock, seconds))

    outcome = skewed(act)
    assert outcome.verdict == "inconclusive"
    assert f"s off, not {seconds:+.3f} s" in outcome.said
    assert outcome.events("receipt") == []


@pytest.mark.usefixtures("_impatient")
def test_a_worker_that_does_not_answer_has_no_receipt(skewed: Skewed) -> None:
    def act(run: Run, job: Job, clock: Clock) -> None:
        job.order({"order": "sleep", "seconds": 1})
        run.fault(Skew(run.processes[0], job, clock, 1.5))

    outcome = skewed(act)
    assert outcome.verdict == "inconclusive"
    assert "worker did not say what its clock says" in outcome.said


@pytest.mark.usefixtures("_impatient")
def test_an_answer_that_comes_late_is_none(skewed: Skewed) -> None:
    def act(run: Run, job: Job, clock: Clock) -> None:
        job.order({"order": "sleep", "seconds": 0.2})
        run.fault(Skew(run.processes[0], job, clock, 0.3))

    outcome = skewed(act)
    assert outcome.verdict == "inconclusive"
    assert "s to say what its clock says" in outcome.said


@pytest.mark.usefixtures("_impatient")
def test_a_skew_waits_for_the_middle_of_its_job(skewed: Skewed) -> None:
    outcome = skewed(lambda run, _, clock: run.fault(Skew(run.processes[0], Job(run, "none", "0"), clock, 1.5)))
    assert outcome.verdict == "inconclusive"
    assert "worker is not in the middle of none" in outcome.said


def test_a_sham_leaves_the_clock_alone(skewed: Skewed) -> None:
    def act(run: Run, job: Job, clock: Clock) -> None:
        with run.fault(Skew(run.processes[0], job, clock, 1.5)):
            assert float(clock.file.read_text()) == 0

    outcome = skewed(act, fault=False)
    assert outcome.verdict == "pass", outcome.said
    assert outcome.events("clock") == []
