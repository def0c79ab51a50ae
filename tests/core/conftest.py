"""A PostgreSQL for the session, and an installed queue in a schema of its own for each test."""

import itertools
import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from bench import postgres
from bench.postgres.base import Server
from queue_core import Queue

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """LEASEPROOF_TEST_DSN names a server to use instead of one of our own."""
    server = postgres.start(os.environ.get("LEASEPROOF_TEST_DSN", "auto"), tmp_path_factory.mktemp("postgres"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def database(server: Server) -> str:
    return server.create_database(f"core_{os.getpid()}")


@pytest.fixture
def empty_dsn(database: str) -> str:
    """A schema with nothing in it, the only one on the search path: cheaper than a database, and enough here."""
    name = f"test_{next(_numbers)}"
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    return make_conninfo(database, options=f"-c search_path={name}")


@pytest.fixture
def dsn(empty_dsn: str) -> str:
    """A schema with the queue installed."""
    with psycopg.connect(empty_dsn, autocommit=True) as connection:
        Queue(connection).install()
    return empty_dsn


@pytest.fixture
def connection(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
def queue(connection: psycopg.Connection[Any]) -> Queue:
    return Queue(connection)
