"""The nursery: every forked process is one of its own, and each end comes with the status that the kernel gave."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from bench import runner
from bench.children import Child, LaunchError
from bench.discover import pick, scenarios
from bench.nursery import Nursery
from bench.runner import Bench, Settings
from bench.scenario import Arm
from bench.subject import Subject
from tests.live.conftest import PATIENCE, Quiet, until

MODULE = "warm_for_tests"

SOURCE = '''
"""What the nursery of these tests forks."""

import json, os, signal, sys, threading

def main(argv):
    match argv[0].split():
        case ["return", code]:
            return int(code)
        case ["exit", code]:
            sys.exit(int(code))
        case ["exit-silently"]:
            sys.exit()
        case ["exit-with", text]:
            sys.exit(text)
        case ["return-nothing"]:
            return None
        case ["interrupted"]:
            os.kill(os.getpid(), signal.SIGINT)
            signal.pause()
        case ["os-exit", code]:
            os._exit(int(code))
        case ["raise", text]:
            raise ValueError(text)
        case ["kill", number]:
            os.kill(os.getpid(), int(number))
        case ["wait"]:
            print("up", flush=True)
            signal.pause()
        case ["echo"]:
            sys.stderr.write("to stderr")
            print(sys.stdin.read())
        case ["tell"]:
            print(json.dumps({
                "pid": os.getpid(), "parent": os.getppid(), "session": os.getsid(0), "env": dict(os.environ),
                "threads": threading.active_count(), "sockets": sum(
                    os.readlink(link).startswith("socket:") for link in map("/proc/self/fd/{}".format, range(64))
                    if os.path.islink(link)),
                "handlers": [str(signal.getsignal(n)) for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)],
                "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
            }))
    return 0
'''


@pytest.fixture(scope="module")
def _warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("warm")
    (folder / f"{MODULE}.py").write_text(SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        yield


def nursery(**extra: str) -> Nursery:
    return Nursery(f"{MODULE}:main", [], extra)


@pytest.fixture(scope="module")
def shared(_warm: None) -> Iterator[Nursery]:
    with nursery(MARK="of the nursery") as running:
        yield running


class Process:
    """A forked process and its two files."""

    def __init__(self, nursery: Nursery, command: str, folder: Path, env: dict[str, str] | None = None) -> None:
        self.out, self.err = folder / f"{command}.out", folder / f"{command}.err"
        given = folder / "in"
        given.write_text("from stdin")
        with given.open("rb") as stdin, self.out.open("wb") as out, self.err.open("wb") as err:
            self.child: Child = nursery.spawn(command, env or {}, (stdin.fileno(), out.fileno(), err.fileno()))

    def end(self) -> int:
        """Its status, which must come."""
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(self.child.wait).result(PATIENCE)

    def up(self) -> "Process":
        until(lambda: self.out.read_text() == "up\n", "it is up")
        return self


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("return 0", 0),
        ("return 3", 3),
        ("exit 0", 0),
        ("exit 75", 75),
        ("os-exit 9", 9),
        ("exit-silently", 0),
        ("exit-with text", 1),
        ("return-nothing", 0),
        ("interrupted", -signal.SIGINT),
        ("raise trouble", 1),
        (f"kill {int(signal.SIGTERM)}", -signal.SIGTERM),
        (f"kill {int(signal.SIGKILL)}", -signal.SIGKILL),
    ],
)
def test_the_status_is_the_kernels(command: str, status: int, shared: Nursery, tmp_path: Path) -> None:
    assert Process(shared, command, tmp_path).end() == status


def test_an_exception_lands_in_its_log(shared: Nursery, tmp_path: Path) -> None:
    process = Process(shared, "raise trouble", tmp_path)
    process.end()
    assert process.err.read_text().startswith("Traceback")
    assert process.err.read_text().endswith("ValueError: trouble\n")
    assert process.out.read_text() == ""


def test_a_last_word_lands_in_its_log(shared: Nursery, tmp_path: Path) -> None:
    process = Process(shared, "exit-with text", tmp_path)
    process.end()
    assert process.err.read_text() == "text\n"


def test_a_nursery_that_can_not_start_says_so(tmp_path: Path) -> None:
    with Nursery("no_such_module:main", [], {}) as stillborn, pytest.raises(LaunchError, match="nursery"):
        Process(stillborn, "wait", tmp_path)


def test_the_files_are_its_own(shared: Nursery, tmp_path: Path) -> None:
    process = Process(shared, "echo", tmp_path)
    assert process.end() == 0
    assert process.out.read_text() == "from stdin\n"
    assert process.err.read_text() == "to stderr"


def told(nursery: Nursery, folder: Path, env: dict[str, str] | None = None) -> dict[str, Any]:
    process = Process(nursery, "tell", folder, env)
    assert process.end() == 0, process.err.read_text()
    data: dict[str, Any] = json.loads(process.out.read_text())
    assert data["pid"] == process.child.pid
    return data


def test_it_is_a_process_in_a_session_of_its_own(shared: Nursery, tmp_path: Path) -> None:
    data = told(shared, tmp_path)
    assert data["session"] == data["pid"]
    assert data["parent"] not in (os.getpid(), data["pid"])
    assert psutil.Process(data["parent"]).ppid() == os.getpid()
    assert (data["threads"], data["sockets"]) == (1, 0)


def test_its_environment_is_replaced(shared: Nursery, tmp_path: Path) -> None:
    assert told(shared, tmp_path, {"ONLY": "ä = 1\n2"})["env"] == {"ONLY": "ä = 1\n2"}


def test_its_signals_are_those_of_a_fresh_interpreter(shared: Nursery, tmp_path: Path) -> None:
    data = told(shared, tmp_path)
    assert data["handlers"] == [str(signal.SIG_DFL)] * 3
    assert data["interrupt"]


def test_many_at_once(shared: Nursery, tmp_path: Path) -> None:
    def one(number: int) -> int:
        folder = tmp_path / str(number)
        folder.mkdir()
        return Process(shared, f"return {number}", folder).end()

    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(one, range(60))) == list(range(60))


def test_each_end_is_its_own(shared: Nursery, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    processes = [Process(shared, "wait", folder).up() for folder in folders]
    assert len({process.child.pid for process in processes}) == 3
    os.kill(processes[1].child.pid, signal.SIGKILL)
    assert processes[1].end() == -signal.SIGKILL
    assert all(psutil.pid_exists(processes[n].child.pid) for n in (0, 2))
    for n in (2, 0):
        os.kill(processes[n].child.pid, signal.SIGTERM)
        assert processes[n].end() == -signal.SIGTERM


def test_a_terminals_ctrl_c_does_not_reach_it(shared: Nursery, tmp_path: Path) -> None:
    os.kill(shared._process.pid, signal.SIGINT)
    os.kill(shared._process.pid, signal.SIGHUP)
    assert Process(shared, "return 4", tmp_path).end() == 4
    assert os.getsid(shared._process.pid) == shared._process.pid


@pytest.mark.usefixtures("_warm")
def test_a_dead_nursery_frees_the_waiters_and_says_so(tmp_path: Path) -> None:
    with nursery() as dying:
        process = Process(dying, "wait", tmp_path).up()
        with ThreadPoolExecutor(2) as pool:
            waiters = [pool.submit(process.child.wait) for _ in range(2)]
            dying._process.kill()
            assert [waiter.result(PATIENCE) for waiter in waiters] == [-signal.SIGKILL] * 2
        for _ in range(3):
            with pytest.raises(LaunchError, match="nursery"):
                Process(dying, "return 0", tmp_path)
        os.kill(process.child.pid, signal.SIGKILL)


@pytest.mark.usefixtures("_warm")
def test_it_ends_with_the_bench(tmp_path: Path) -> None:
    with nursery() as running:
        Process(running, "return 0", tmp_path).end()
        pid = running._process.pid
    assert not psutil.pid_exists(pid)
    assert not any(thread.name == "nursery" and thread is running._reader for thread in threading.enumerate())
    with pytest.raises(LaunchError, match="nursery is gone"):
        Process(running, "return 0", tmp_path)


@pytest.mark.parametrize("cold", [False, True], ids=["warm", "cold"])
def test_warm_and_cold_come_to_the_same(cold: bool, bench: Bench, dsn: str, tmp_path: Path) -> None:
    (heartbeat,) = pick(["heartbeat"], scenarios())
    arms = [Arm(heartbeat, None, fault=True), Arm(heartbeat, heartbeat.twins[0], fault=True)]
    settings = Settings(subject=bench.settings.subject, out=tmp_path, postgres=dsn, lease=0.6, cold=cold)
    watcher = Quiet()
    data = runner.run(settings, {heartbeat.name: arms}, watcher, "a test")
    assert data["exit_code"] == 0, data["scenarios"]
    assert sorted(watcher.ended) == [("NoRenewal-fault", "fail", True), ("sound-fault", "pass", True)]


def test_the_sane_fake_may_be_warm(bench: Bench, dsn: str, tmp_path: Path) -> None:
    (heartbeat,) = pick(["heartbeat"], scenarios())
    subject = Subject.load(Path(__file__).parent.parent / "fakes")
    assert subject.warm
    settings = Settings(subject=subject, out=tmp_path, postgres=dsn, lease=0.5)
    with runner.bench(settings, []) as running:
        assert running.launch != subject.launch
        assert running.run(Arm(heartbeat, None, fault=True), Quiet()).verdict.verdict == "pass"
