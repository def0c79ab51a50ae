"""SIGTERM and SIGINT, for those that end by themselves when told to."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Have SIGTERM and SIGINT call `stop` meanwhile; on any thread but the main one, leave them alone."""

    def act(number: int, frame: FrameType | None) -> None:
        stop()

    previous = {}
    if threading.current_thread() is threading.main_thread():
        previous = {number: signal.signal(number, act) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
