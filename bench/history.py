"""The history of one arm: an append-only log that everybody writes to and every verdict is read from.

docs/history.md has the kinds of event. A script waits for events here, too, so there is no second truth beside the log.
"""

import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

FORMAT = 1

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
        self._interrupted = False

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

        Raises Closed when the arm is interrupted meanwhile.
        """
        deadline = time.monotonic() + within
        with self._changed:
            while True:
                if self._interrupted:
                    raise Closed
                result = found(self._events)
                left = deadline - time.monotonic()
                if result or left <= 0:
                    return result
                self._changed.wait(left)

    def interrupt(self) -> None:
        """Make every present and future wait raise Closed."""
        with self._changed:
            self._interrupted = True
            self._changed.notify_all()

    @property
    def interrupted(self) -> bool:
        return self._interrupted


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
