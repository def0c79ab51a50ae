"""However the bench ends, nothing of the run is left."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from bench import postgres
from bench.janitor import MARK, Janitor, JanitorError
from bench.postgres import halt
from bench.rundir import RunDir, RunDirError, sweep

PATIENCE = 30.0
"""seconds: a bound for a loaded machine, not an expectation"""


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE:g} s: {what}"
        time.sleep(0.02)


@pytest.fixture(autouse=True)
def temp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A temporary folder of our own, for this process and its children; and a cache that the session shares."""
    cache = tmp_path_factory.getbasetemp() / "cache"  # before TMPDIR is ours: pytest's own folder must outlive it
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", None)
        yield Path(folder)
    tempfile.tempdir = None


# A bench that starts all that is hard to clean up, tells of it, and waits for its own death.
BENCH = """
import json, os, signal, subprocess, sys, threading
import psycopg
from bench import postgres
from bench.janitor import Janitor
from bench.rundir import RunDir

order = json.loads(sys.argv[1])
run = RunDir.create()
janitor = Janitor(run.path) if order["janitor"] else None
env = {**os.environ, "LEASEPROOF_RUN": run.id}

# A worker that left our session and our tree: its parent has ended.
orphan = "import os, time; os.fork() and os._exit(0); os.setsid(); print(os.getpid(), flush=True); time.sleep(600)"
worker = subprocess.Popen([sys.executable, "-c", orphan], env=env, stdout=subprocess.PIPE)
pids = [int(worker.stdout.readline())]
worker.wait()
# And one that was stopped.
stopped = subprocess.Popen(["sleep", "600"], env=env)
stopped.send_signal(signal.SIGSTOP)
pids.append(stopped.pid)

# From a side thread, so that no parent-death signal helps the janitor.
servers = []
start = lambda: servers.append(postgres.start("embedded", run.path))
thread = threading.Thread(target=start)
thread.start()
thread.join()
start()
# The first has a backend that is busy, and its postmaster is stopped.
connection = psycopg.connect(servers[0].create_database("busy"))
threading.Thread(target=lambda: connection.execute("SELECT pg_sleep(600)"), daemon=True).start()
os.kill(servers[0].postmaster(), signal.SIGSTOP)
# And one beside it, as an arm has it, has lost its postmaster, and not yet a busy backend.
servers.append(servers[1].private(run.path))
orphaned = psycopg.connect(servers[2].create_database("orphaned"))
threading.Thread(target=lambda: orphaned.execute("DO 'BEGIN LOOP END LOOP; END'"), daemon=True).start()
with psycopg.connect(servers[2].create_database("watch"), autocommit=True) as watch:
    while not watch.execute("SELECT 1 FROM pg_stat_activity WHERE query ~ '^DO' AND state = 'active'").fetchone():
        pass
os.kill(servers[2].postmaster(), signal.SIGKILL)

if order["dsn"]:
    user = postgres.start(order["dsn"], run.path)
    janitor.tell_dsn(order["dsn"])
    user.create_database("arm")
print(json.dumps({"id": run.id, "path": str(run.path), "pids": pids, "data": [str(s.data) for s in servers],
                  "janitor": janitor and janitor._process.pid}), flush=True)
signal.pause()
"""


def bench(janitor: bool, dsn: str | None = None) -> tuple[subprocess.Popen[str], dict[str, Any]]:
    """A bench in a process of its own, and what it started."""
    order = json.dumps({"janitor": janitor, "dsn": dsn})
    process = subprocess.Popen([sys.executable, "-c", BENCH, order], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    return process, json.loads(process.stdout.readline())


def end(process: subprocess.Popen[str], signal_: signal.Signals = signal.SIGKILL) -> None:
    process.send_signal(signal_)
    process.wait()
    assert process.stdout
    process.stdout.close()


def runs(pid: int) -> bool:
    """Whether a process runs; where nobody reaps orphans, a zombie stays and does not count."""
    try:
        return halt.alive(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return False


def nothing_left(run: dict[str, Any]) -> bool:
    workers = [pid for pid in run["pids"] if runs(pid)]
    backends = [process for data in run["data"] for process in halt.members(Path(data))]
    return not (workers or backends or Path(run["path"]).exists())


def segment(data: str) -> str:
    found = halt.read_pid_file(Path(data) / "postmaster.pid")[1]
    assert found
    return found


@pytest.mark.parametrize("signal_", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_bench_leaves_nothing(signal_: signal.Signals) -> None:
    process, run = bench(janitor=True)
    assert not nothing_left(run)
    segments = [segment(data) for data in run["data"]]
    end(process, signal_)
    until(lambda: nothing_left(run), f"all of {run} is gone")
    until(lambda: not runs(run["janitor"]), "the janitor has ended")
    left = [line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    assert not set(segments) & set(left)


def test_the_users_server_is_cleaned_and_its_dsn_shown_to_nobody(tmp_path: Path) -> None:
    server = postgres.start("embedded", tmp_path)
    dsn = server.create_database("theirs")
    password = str(psycopg.conninfo.conninfo_to_dict(dsn)["password"])
    process, run = bench(janitor=True, dsn=dsn)
    janitor = psutil.Process(run["janitor"])
    assert password not in str(janitor.cmdline())
    assert password not in str(janitor.environ())

    def ours() -> list[str]:
        with psycopg.connect(dsn) as connection:
            names = connection.execute("SELECT datname FROM pg_database WHERE starts_with(datname, 'leaseproof_')")
            return [name for (name,) in names]

    assert ours() == [f"leaseproof_{run['id']}_arm"]
    end(process)
    until(lambda: not ours(), "the databases are dropped")
    until(lambda: nothing_left(run), f"all of {run} is gone")
    server.stop()


def test_close_cleans_while_the_bench_lives_on() -> None:
    run = RunDir.create()
    janitor = Janitor(run.path)
    worker = subprocess.Popen(["sleep", "600"], env={**os.environ, MARK: run.id}, start_new_session=True)
    stranger = subprocess.Popen(["sleep", "600"], env={**os.environ, MARK: "another"})
    server = postgres.start("embedded", run.path)
    janitor.close(PATIENCE)
    assert worker.wait() == -signal.SIGKILL
    assert not run.path.exists()
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()
    server.stop()


def test_the_janitor_heeds_no_signal() -> None:
    run = RunDir.create()
    janitor = Janitor(run.path)
    process = psutil.Process(janitor._process.pid)
    wanted = sum(1 << (number - 1) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))

    def ignored() -> int:
        status = Path(f"/proc/{process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("SigIgn")).split()[1], 16)

    until(lambda: ignored() & wanted == wanted, "the signals are ignored")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process.send_signal(number)
    assert os.getsid(process.pid) == process.pid
    janitor.close(PATIENCE)
    assert not run.path.exists()


def test_a_dead_janitor_is_told_of() -> None:
    run = RunDir.create()
    janitor = Janitor(run.path)
    janitor._process.kill()
    janitor._process.wait()
    with pytest.raises(JanitorError, match="is gone"):
        janitor.tell_dsn("postgresql://")
    with pytest.raises(JanitorError, match="failed"):
        janitor.close(PATIENCE)


def test_one_failing_step_hinders_no_other(capfd: pytest.CaptureFixture[str]) -> None:
    run = RunDir.create()
    janitor = Janitor(run.path)
    janitor.tell_dsn("postgresql://ann:SECRET@127.0.0.1:1/db")
    with pytest.raises(JanitorError, match="failed"):
        janitor.close(PATIENCE)
    assert not run.path.exists()
    told = capfd.readouterr().err
    assert "127.0.0.1" in told
    assert "SECRET" not in told


def test_the_janitor_starts_light() -> None:
    loaded = "import sys, bench.janitor; print([name for name in ('psycopg', 'rich', 'docker') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_sweep_removes_what_the_dead_left_and_nothing_of_the_living() -> None:
    process, run = bench(janitor=False)
    mine = RunDir.create()
    assert sweep() == []
    end(process)
    assert not nothing_left(run)
    assert sweep() == [run["id"]]
    assert nothing_left(run)
    assert mine.path.exists()
    owner = json.loads((mine.path / "owner.json").read_text())
    assert owner == {"pid": os.getpid(), "started": psutil.Process().create_time()}


def test_sweep_spares_a_folder_that_is_just_being_made() -> None:
    parent = RunDir.create().path.parent
    (parent / "new").mkdir()
    assert "new" not in sweep()
    long_ago = time.time() - 3600
    os.utime(parent / "new", (long_ago, long_ago))
    assert "new" in sweep()


def test_a_run_has_a_folder_of_its_own(temp: Path) -> None:
    first, second = RunDir.create(), RunDir.create()
    assert first.id != second.id
    assert first.id == first.path.name
    assert first.path.parent == temp / f"leaseproof-{os.geteuid()}"
    assert [path.stat().st_mode & 0o777 for path in (first.path, first.path.parent)] == [0o700, 0o700]


@pytest.mark.parametrize("kind", ["link", "open", "file", "theirs"])
def test_an_unsafe_parent_is_refused(kind: str, temp: Path) -> None:
    parent = temp / f"leaseproof-{os.geteuid()}"
    if kind == "link":
        (temp / "target").mkdir(mode=0o700)
        parent.symlink_to(temp / "target")
    elif kind == "file":
        parent.touch(mode=0o600)
    else:
        parent.mkdir(mode=0o700)
        if kind == "open":
            parent.chmod(0o777)
        elif os.geteuid() != 0:
            pytest.skip("only root can make another's folder")
        else:
            os.chown(parent, 65534, 65534)
    with pytest.raises(RunDirError, match="remove it, or set TMPDIR"):
        RunDir.create()
