"""Who is connected to an arm's database, as the server itself has it: pg_stat_activity.

A worker's connections are named `NAME ROLE` (`A heartbeat`), or by its name alone where it gives them no roles.
"""

from dataclasses import dataclass
from datetime import datetime

WORKERS = """
    SELECT pid, backend_start, split_part(application_name, ' ', 2), coalesce(client_port, 0) FROM pg_stat_activity
    WHERE datname = current_database() AND split_part(application_name, ' ', 1) = %s ORDER BY backend_start
"""


@dataclass(frozen=True)
class Backend:
    """One server process. `port` is the one that its client has: -1 for a Unix socket."""

    pid: int
    started: datetime
    role: str
    port: int


def of(dsn: str, worker: str, role: str = "") -> list[Backend]:
    """A worker's backends, or those of one role."""
    import psycopg  # late: a twin's worker process loads this file

    with psycopg.connect(dsn, autocommit=True) as connection:
        found = [Backend(*row) for row in connection.execute(WORKERS, (worker,))]
    return [backend for backend in found if role in ("", backend.role)]
