"""A row lock of the bench's own, as a barrier: who has read the row waits at it, and the server says who does.

No hook in the subject's code is needed to hold it between two statements.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg


class Barrier:
    """The lock while it is held. A worker is known by the first word of its connections' application name."""

    stages = True
    """Whether anybody is held up."""

    def __init__(self, watcher: psycopg.Connection[Any], holder: int) -> None:
        self._watcher = watcher
        self._holder = holder
        self._since = self._one("SELECT clock_timestamp()")

    def _one(self, statement: str) -> Any:
        row = self._watcher.execute(statement.encode()).fetchone()
        return row[0] if row else None

    def is_held(self) -> bool:
        """Whether the server says that rows are locked for the bench."""
        locks = b"SELECT FROM pg_locks WHERE pid = %s AND mode = 'RowShareLock' AND granted"
        return self._watcher.execute(locks, (self._holder,)).rowcount > 0

    def waiting(self) -> list[str]:
        """Who waits for a lock now."""
        return self._names("wait_event_type = 'Lock'", ())

    def seen(self) -> list[str]:
        """Who has sent a statement since the lock was taken."""
        return self._names("query_start > %s AND query <> ''", (self._since,))

    def _names(self, condition: str, arguments: Iterable[Any]) -> list[str]:
        rows = self._watcher.execute(
            b"SELECT DISTINCT split_part(application_name, ' ', 1) FROM pg_stat_activity"
            b" WHERE datname = current_database() AND application_name <> '' AND pid <> pg_backend_pid()"
            b" AND application_name NOT LIKE 'leaseproof barrier%%' AND " + condition.encode() + b" ORDER BY 1",
            tuple(arguments),
        )
        return [name for (name,) in rows]


class NoBarrier(Barrier):
    """Where nothing can be locked, nobody waits."""

    stages = False

    def __init__(self) -> None:
        pass

    def is_held(self) -> bool:
        return False

    def waiting(self) -> list[str]:
        return []

    def seen(self) -> list[str]:
        return []


@contextmanager
def hold(dsn: str, statement: str, arguments: Sequence[Any]) -> Iterator[Barrier]:
    """Hold the lock that `statement` takes, on the row with the id in `arguments` if any, until the context ends."""
    watcher = psycopg.connect(dsn, autocommit=True, application_name="leaseproof barrier watcher")
    with watcher, psycopg.connect(dsn, application_name="leaseproof barrier") as holder:
        cursor = holder.execute(statement.encode(), arguments or None)
        if arguments and cursor.fetchone() is None:
            raise LookupError(f"no row was locked for the job {arguments[0]}")
        yield Barrier(watcher, holder.info.backend_pid)
        holder.rollback()
