"""A connection that can be had again after it broke."""

import contextlib
import json
import os
import socket
import time

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.types.json import set_json_loads

from queue_core.queue import Queue

_decode = json.JSONDecoder().raw_decode


def _payload(text: str | bytes) -> object:
    """JSON as jsonb gives it, without a space around it: half of what json.loads needs."""
    return _decode(text if isinstance(text, str) else text.decode())[0]


class Link:
    """The queue through one connection, opened when it is needed and again after it was dropped."""

    def __init__(self, dsn: str, queue_class: type[Queue], application_name: str) -> None:
        self._dsn = dsn
        self._queue_class = queue_class
        self._application_name = application_name
        self._queue: Queue | None = None
        self._asked = 0.0

    def open(self) -> Queue:
        """The queue. Raises psycopg.OperationalError if a connection is needed and can't be had."""
        self._asked = time.monotonic()
        if self._queue is None:
            # A database without an encoding (SQL_ASCII) would otherwise hand out bytes for text.
            connection = psycopg.connect(
                self._dsn, autocommit=True, application_name=self._application_name, client_encoding="utf8"
            )
            set_json_loads(_payload, connection)
            self._queue = self._queue_class(connection)
        return self._queue

    def drop(self) -> None:
        """Close the connection, whatever its state."""
        if self._queue is not None:
            self._queue.connection.close()
            self._queue = None

    def cut_off(self, patience: float) -> bool:
        """Break the connection if its statement has had no answer for `patience` seconds. Callable on any thread.

        A network that swallows everything tells nobody; this makes it an error, which whoever waits for the answer
        then gets. Returns whether it was broken.
        """
        queue = self._queue
        if queue is None or time.monotonic() - self._asked < patience:
            return False
        with contextlib.suppress(OSError, psycopg.Error):
            if queue.connection.pgconn.transaction_status == TransactionStatus.ACTIVE:
                with socket.socket(fileno=os.dup(queue.connection.fileno())) as wire:
                    wire.shutdown(socket.SHUT_RDWR)
                    return True
        return False
