"""Old jobs go, a batch at a time."""

from typing import Any, ClassVar, LiteralString

import psycopg
from psycopg.rows import scalar_row

from queue_core.scheduler import LONGEST_CATCH_UP


class Retention:
    """Deletes jobs a while after their end, and with the done ones the ticks of schedules.

    Each batch is a transaction of its own, so that none is long: a long one keeps vacuum, and with it every claim, from
    getting rid of dead rows.

    Args:
        connection: in autocommit mode, and in no transaction.
        done_after: seconds that done jobs are kept.
        failed_after: seconds that failed jobs are kept; None keeps them for ever.
        batch: how many rows a statement deletes at most.

    Raises:
        ValueError: a setting makes no sense, or the connection is not in autocommit mode.
    """

    PURGE: ClassVar[LiteralString] = """
        DELETE FROM jobs
        WHERE id = ANY (ARRAY(
            SELECT id FROM jobs
            WHERE state = %(state)s AND finished_at < now() - make_interval(secs => %(after)s)
            ORDER BY finished_at
            LIMIT %(batch)s
            FOR UPDATE SKIP LOCKED
        ))
    """
    """Delete the oldest jobs that ended in a state long enough ago; NULL is never long enough."""

    PURGE_TICKS: ClassVar[LiteralString] = """
        DELETE FROM ticks
        WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM ticks
            WHERE tick < now() - make_interval(secs => %(after)s)
            ORDER BY tick
            LIMIT %(batch)s
            FOR UPDATE SKIP LOCKED
        ))
    """
    """Delete the oldest ticks."""

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        *,
        done_after: float,
        failed_after: float | None = None,
        batch: int = 1000,
    ) -> None:
        if done_after < 0 or (failed_after is not None and failed_after < 0) or batch < 1:
            raise ValueError(
                f"need done_after and failed_after >= 0 and batch >= 1, not {done_after}, {failed_after} and {batch}"
            )
        if not connection.autocommit:
            raise ValueError("need a connection in autocommit mode: each batch is a transaction of its own")
        self.connection = connection
        self.done_after = done_after
        self.failed_after = failed_after
        self.batch = batch

    def purge(self) -> int:
        """Delete all that is old enough, oldest first. Returns how many jobs that were.

        Rows that somebody else holds are left to the next purge. Raises psycopg.Error as the connection does; the
        batches before it stay deleted.
        """
        jobs = self.in_batches(self.PURGE, state="done", after=self.done_after)
        jobs += self.in_batches(self.PURGE, state="failed", after=self.failed_after)
        if self._has_ticks():
            # One that a scheduler may yet catch up with would be fired again.
            self.in_batches(self.PURGE_TICKS, after=max(self.done_after, 2 * LONGEST_CATCH_UP))
        return jobs

    def in_batches(self, statement: LiteralString, **params: Any) -> int:
        """Run a statement until it finds no full batch any more. Returns how many rows it was carried out for."""
        total, rows = 0, self.batch
        while rows >= self.batch:
            rows = self.delete(statement, **params, batch=self.batch)
            total += rows
        return total

    def delete(self, statement: LiteralString, **params: Any) -> int:
        """Run a statement once, in a transaction of its own. Returns how many rows it was carried out for."""
        # Planned each time: only for a known state can the planner use the index of ended jobs.
        return self.connection.execute(statement, params, prepare=False).rowcount

    def _has_ticks(self) -> bool:
        """Whether schedules are installed at all."""
        with self.connection.cursor(row_factory=scalar_row) as cursor:
            return bool(cursor.execute("SELECT to_regclass('ticks') IS NOT NULL").fetchone())
