"""Wakes a worker when something was put into its queue: LISTEN, on a connection of its own.

A notification is a hint, not the truth: one that was missed, while the connection was broken or before it was made, is
made good by the worker's poll.
"""

import logging
import threading
from collections.abc import Callable

import psycopg

from queue_core.link import Link
from queue_core.queue import CHANNEL

_log = logging.getLogger("queue_core")

LOOK_EVERY = 0.5
"""Seconds after which the thread looks whether it should end."""


class Listener:
    """Calls `wake` at each notification for the queue of that name, until `over` is set."""

    def __init__(self, link: Link, queue: str, wake: Callable[[], None], over: threading.Event) -> None:
        self._link = link
        self._queue = queue
        self._wake = wake
        self._over = over

    def run(self, again: Callable[[int], float | None]) -> None:
        """Listen, and after each failure again in `again(failures in a row)` seconds; None ends it."""
        failures = 0
        try:
            while not self._over.is_set():
                try:
                    connection = self._link.open().connection
                    connection.execute(b"LISTEN " + CHANNEL.encode())
                    failures = 0
                    self._follow(connection)
                except psycopg.OperationalError as error:
                    failures += 1
                    self._link.drop()
                    pause = again(failures)
                    if pause is None:
                        return
                    _log.warning("listener: %s; trying again in %.2f s", str(error).strip(), pause)
                    self._over.wait(pause)
        finally:
            self._link.drop()

    def _follow(self, connection: psycopg.Connection[object]) -> None:
        while not self._over.is_set():
            for note in connection.notifies(timeout=LOOK_EVERY):
                if note.payload == self._queue:
                    self._wake()
