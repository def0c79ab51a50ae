"""Counts the handler calls of a worker whose speed is measured: see docs/performance.md, "A queue of your own".

import leaseproof_tally as tally
tally.wait_for_go()    # prints `ready`, returns at the line `go`; from then on a thread answers, and ends the process
...                    # run the worker; each handler call does
tally.count()
"""

import json
import os
import sys
import threading
import time

_lock = threading.Lock()
_jobs = 0
_first = None
_last = None


def count() -> None:
    """Count one handler call, on any thread."""
    global _jobs, _first, _last
    _last = time.monotonic_ns()
    if _first is None:
        _first = _last
    with _lock:
        _jobs += 1


def wait_for_go() -> None:
    """Say that everything is imported, and wait until the worker may begin."""
    print("ready", flush=True)
    sys.stdin.readline()
    threading.Thread(target=_answer, daemon=True).start()


def _answer() -> None:
    for _ in sys.stdin:
        print(json.dumps({"jobs": _jobs, "first": _first, "last": _last}), flush=True)
    os._exit(0)
