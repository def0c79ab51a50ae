"""The worker process of the tests: prints each event as a JSON line; `go` on stdin lets held jobs end."""

import json
import os
import sys
import threading
from typing import Any

from queue_core import Context, Handler, Job, Observer, Worker

_go = threading.Event()
_lock = threading.Lock()


def _say(*event: Any) -> None:
    with _lock:
        print(json.dumps(event), flush=True)


def _listen() -> None:
    while os.read(0, 100):  # not sys.stdin, whose lock a daemon thread would still hold at the exit
        _go.set()


def _quick(job: Job, context: Context) -> None:
    _say("started", job.id, job.attempt)


def _hold(job: Job, context: Context) -> None:
    _say("started", job.id, job.attempt)
    _go.wait()
    _say("ended", job.id, context.lost.is_set())


class _Teller(Observer):
    def ready(self) -> None:
        _say("ready")

    def renewed(self, kept: list[Job], lost: list[Job]) -> None:
        _say("renewed", [job.id for job in kept], [job.id for job in lost])

    def outcome(self, job: Job, accepted: bool) -> None:
        _say("outcome", job.id, accepted)

    def stopping(self) -> None:
        _say("stopping")


def main() -> int:
    threading.Thread(target=_listen, daemon=True).start()
    handlers: dict[str, Handler] = {"quick": _quick, "hold": _hold}
    return Worker(sys.argv[1], handlers, observer=_Teller(), **json.loads(sys.argv[2])).run()


if __name__ == "__main__":
    sys.exit(main())
