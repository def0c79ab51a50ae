"""What a handler is, what it is given, and what its exceptions mean."""

import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from queue_core.queue import Job


class Permanent(Exception):
    """Raised by a handler when no further attempt would help: the job becomes `failed` at once."""


@dataclass(frozen=True)
class Context:
    """What a handler may want to know beside its job."""

    worker: str
    """The worker's name."""
    lost: threading.Event
    """Set once the job is no longer this worker's: the result will be refused, so effects should stop."""
    stopping: threading.Event
    """Set once the worker is draining: a long handler may come to an end of its own."""


Handler: TypeAlias = Callable[[Job, Context], None]
"""Runs one attempt of a job. Returning completes it; any exception fails the attempt."""


def error_text(error: BaseException) -> str:
    """An exception as the database can keep it: type and message, without what its text type refuses."""
    text = "".join(traceback.format_exception_only(error)).strip()
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
