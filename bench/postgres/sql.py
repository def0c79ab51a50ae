"""The few statements that the bench itself says to a server, and the making of DSNs."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from urllib.parse import quote, urlencode

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from bench.postgres.base import PostgresError, redact

LONGEST_NAME = 63
"""bytes; PostgreSQL silently cuts what is longer"""
PATIENCE = 5
"""seconds to wait for the server's answer, where the DSN does not say"""
SETTINGS = ("fsync", "full_page_writes", "synchronous_commit", "max_connections")


def connect(dsn: str) -> psycopg.Connection:
    """An autocommit connection whose text is text, even in a database that declares no encoding."""
    parameters = {"connect_timeout": PATIENCE, **conninfo_to_dict(dsn), "client_encoding": "utf8"}
    return psycopg.connect(make_conninfo("", **parameters), autocommit=True)


@contextmanager
def session(dsn: str) -> Iterator[psycopg.Connection]:
    """A connection; whatever goes wrong in it is a PostgresError."""
    try:
        with connect(dsn) as connection:
            yield connection
    except psycopg.Error as error:
        raise PostgresError(redact(f"PostgreSQL said: {str(error).strip()}")) from None


def create_database(admin: str, name: str) -> str:
    """Creates a database beside the one that `admin` leads to; returns its DSN."""
    if len(name.encode()) > LONGEST_NAME:
        raise PostgresError(f"the database name {name!r} is longer than {LONGEST_NAME} bytes: shorten it")
    with session(admin) as connection:
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'").format(
            sql.Identifier(name)
        )
        if connection.info.server_version >= 150000:
            # No checkpoint, unlike the older strategy: many arms create theirs at once.
            statement += sql.SQL(" STRATEGY wal_log")
        connection.execute(statement)
    return with_database(admin, name)


def drop_database(admin: str, dsn: str) -> None:
    """Drops the database that `dsn` leads to, whoever is still connected to it."""
    with session(admin) as connection:
        name = sql.Identifier(str(conninfo_to_dict(dsn)["dbname"]))
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))


def drop_databases(admin: str, prefix: str) -> None:
    """Drops every database whose name starts with `prefix`, whoever is still connected to it."""
    with session(admin) as connection:
        names = connection.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [prefix])
        for (name,) in names.fetchall():
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def change_password(admin: str) -> str:
    """Gives the role that `admin` is a random password, and returns the DSN with it."""
    parameters = conninfo_to_dict(admin)
    password = secrets.token_hex(16)
    with session(admin) as connection:
        role, secret = sql.Identifier(str(parameters["user"])), sql.Literal(password)
        connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, secret))
    return as_url({**parameters, "password": password})


def settings(connection: psycopg.Connection) -> dict[str, str]:
    """The server's settings that a result depends on."""
    rows = connection.execute("SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY(%s)", [[*SETTINGS]])
    return dict(rows.fetchall())


def postmaster_start(admin: str) -> datetime:
    """When the server was started, by its own word."""
    with session(admin) as connection:
        row = connection.execute("SELECT pg_postmaster_start_time()").fetchone()
    assert row, "a SELECT without FROM has one row"
    started: datetime = row[0]
    return started


def prefix(run_id: str) -> str:
    """How the names of a run's databases begin on the user's server."""
    return f"leaseproof_{run_id}_"


def with_database(dsn: str, name: str) -> str:
    """The same DSN, as a URL, leading to another database."""
    return as_url(conninfo_to_dict(dsn) | {"dbname": name})


def as_url(parameters: Mapping[str, object]) -> str:
    """libpq's parameters as a URL: user, password, one TCP host and port in front, all others in the query."""
    rest = {key: str(value) for key, value in parameters.items() if value is not None}
    user, password = rest.pop("user", ""), rest.pop("password", "")
    database = rest.pop("dbname", "")
    who = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
    where = ""
    if rest.get("host") and not any(sign in rest["host"] for sign in "/,"):
        host, port = rest.pop("host"), rest.pop("port", "")
        where = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
    query = f"?{urlencode(rest, quote_via=quote)}" if rest else ""
    return f"postgresql://{who}{'@' if who else ''}{where}/{quote(database, safe='')}{query}"
