"""The user's own server, reached by a DSN. The bench makes databases in it and drops them; it touches nothing else."""

from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import conninfo_to_dict

from bench.postgres import sql
from bench.postgres.base import PostgresError, Server, Unavailable, check_version, redact

if TYPE_CHECKING:
    from bench.postgres.cluster import Cluster

CONNECTIONS = 60
"""free connections that a run may need at once"""


class User(Server):
    """A server that somebody else owns."""

    kind = "dsn"

    def __init__(self, admin: str, run_id: str, version: str, described: dict[str, str]) -> None:
        self.version = version
        self._admin = admin
        self._prefix = sql.prefix(run_id)
        self._described = described
        self._stopped = False

    def create_database(self, name: str) -> str:
        return sql.create_database(self._admin, self._prefix + name)

    def private(self, run_dir: Path) -> "Cluster":
        raise Unavailable("not the one behind a DSN")

    def describe(self) -> dict[str, str]:
        return {"kind": self.kind, "version": self.version, **self._described}

    def stop(self) -> None:
        if not self._stopped:
            sql.drop_databases(self._admin, self._prefix)
        self._stopped = True


def start(dsn: str, run_dir: Path) -> User:
    """The user's server, once it is sure that it can serve; or PostgresError."""
    try:
        parameters = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        # Not told further: its text quotes pieces of the DSN, and so perhaps of the password.
        raise PostgresError("the DSN can't be parsed; write postgresql://user:password@host:port/database") from None
    try:
        connection = sql.connect(dsn)
    except psycopg.OperationalError as error:
        raise PostgresError(
            f"can't connect to {redact(dsn)}: {redact(str(error).strip())}; "
            "start the server or correct the DSN, or leave it out to use the embedded server"
        ) from None
    with connection:
        info = connection.info
        check_version(info.server_version)
        _check_role(connection)
        _check_connections(connection)
        # Filled in from what libpq found in PGHOST, PGPASSWORD, a service or a password file: workers have none of it.
        found = {"host": info.host, "port": info.port, "user": info.user, "password": info.password or None}
        parameters.pop("service", None)
        described = {"server": f"{info.host}:{info.port}", **sql.settings(connection)}
        version = info.parameter_status("server_version") or str(info.server_version)
        admin = sql.as_url({**parameters, **found, "dbname": info.dbname})
    return User(admin, run_dir.name, version.split()[0], described)


def _check_role(connection: psycopg.Connection) -> None:
    row = connection.execute(
        "SELECT rolname, quote_ident(rolname), rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    assert row, "a session has a role"
    name, quoted, may_create = row
    if not may_create:
        raise PostgresError(f"the role {name!r} may not create databases; as a superuser: ALTER ROLE {quoted} CREATEDB")


def _check_connections(connection: psycopg.Connection) -> None:
    row = connection.execute(
        """SELECT current_setting('max_connections')::int,
                  current_setting('max_connections')::int
                  - current_setting('superuser_reserved_connections')::int
                  - coalesce(current_setting('reserved_connections', true), '0')::int
                  - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')"""
    ).fetchone()
    assert row, "a SELECT without FROM has one row"
    most, free = row
    if free < CONNECTIONS:
        raise PostgresError(
            f"only {free} of the server's max_connections ({most}) are free, and a run needs {CONNECTIONS}; close "
            f"other clients, or ALTER SYSTEM SET max_connections = {most + CONNECTIONS - free} and restart the server"
        )
