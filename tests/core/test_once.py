"""Effects are made once: one after another, at the same moment, and beside a failure."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import psycopg
import pytest

from queue_core import Once
from tests.core.helpers import DEADLINE, eventually


@pytest.fixture
def once(connection: psycopg.Connection[Any]) -> Once:
    once = Once(connection)
    once.install()
    return once


class ChecksThenActs(Once):
    @contextmanager
    def guard(self, key: str) -> Iterator[bool]:
        with self.connection.transaction():
            first = not self.connection.execute("SELECT FROM effects WHERE key = %s", [key]).rowcount
            yield first
            self.connection.execute(self.TAKE, {"key": key})


class Guarded(threading.Thread):
    """Makes an effect under a guard on a connection of its own; stays inside until it is let go."""

    def __init__(self, connection: psycopg.Connection[Any], key: str, guard: type[Once] = Once) -> None:
        super().__init__(daemon=True)
        self.connection = connection
        self.key = key
        self.guard = guard
        self.first: bool | None = None
        self.go = threading.Event()
        self.start()

    def run(self) -> None:
        with self.guard(self.connection).guard(self.key) as first:
            self.first = first
            assert self.go.wait(DEADLINE), "the test never let go"

    def until_inside(self) -> None:
        eventually(lambda: self.first is not None, "a guard lets in")

    def end(self) -> bool | None:
        self.go.set()
        self.join(DEADLINE)
        assert not self.is_alive()
        return self.first


def waits(once: Once, other: psycopg.Connection[Any]) -> bool:
    """Whether a connection waits for a lock."""
    sql = "SELECT FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"
    return once.connection.execute(sql, [other.info.backend_pid]).rowcount == 1


def test_install_twice(once: Once) -> None:
    with once.guard("mail/1"):
        pass
    once.install()
    with once.guard("mail/1") as first:
        assert not first


def test_one_after_another(once: Once) -> None:
    seen = []
    for key in ("mail/1", "mail/1", "mail/2", "mail/1"):
        with once.guard(key) as first:
            seen.append(first)
    assert seen == [True, False, True, False]


def test_a_failed_effect_is_still_to_be_made(once: Once) -> None:
    def fail() -> None:
        with once.guard("mail/1") as first:
            assert first
            raise RuntimeError("no connection to the mail server")

    with pytest.raises(RuntimeError, match="mail server"):
        fail()
    with once.guard("mail/1") as first:
        assert first


def test_with_the_effect_in_the_same_database(once: Once) -> None:
    once.connection.execute("CREATE TABLE account (balance int)")
    once.connection.execute("INSERT INTO account VALUES (0)")
    for _ in range(3):
        with once.guard("pay/1") as first:
            if first:
                once.connection.execute("UPDATE account SET balance = balance + 10")
    assert once.connection.execute("SELECT balance FROM account").fetchone() == (10,)


def test_within_the_callers_transaction(once: Once) -> None:
    with once.connection.transaction(force_rollback=True):
        with once.guard("mail/1") as first:
            assert first
        assert not once.take("mail/1")
    assert once.take("mail/1")


@pytest.mark.parametrize("commits", [True, False])
def test_who_comes_second_waits_for_the_first(dsn: str, once: Once, commits: bool) -> None:
    with psycopg.connect(dsn) as one, psycopg.connect(dsn, autocommit=True) as two:
        assert Once(one).take("mail/1")
        second = Guarded(two, "mail/1")
        eventually(lambda: waits(once, two), "the second waits")
        assert second.first is None
        if commits:
            one.commit()
        else:
            one.rollback()
        second.until_inside()
        assert second.end() is not commits


def test_who_comes_second_is_let_in_after_the_first_has_died(dsn: str, once: Once) -> None:
    with closing(psycopg.connect(dsn)) as one, psycopg.connect(dsn, autocommit=True) as two:
        assert Once(one).take("mail/1")
        second = Guarded(two, "mail/1")
        eventually(lambda: waits(once, two), "the second waits")
        once.connection.execute("SELECT pg_terminate_backend(%s)", [one.info.backend_pid])
        second.until_inside()
        assert second.end()


def test_eight_at_once(dsn: str, once: Once) -> None:
    with ExitStack() as stack:
        connections = [stack.enter_context(psycopg.connect(dsn, autocommit=True)) for _ in range(8)]
        guarded = [Guarded(connection, "mail/1") for connection in connections]
        eventually(lambda: sum(waits(once, connection) for connection in connections) == 7, "all but one wait")
        for each in guarded:
            each.go.set()
        assert sorted(bool(each.end()) for each in guarded) == [False] * 7 + [True]


def test_other_keys_do_not_wait(dsn: str, once: Once) -> None:
    with psycopg.connect(dsn) as one:
        assert Once(one).take("mail/1")
        with once.guard("mail/2") as first:
            assert first


def test_check_then_act_makes_it_twice(dsn: str, once: Once) -> None:
    """The twin: without the key's decision, both who are inside at the same moment are the first."""
    with psycopg.connect(dsn, autocommit=True) as one, psycopg.connect(dsn, autocommit=True) as two:
        both = [Guarded(connection, "mail/1", ChecksThenActs) for connection in (one, two)]
        for each in both:
            each.until_inside()
        assert [each.end() for each in both] == [True, True]
        with ChecksThenActs(one).guard("mail/1") as first:  # alone, it is right
            assert not first
