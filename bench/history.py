"""The history of one arm: an append-only log that everybody writes to and every verdict is read from.

docs/history.md has the kinds of event. A script waits for events here, too, so there is no second truth beside the log.
"""

import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

FORMAT = 1

LONG = 1000
"""Events from which on a history is too long to be looked through for each that is added."""

PAUSE = 0.005
"""Seconds between two looks through a long history."""

Event = dict[str, Any]


class HistoryError(Exception):
    """A history file that cannot be read: names the file, the line and what is wrong with it."""


class Closed(Exception):
    """The arm is over (stopped or interrupted); nobody should wait any longer."""


class History:
    """The events of one arm, in the order in which the bench saw them; safe to use from many threads."""

    def __init__(self) -> None:
        self._origin = time.monotonic()
        self._events: list[Event] = []
        self._changed = threading.Condition()
        self._interrupted = threading.Event()

    def now(self) -> float:
        """Seconds since the arm began."""
        return time.monotonic() - self._origin

    def add(self, event: str, /, **fields: Any) -> Event:
        """Append one event, stamped with the time of this call."""
        with self._changed:
            entry: Event = {"t": round(self.now(), 6), "event": event, **fields}
            self._events.append(entry)
            self._changed.notify_all()
            return entry

    def events(self) -> list[Event]:
        """A copy of all that has happened so far."""
        with self._changed:
            return list(self._events)

    def until(self, found: Callable[[Sequence[Event]], Any], within: float) -> Any:
        """Wait until `found(events)` is truthy, and return that; its last falsy value after `within` seconds.

        It is asked again when something was added, but of a long history not more often than each PAUSE seconds, and
        no more than half of the time: else a wait would cost the square of what is added meanwhile.

        Raises Closed when the arm is interrupted meanwhile.
        """
        deadline = time.monotonic() + within
        while True:
            if self.interrupted:
                raise Closed
            looked = time.monotonic()
            events = self.events()
            result = found(events)
            now = time.monotonic()
            if result or now >= deadline:
                return result
            with self._changed:
                self._changed.wait_for(partial(self._has_more, len(events)), deadline - now)
            if len(events) > LONG:
                self._interrupted.wait(min(max(PAUSE, now - looked), deadline - time.monotonic()))

    def _has_more(self, seen: int) -> bool:
        return self.interrupted or len(self._events) > seen

    def interrupt(self) -> None:
        """Make every present and future wait raise Closed."""
        with self._changed:
            self._interrupted.set()
            self._changed.notify_all()

    @property
    def interrupted(self) -> bool:
        return self._interrupted.is_set()


def dump(events: Iterable[Event]) -> bytes:
    """The events as JSON lines in UTF-8; half a surrogate, which a subject may send, stays a JSON escape."""
    lines = (json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n" for event in events)
    return "".join(lines).encode("utf-8", "backslashreplace")


def load(path: Path) -> list[Event]:
    """Read a history file. A last line that is cut is dropped: `is_complete` then says that the history was cut.

    Raises HistoryError when the file is not a history at all.
    """
    try:
        *whole, last = path.read_bytes().split(b"\n")
    except OSError as error:
        raise HistoryError(f"cannot read {path}: {error.strerror}") from error
    events = []
    for number, line in enumerate(whole, start=1):
        event = _event(line)
        if event is None:
            raise HistoryError(f"{path} is not a history: line {number} is not an event with `t` and `event`")
        events.append(event)
    if last and events and events[-1]["event"] == "end":
        raise HistoryError(f"{path} is not a history: something follows its end")
    events += filter(None, [_event(last)])
    if not events or events[0]["event"] != "header":
        raise HistoryError(f"{path} is not a history: its first line is not a header")
    if events[0].get("format") != FORMAT:
        raise HistoryError(f"{path} has format {events[0].get('format')!r}; this leaseproof reads format {FORMAT}")
    return events


def is_complete(events: Sequence[Event]) -> bool:
    """Whether the arm got to its end: a history that was cut in the middle proves nothing."""
    return bool(events) and events[-1]["event"] == "end"


def _event(line: bytes) -> Event | None:
    """The event on a line; None when there is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and isinstance(value.get("t"), (int, float)) and isinstance(value.get("event"), str):
        return value
    return None
