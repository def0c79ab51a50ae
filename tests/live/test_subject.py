"""A subject's folder, its control process and its workers: whatever state they are in, they are named and ended."""

import json
import os
import signal
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from bench.children import LaunchError, how, last_words, spawn
from bench.contract import AdapterFault
from bench.history import History
from bench.subject import Control, Subject, SubjectError, Worker
from tests.fakes import miniatures as fakes
from tests.fakes.sane import Sane
from tests.fakes.subjects import subject, write
from tests.live.conftest import PATIENCE, until

# subject.toml.

GOOD = 'name = "x"\nprotocol = 1\ncontrol = ["{python}"]\nworker = ["{folder}/w"]\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = ", "is not TOML"),
        ("\udcff", "is not TOML"),
        (GOOD + 'colour = "red"', "unknown key 'colour'; known are: name, protocol"),
        (GOOD.replace('"x"', "1"), "name must be a str, not 1"),
        (GOOD.replace('["{python}"]', '"python"'), "control must be a list, not 'python'"),
        (GOOD.replace('name = "x"\n', ""), "lacks the key 'name'"),
        (GOOD.replace("control", "#"), "lacks the key 'control'"),
        (GOOD.replace("protocol = 1", "protocol = 2"), "is for protocol 2; this leaseproof speaks 1"),
        (GOOD + 'services = ["redus"]', "there is no service 'redus'; did you mean 'redis'?; known are postgres,"),
    ],
)
def test_a_subject_that_cannot_be_used_names_the_file_and_the_key(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "subject.toml").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(SubjectError) as raised:
        Subject.load(tmp_path)
    assert words in str(raised.value)
    assert str(tmp_path / "subject.toml") in str(raised.value)


def test_a_folder_without_a_subject(tmp_path: Path) -> None:
    with pytest.raises(SubjectError, match=r"cannot read .*subject.toml: No such file or directory"):
        Subject.load(tmp_path)


def test_a_command_is_filled_in(tmp_path: Path) -> None:
    program = "import json, os, sys; print(json.dumps([sys.executable, sys.argv[1:], os.getsid(0) == os.getpid()]))"
    commands = {"control": ("{python}", "-c", program, "{folder}/x", "{other}")}
    with (tmp_path / "out").open("wb") as out:
        child = Subject("x", commands, tmp_path).launch("control", os.environ, (out.fileno(),) * 3)
    assert child.wait() == 0
    assert json.loads((tmp_path / "out").read_text()) == [sys.executable, [f"{tmp_path}/x", "{other}"], True]


def test_a_fake_is_written_as_it_is(tmp_path: Path) -> None:
    assert Subject.load(write(Sane, tmp_path)).commands == subject(Sane).commands


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(LaunchError, match="/no/such could not be started: No such file or directory"):
        spawn(["/no/such"], {}, (0, 1, 2))


# The control process.

Open = Callable[[type[Sane]], Control]


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    return {"LEASEPROOF_LEASE": "1", "LEASEPROOF_RUN": tmp_path.name, "LEASEPROOF_FOLDER": str(tmp_path)}


@pytest.fixture
def control(tmp_path: Path, variables: dict[str, str]) -> Iterator[Open]:
    opened: list[Control] = []

    def control(fake: type[Sane]) -> Control:
        opened.append(Control(subject(fake).launch, variables, tmp_path / "control.log"))
        return opened[-1]

    yield control
    for each in opened:
        each.close()
        assert not psutil.pid_exists(each._child.pid)


def test_it_answers_one_request_after_another(control: Open) -> None:
    sane = control(Sane)
    assert sane.ask("describe")["subject"] == "sane"
    assert sane.ask("prepare") == {}
    assert sane.ask("enqueue", jobs=[{"job": "a"}, {"job": "b"}]) == {"ids": ["1", "2"]}
    (row,) = sane.ask("inspect", ids=["2"])["rows"]
    assert (row["id"], row["state"]) == ("2", "queued")
    assert sane.ask("inspect", ids=["9"]) == {"rows": [{"id": "9", "state": "absent"}]}
    assert sane.ask("reclaim") == {"ids": []}


def test_it_hangs(control: Open) -> None:
    hung = control(fakes.Hangs)
    hung.ask("prepare")
    with pytest.raises(AdapterFault, match=r"control process hung: no answer to `enqueue` in 0.2 s"):
        hung.ask("enqueue", within=0.2, jobs=[{"job": "a"}])


def test_it_is_stopped(control: Open) -> None:
    stopped = control(Sane)
    stopped.ask("describe")
    os.kill(stopped._child.pid, signal.SIGSTOP)
    with pytest.raises(AdapterFault, match="control process hung: no answer to `prepare`"):
        stopped.ask("prepare", within=0.2)


def test_it_dies_and_says_why(control: Open) -> None:
    with pytest.raises(AdapterFault) as raised:
        control(fakes.ControlDiesAtOnce).ask("describe")
    assert str(raised.value).splitlines() == [
        "the control process died at `describe` with status 1; it said last:",
        "    no such broker",
    ]


def test_a_dead_one_stays_dead(control: Open) -> None:
    dead = control(Sane)
    dead.ask("describe")
    os.kill(dead._child.pid, signal.SIGKILL)
    with pytest.raises(AdapterFault, match="died at `prepare` by SIGKILL"):
        dead.ask("prepare")


def test_its_traceback_is_shown(control: Open) -> None:
    with pytest.raises(AdapterFault, match=r"(?s)died at `dance` with status 1.*ValueError: there is no request dance"):
        control(Sane).ask("dance")


def test_it_closes_its_stdout_and_lives_on(tmp_path: Path) -> None:
    commands = {"control": ("{python}", "-S", "-c", "import os, time; os.close(1); time.sleep(600)")}
    silent = Control(Subject("silent", commands, tmp_path).launch, {}, tmp_path / "log")
    with pytest.raises(AdapterFault, match="died at `describe` by SIGKILL"):
        silent.ask("describe")
    silent.close()


def test_it_is_told_to_stop(control: Open) -> None:
    sane = control(Sane)
    with pytest.raises(AdapterFault, match="died at `stop` with status 0"):
        sane.ask("stop")


def test_no_file_is_left_open(control: Open) -> None:
    before = psutil.Process().num_fds()
    for _ in range(3):
        sane = control(Sane)
        sane.ask("describe")
        sane.close()
    until(lambda: psutil.Process().num_fds() <= before, "the pipes are closed")


def test_one_that_could_not_start_leaves_no_file_open(tmp_path: Path) -> None:
    before = psutil.Process().num_fds()
    with pytest.raises(AdapterFault, match="the control process: /no/such could not be started"):
        Control(Subject("x", {"control": ("/no/such",)}, tmp_path).launch, {}, tmp_path / "log")
    assert psutil.Process().num_fds() == before


# A worker.


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Callable[[str], Worker]]:
    opened: list[Worker] = []

    def worker(program: str) -> Worker:
        argv = [sys.executable, "-S", "-c", program]
        history = History()
        launch = lambda _, env, files: spawn(argv, env, files)  # noqa: E731
        opened.append(Worker("w", "worker", launch, {}, tmp_path / "w.log", history))
        opened[-1].watch()
        return opened[-1]

    yield worker
    for each in opened:
        each.close()


def end(worker: Worker) -> int:
    """The status in the history, which must come."""
    found = worker.history.until(lambda events: [e for e in events if e["event"] == "exited"], PATIENCE)
    assert (found[0]["worker"], found[0]["pid"]) == ("w", worker.pid)
    return int(found[0]["status"])


@pytest.mark.parametrize(
    ("program", "status"), [("", 0), ("raise SystemExit(75)", 75), ("import os; os.abort()", -signal.SIGABRT)]
)
def test_its_end_is_in_the_history(program: str, status: int, worker: Callable[[str], Worker]) -> None:
    assert end(worker(program)) == status


def test_its_signals_reach_it_alone(worker: Callable[[str], Worker]) -> None:
    program = "import subprocess, time; subprocess.Popen(['sleep', '600']); time.sleep(600)"
    it = worker(program)
    until(lambda: len(it.tree()) == 2, "it has a child")
    child = it.tree()[1]
    it.signal(signal.SIGTERM)
    assert end(it) == -signal.SIGTERM
    assert child.is_running()
    child.kill()
    it.signal(signal.SIGTERM)
    assert it.tree() == []


def test_it_is_ended_with_all_its_children_in_whatever_state(worker: Callable[[str], Worker]) -> None:
    program = "import signal, subprocess, time; signal.signal(15, signal.SIG_IGN); subprocess.Popen(['sleep', '600'])"
    it = worker(f"{program}; time.sleep(600)")
    until(lambda: len(it.tree()) == 2, "it has a child")
    tree = it.tree()
    for process in tree:
        process.suspend()
    it.close()
    assert end(it) == -signal.SIGKILL
    until(lambda: not any(process.is_running() and process.status() != "zombie" for process in tree), "all are gone")


@pytest.mark.skipif(sys.platform != "linux", reason="named semaphores are files on Linux alone")
@pytest.mark.parametrize("kill", [True, False])
def test_its_named_semaphores_go_with_it(kill: bool, worker: Callable[[str], Worker]) -> None:
    name = f"leaseproof-{uuid.uuid4().hex}"
    program = f"import _multiprocessing, time; it = _multiprocessing.SemLock(1, 1, 1, '/{name}', False)"
    it = worker(f"{program}; print('made', flush=True); time.sleep(600)")
    until(lambda: "made" in it.log.read_text(), "it is made")
    file = Path(f"/dev/shm/sem.{name}")
    assert file.exists()
    if kill:
        it.signal(signal.SIGKILL)
        end(it)
    it.close()
    assert not file.exists()


def test_what_it_says_is_in_its_log(worker: Callable[[str], Worker]) -> None:
    it = worker("import sys; print('out', flush=True); sys.exit('err')")
    end(it)
    assert it.log.read_text() == "out\nerr\n"
    assert last_words(it.log) == "; it said last:\n    out\n    err"


def test_last_words_are_the_last(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert last_words(log) == ""
    log.write_bytes(b"\n".join(str(number).encode() for number in range(9)) + b"\xff\n\n")
    assert last_words(log, 2) == "; it said last:\n    7\n    8\N{REPLACEMENT CHARACTER}"


def test_how_a_process_ended() -> None:
    assert [how(0), how(3), how(-9)] == ["with status 0", "with status 3", "by SIGKILL"]


def test_many_may_wait_for_the_end(worker: Callable[[str], Worker]) -> None:
    it = worker("import time; time.sleep(600)")
    statuses: list[int] = []
    waiters = [threading.Thread(target=lambda: statuses.append(end(it))) for _ in range(5)]
    for waiter in waiters:
        waiter.start()
    os.kill(it.pid, signal.SIGKILL)
    for waiter in waiters:
        waiter.join(PATIENCE)
    assert statuses == [-signal.SIGKILL] * 5
