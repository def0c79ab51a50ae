"""The threads of a worker beside its main one, and how they, and signals, reach it."""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from queue_core.queue import Job


class Crew:
    """Starts threads, and waits for what they tell. wake() and end() are callable on any thread, all else on the main.

    The threads are daemons: none holds up the exit of the process.
    """

    def __init__(self) -> None:
        self.over = threading.Event()
        """Set once the threads shall end."""
        self.started = 0
        """How many threads were started."""
        self.ended: dict[Job, BaseException | None] = {}
        """The jobs whose end was told, each with its error, until the main thread takes them out."""
        self.crash: BaseException | None = None
        """What the main thread is to raise, for it ends the worker."""
        self._awaited: list[threading.Thread] = []
        # A job that has ended, with its error, or None for anything else. A signal handler may put() in the middle of a
        # get(), which no Event or Condition allows.
        self._events: SimpleQueue[tuple[Job, BaseException | None] | None] = SimpleQueue()

    def start(self, name: str, body: Callable[[], None], *, awaited: bool = True) -> None:
        """Run a body on a thread of its own. What it raises becomes `crash`. An awaited one is waited for by join()."""
        thread = threading.Thread(target=self._guard, args=(body,), name=name, daemon=True)
        thread.start()
        self.started += 1
        if awaited:
            self._awaited.append(thread)

    def join(self, seconds: float) -> None:
        """Wait for the end of each awaited thread, for so long at most."""
        for thread in self._awaited:
            thread.join(seconds)

    def wake(self) -> None:
        """Have wait() return. A signal handler may call it."""
        self._events.put(None)

    def end(self, job: Job, error: BaseException | None) -> None:
        """Tell how a job has ended."""
        self._events.put((job, error))

    def wait(self, seconds: float) -> bool:
        """Wait for something to happen, and note what has ended. Returns whether anything has happened."""
        told = False
        try:
            event = self._events.get(timeout=seconds)
            while True:
                told = True
                if event is not None:
                    job, error = event
                    self.ended[job] = error
                event = self._events.get_nowait()
        except Empty:
            return told

    def check(self) -> None:
        """Raise `crash`, if there is one."""
        if self.crash is not None:
            raise self.crash

    def _guard(self, body: Callable[[], None]) -> None:
        try:
            body()
        except BaseException as error:  # noqa: BLE001 - passed on, not swallowed
            self.crash = error
            self.wake()
