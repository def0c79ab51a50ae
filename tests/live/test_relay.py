"""The relay between real clients and a real server: what it passes on, what it swallows, what it cuts and refuses."""

import gc
import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from bench import backends
from bench.relay import Relay, RelayError
from bench.runner import Bench
from tests.live.conftest import PATIENCE, until


@pytest.fixture(scope="module")
def database(bench: Bench) -> str:
    return bench.server.create_database("relayed")


@pytest.fixture
def relay(database: str) -> Iterator[Relay]:
    with Relay(database) as relay:
        yield relay


def place(dsn: str) -> int:
    """The port in a DSN."""
    return int(str(conninfo_to_dict(dsn)["port"]))


def connect(relay: Relay, name: str = "worker main") -> psycopg.Connection[Any]:
    return psycopg.connect(relay.url, autocommit=True, application_name=name)


def ask(connection: psycopg.Connection[Any], statement: bytes = b"SELECT 1") -> Any:
    row = connection.execute(statement).fetchone()
    assert row
    return row[0]


def port(connection: psycopg.Connection[Any]) -> int:
    """The port that the server sees."""
    return int(ask(connection, b"SELECT inet_client_port()"))


class Asking:
    """A statement under way on a thread of its own; what came of it."""

    def __init__(self, connection: psycopg.Connection[Any], statement: bytes = b"SELECT 1") -> None:
        pool = ThreadPoolExecutor(1)
        self._connection = connection
        self._answer = pool.submit(ask, connection, statement)
        pool.shutdown(wait=False)

    @property
    def is_waiting(self) -> bool:
        return not self._answer.done()

    def answer(self) -> Any:
        try:
            return self._answer.result(PATIENCE)
        except TimeoutError:  # Nobody else could use, or close, the connection.
            with socket.socket(fileno=os.dup(self._connection.fileno())) as line:
                line.shutdown(socket.SHUT_RDWR)
            raise


class Raw:
    """A client that speaks no PostgreSQL."""

    def __init__(self, relay: Relay) -> None:
        self.socket = socket.create_connection(("127.0.0.1", place(relay.url)), PATIENCE)

    def send(self, data: bytes = b"hello") -> None:
        self.socket.sendall(data)

    @property
    def is_ended(self) -> bool:
        """Whether it was cut, or the other side has hung up."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self.socket.close()


# What it is.


def test_the_dsn_is_the_same_but_for_its_place() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with Relay(f"postgresql://me:p%40ss%2F@localhost:{port}/db%20x?sslmode=disable&options=-c%20x%3Dy") as relay:
            parameters = conninfo_to_dict(relay.url)
    assert relay.url.startswith("postgresql://me:p%40ss%2F@127.0.0.1:")
    assert parameters.pop("port") == str(place(relay.url)) != str(port)
    assert parameters == {
        "user": "me",
        "password": "p@ss/",
        "host": "127.0.0.1",
        "dbname": "db x",
        "sslmode": "disable",
        "options": "-c x=y",
    }


@pytest.mark.parametrize(
    "url", ["redis://:p%40=x@localhost:{}/3", "amqp://me:x@127.0.0.1:{}/%2F", "nats://localhost:{}", "127.0.0.1:{}"]
)
def test_any_services_url_is_the_same_but_for_its_place(url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with Relay(url.format(port)) as relay:
            mine = int("".join(filter(str.isdigit, relay.url.partition("127.0.0.1:")[2][:5])))
            socket.create_connection(("127.0.0.1", mine)).close()
    assert mine != port
    assert relay.url == url.replace("localhost", "127.0.0.1").format(mine)


@pytest.mark.parametrize("url", ["redis://localhost/0", "nats://:4222", "amqp://"])
def test_a_url_without_host_or_port_is_refused(url: str) -> None:
    with pytest.raises(RelayError, match="one TCP host and a port"):
        Relay(url)


def test_a_numeric_address_goes_before_the_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        dsn = f"host=no.such.host.invalid hostaddr=127.0.0.1 port={server.getsockname()[1]}"
        with Relay(dsn) as relay:
            assert conninfo_to_dict(relay.url).get("hostaddr") is None
            assert conninfo_to_dict(relay.url)["host"] == "127.0.0.1"


@pytest.mark.parametrize("dsn", ["dbname=x", "host=/tmp", "postgresql:///x", "host=a,b", "postgresql://a:1,b:2/x"])
def test_what_has_no_one_tcp_host_is_refused(dsn: str) -> None:
    with pytest.raises(RelayError, match="a relay needs one TCP host"):
        Relay(dsn)


def test_without_a_server_there_is_no_relay() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        dsn = f"postgresql://127.0.0.1:{server.getsockname()[1]}/x"
    threads = threading.active_count()
    with pytest.raises(ConnectionRefusedError), Relay(dsn):
        pass
    assert threading.active_count() == threads


def test_it_listens_on_loopback_alone(relay: Relay) -> None:
    listening = [c.laddr for c in psutil.Process().net_connections("tcp") if c.status == psutil.CONN_LISTEN]
    mine = place(relay.url)
    assert [address.ip for address in listening if address.port == mine] == ["127.0.0.1"]


# What it passes on.


def test_it_is_the_same_server(relay: Relay, database: str) -> None:
    with connect(relay) as connection, psycopg.connect(database) as direct:
        statement = b"SELECT pg_postmaster_start_time()::text || current_database()"
        assert ask(connection, statement) == ask(direct, statement)


def test_much_goes_through_unharmed_both_ways_and_side_by_side(relay: Relay) -> None:
    def go(number: int) -> bool:
        sent = f"{number}" * 3_000_000
        with connect(relay) as connection:
            row = connection.execute("SELECT %s::text, md5(%s::text)", (sent, sent)).fetchone()
            return row is not None and row[0] == sent and len(row[1]) == 32

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(go, range(8)))
    assert (relay.swallowed, relay.cut, relay.refused) == (0, 0, 0)


def test_an_end_is_passed_on_both_ways(relay: Relay, database: str) -> None:
    first, second = connect(relay), connect(relay, "worker other")
    first.close()
    until(lambda: [b.role for b in backends.of(database, "worker")] == ["other"], "the server has heard of its end")
    with psycopg.connect(database) as direct:
        direct.execute("SELECT pg_terminate_backend(%s)", (second.info.backend_pid,))
    with pytest.raises(psycopg.errors.AdminShutdown):
        ask(second)
    second.close()
    until(lambda: relay.ports() == [], "nothing is relayed any more")


def test_a_reset_is_passed_on(relay: Relay, database: str) -> None:
    client = Raw(relay)
    until(relay.ports, "it is connected")
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()
    until(lambda: relay.ports() == [], "the connection to the server is gone, too")


def test_a_server_that_goes_away_ends_its_connections() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    with server, Relay(f"postgresql://127.0.0.1:{server.getsockname()[1]}/x") as relay:
        server.accept()[0].close()  # the relay's trial
        client = Raw(relay)
        accepted, _ = server.accept()
        server.close()
        accepted.close()
        assert client.is_ended
        later = Raw(relay)
        assert later.is_ended
        for each in client, later:
            each.close()


def test_a_connection_goes_by_its_port(relay: Relay, database: str) -> None:
    with connect(relay, "worker main") as main, connect(relay, "worker listen") as listen:
        assert relay.ports() == sorted([port(main), port(listen)])
        (backend,) = backends.of(database, "worker", "listen")
        assert (backend.pid, backend.port) == (listen.info.backend_pid, port(listen))


# The black hole.


def test_what_is_swallowed_is_gone_and_nobody_is_told(relay: Relay, database: str) -> None:
    with connect(relay) as connection, psycopg.connect(database, autocommit=True) as direct:
        relay.swallow()
        asking = Asking(connection, b"CREATE TABLE never (x int)")
        until(lambda: relay.swallowed > 0, "the statement is swallowed")
        swallowed = relay.swallowed
        assert asking.is_waiting
        assert [b.pid for b in backends.of(database, "worker")] == [connection.info.backend_pid]
        relay.pass_on()
        with pytest.raises(psycopg.OperationalError):
            asking.answer()
        assert ask(direct, b"SELECT to_regclass('never') IS NULL")
        assert (relay.swallowed, relay.cut, relay.refused) == (swallowed, 1, 0)
        until(lambda: backends.of(database, "worker") == [], "the server has lost it, too")
    with connect(relay) as again:
        assert ask(again) == 1


def test_an_answer_is_swallowed_as_well(relay: Relay, database: str) -> None:
    with connect(relay) as connection, psycopg.connect(database, autocommit=True) as holder:
        holder.execute("SELECT pg_advisory_lock(7)")
        asking = Asking(connection, b"SELECT pg_advisory_lock(7)::text")
        waiting = b"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        until(lambda: ask(holder, waiting) == 1, "the statement has come to the server")
        relay.swallow()
        assert relay.swallowed == 0
        holder.execute("SELECT pg_advisory_unlock(7)")
        until(lambda: relay.swallowed > 0, "the answer is swallowed")
        assert asking.is_waiting
        relay.pass_on()
        with pytest.raises(psycopg.OperationalError):
            asking.answer()


def test_who_had_nothing_to_say_goes_on_as_if_nothing_had_been(relay: Relay) -> None:
    with connect(relay) as quiet, connect(relay) as other:
        relay.swallow()
        asking = Asking(other)
        until(lambda: relay.swallowed > 0, "the other has spoken")
        relay.pass_on()
        with pytest.raises(psycopg.OperationalError):
            asking.answer()
        assert ask(quiet) == 1
        assert relay.ports() == [port(quiet)]


def test_an_end_is_swallowed_as_well(relay: Relay, database: str) -> None:
    client, killed = connect(relay), connect(relay, "killed main")
    relay.swallow()
    client.close()
    until(lambda: relay.swallowed > 0, "its last word is swallowed")
    with psycopg.connect(database) as direct:
        direct.execute("SELECT pg_terminate_backend(%s)", (killed.info.backend_pid,))
    until(lambda: backends.of(database, "killed") == [], "the server has ended the other")
    assert len(backends.of(database, "worker")) == 1
    asking = Asking(killed)
    assert asking.is_waiting
    relay.pass_on()
    assert relay.cut == 2
    with pytest.raises(psycopg.OperationalError):
        asking.answer()
    until(lambda: backends.of(database, "worker") == [], "the server hears of it in the end")
    killed.close()


def test_a_new_connection_is_taken_and_gets_nothing(relay: Relay) -> None:
    relay.swallow()
    talker, silent = Raw(relay), Raw(relay)
    talker.send(b"12345")
    until(lambda: relay.swallowed == 5, "it is swallowed")
    for client in talker, silent:
        client.socket.settimeout(0.05)
        with pytest.raises(TimeoutError):
            client.socket.recv(1)
        client.socket.settimeout(PATIENCE)
    assert relay.ports() == []
    relay.pass_on()
    assert talker.is_ended
    assert silent.is_ended
    for client in talker, silent:
        client.close()
    with connect(relay) as connection:
        assert ask(connection) == 1


# Cutting and refusing.


def test_the_chosen_are_cut_and_new_ones_refused_and_the_others_go_on(relay: Relay, database: str) -> None:
    with connect(relay, "worker main") as main, connect(relay, "worker listen") as listen:
        relay.refuse([port(listen)])
        assert relay.cut == 1
        with pytest.raises(psycopg.OperationalError):
            ask(listen)
        until(lambda: [b.role for b in backends.of(database, "worker")] == ["main"], "its backend is gone")
        for refused in (1, 2):
            with pytest.raises(psycopg.OperationalError):
                connect(relay)
            assert relay.refused == refused
        assert ask(main) == 1
        relay.pass_on()
        assert ask(main) == 1
        with connect(relay) as again:
            assert ask(again) == 1
    assert (relay.swallowed, relay.cut, relay.refused) == (0, 1, 2)


def test_a_port_that_is_none_of_its_cuts_nothing(relay: Relay) -> None:
    with connect(relay) as connection:
        relay.refuse([port(connection) + 1, 0])
        assert ask(connection) == 1
        assert relay.cut == 0


def test_out_of_a_black_hole_nothing_comes_back_whatever_follows(relay: Relay) -> None:
    with connect(relay) as connection:
        relay.swallow()
        asking = Asking(connection)
        until(lambda: relay.swallowed > 0, "it is swallowed")
        relay.refuse([])
        with pytest.raises(psycopg.OperationalError):
            asking.answer()
        assert relay.cut == 1


# Its end.


@pytest.mark.parametrize("mode", ["pass", "swallow", "refuse"])
def test_nothing_is_left_of_it(mode: str, database: str) -> None:
    def sockets() -> set[int]:
        return {connection.fd for connection in psutil.Process().net_connections("all")}

    gc.collect()  # what other tests have forgotten, or it would go away meanwhile
    before, threads = sockets(), set(threading.enumerate())
    with Relay(database) as relay:
        clients = [Raw(relay) for _ in range(3)]
        until(lambda: len(relay.ports()) == 3, "all are connected")
        if mode == "swallow":
            relay.swallow()
            clients += [Raw(relay)]
            clients[0].send()
            until(lambda: relay.swallowed > 0, "something is swallowed")
        elif mode == "refuse":
            relay.refuse(relay.ports()[:1])
        else:
            clients += [Raw(relay)]
    assert all(client.is_ended for client in clients)
    for client in clients:
        client.close()
    assert set(threading.enumerate()) == threads
    assert sockets() == before


def test_its_end_cuts_who_waits_for_an_answer(database: str) -> None:
    with Relay(database) as relay:
        connection = connect(relay)
        asking = Asking(connection, b"SELECT pg_sleep(600)::text")
        until(lambda: backends.of(database, "worker"), "it is there")
    with pytest.raises(psycopg.OperationalError):
        asking.answer()
    connection.close()
    with psycopg.connect(database) as direct:  # The server would notice only when it answers.
        direct.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'worker %'")


def test_many_threads_may_use_it_at_once(relay: Relay) -> None:
    def use(number: int) -> None:
        for _ in range(10):
            relay.ports()
            relay.refuse([1]) if number % 3 else relay.swallow()
            relay.pass_on()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(use, range(6)))
    with connect(relay) as connection:
        assert ask(connection) == 1
