"""What a handler is, what it is given, and what its exceptions mean."""

import threading
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeAlias

import psycopg

from queue_core.flag import Flag
from queue_core.queue import Job


class Transient(Exception):
    """Raised by a handler when a later attempt may help. Any other exception is taken for transient, too."""


class Permanent(Exception):
    """Raised by a handler when no further attempt would help: the job becomes `failed` at once."""


class RateLimited(Transient):
    """Raised by a handler that was told when to come back: the next attempt is due in `retry_after` seconds."""

    def __init__(self, text: str, retry_after: float) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class Context(NamedTuple):
    """What a handler may want to know beside its job."""

    worker: str
    """The worker's name."""
    lost: Flag
    """Set once the worker can't count on the job any more: its lease is over, or another's. Make no effect now."""
    stopping: threading.Event
    """Set once the worker is draining: a long handler may come to an end of its own."""
    key: str
    """The same in every attempt of the job, and no other job's: give it to whoever makes an effect, to know repeats."""
    connection: Callable[[], AbstractContextManager[psycopg.Connection[Any]]]
    """A connection to the queue's database, from the handlers' pool, as a context: committed at its end."""


Handler: TypeAlias = Callable[[Job, Context], None]
"""Runs one attempt of a job. Returning completes it; any exception fails the attempt."""


def error_text(error: BaseException) -> str:
    """An exception as the database can keep it: type and message, without what its text type refuses."""
    text = "".join(traceback.format_exception_only(error)).strip()
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
