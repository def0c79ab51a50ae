"""What the workers of measures run: `python -m queue_core worker --handlers bench.speed.handlers`.

It imports as little as can be, since its memory and its time would pass for the worker's.
"""

import atexit
import itertools
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Collection
from typing import Any

Handler = Callable[[Any, Any], None]
"""As queue_core has it: of a job and its context."""

MARKS = "LEASEPROOF_MARKS"
"""In the environment: at which handler calls, from 0 on and 0 among them, a worker says what it has used so far."""

LOGS = "LEASEPROOF_LOGS"
"""In the environment: the folder in which each worker writes down what it has run."""


class Metered:
    """A handler whose calls are counted: at MARKS, and at the end, the process prints what it has used."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._calls = itertools.count()
        self._marks: Collection[int] = frozenset(map(int, filter(None, os.environ.get(MARKS, "").split(","))))

    def __call__(self, job: Any, context: Any) -> None:
        call = next(self._calls)  # one step, whatever other threads do
        if call in self._marks:
            if call == 0:
                atexit.register(_say, None)
            _say(call)
        self._handler(job, context)


def _say(call: int | None) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    about = {"call": call, "cpu": used.ru_utime + used.ru_stime, "at": time.monotonic(), "resident": _resident()}
    print(json.dumps(about), flush=True)


def _resident() -> int | None:
    """Bytes of memory that this process has now; None where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return None


def noop(job: Any, context: Any) -> None:
    """Nothing."""


def told(job: Any, context: Any) -> None:
    """As the puppet does: the witness is told of the start, orders the end, and is told of it."""
    from bench.puppet import obey  # late: only who uses it pays for it

    obey(str(job.id), job.attempt)


class Logged:
    """Writes a line for each execution when it ends: job, claim, attempt, start and end (monotonic, ns).

    One write each, to a file that is the process's own: whatever was written stays when the process is killed.
    """

    def __init__(self, handler: Handler = noop) -> None:
        self._handler = handler
        self._file: int | None = None
        if folder := os.environ.get(LOGS):
            self._file = os.open(f"{folder}/{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def __call__(self, job: Any, context: Any) -> None:
        start = time.monotonic_ns()
        self._handler(job, context)
        if self._file is not None:
            line = f"{job.id} {job.claim} {job.attempt} {start} {time.monotonic_ns()}\n"
            os.write(self._file, line.encode())


def client(kind: str, times: str) -> None:
    """One of several that talk to the witness at once: so many `executions`, or `lines` of a worker, at the word go."""
    from bench.puppet import Line, obey  # late, as above

    line = Line("ready")
    sys.stdin.readline()
    for number in range(int(times)):
        if kind == "executions":
            obey(EVERY_JOB)
        else:
            line.outcome(EVERY_JOB, number, True)
    line.close()


EVERY_JOB = "job"
"""By which name clients speak of what they run: the witness needs one plan."""

handlers = {"noop": Metered(noop), "told": Metered(told), "logged": Logged()}

if __name__ == "__main__":
    client(*sys.argv[1:])
