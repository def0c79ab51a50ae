"""What is said once, to many: as a threading.Event, of which a worker would make and drop one for each job."""

import threading

_making = threading.Lock()


class Flag:
    """Is set once, and never cleared. It costs next to nothing until somebody waits for it. Callable on any thread."""

    __slots__ = ("_event", "_set")

    def __init__(self) -> None:
        self._set = False
        self._event: threading.Event | None = None

    def is_set(self) -> bool:
        """Whether it was set."""
        return self._set

    def set(self) -> None:
        """Set it, and have wait() return."""
        self._set = True
        with _making:
            event = self._event
        if event is not None:
            event.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, for `timeout` seconds at most. Returns whether it is."""
        with _making:
            # Made before the look, so that a set() that does not see it is seen here.
            if self._event is None:
                self._event = threading.Event()
        return self._set or self._event.wait(timeout)
