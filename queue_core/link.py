"""A connection that can be had again after it broke."""

import psycopg

from queue_core.queue import Queue


class Link:
    """The queue through one connection, opened when it is needed and again after it was dropped."""

    def __init__(self, dsn: str, queue_class: type[Queue], application_name: str) -> None:
        self._dsn = dsn
        self._queue_class = queue_class
        self._application_name = application_name
        self._queue: Queue | None = None

    def open(self) -> Queue:
        """The queue. Raises psycopg.OperationalError if a connection is needed and can't be had."""
        if self._queue is None:
            # A database without an encoding (SQL_ASCII) would otherwise hand out bytes for text.
            connection = psycopg.connect(
                self._dsn, autocommit=True, application_name=self._application_name, client_encoding="utf8"
            )
            self._queue = self._queue_class(connection)
        return self._queue

    def drop(self) -> None:
        """Close the connection, whatever its state."""
        if self._queue is not None:
            self._queue.connection.close()
            self._queue = None
