"""The puppet: the body of every job. It tells the witness who it is, and obeys. Standard library only.

An adapter's handler calls `obey(...)`; that is all of it. One JSON object a line, both ways; docs/protocol.md has each.
The witness's address, the arm's token and the worker's name come from the environment that the bench gives a worker.
"""

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any


class OrderedFailure(Exception):
    """The witness ordered a failure. `kind` is transient, permanent or rate-limited; `retry_in` is in seconds."""

    def __init__(self, kind: str, text: str, retry_in: float | None = None) -> None:
        super().__init__(text)
        self.kind = kind
        self.retry_in = retry_in


@dataclass(frozen=True)
class Tools:
    """What a queue gives its handlers, where it gives anything; a puppet that is ordered to use it does.

    `key`: the job's idempotency key. `lost`: whether the job is not this worker's any more. `once`: a context that says
    whether an effect is the first of its key. `connection`: one of the handlers' pool. `tick`: the tick of the schedule
    that the job is for.
    """

    key: str | None = None
    lost: Callable[[], bool] | None = None
    once: Callable[[str], AbstractContextManager[bool]] | None = None
    connection: Callable[[], AbstractContextManager[Any]] | None = None
    tick: str | None = None


class Line:
    """One connection to the witness; its first message, `event`, says who is speaking."""

    def __init__(self, event: str, **fields: Any) -> None:
        host, _, port = os.environ["LEASEPROOF_WITNESS"].rpartition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._lock = threading.Lock()
        about = {"worker": os.environ["LEASEPROOF_WORKER"], "pid": os.getpid()}
        self.say(event, token=os.environ["LEASEPROOF_TOKEN"], **about, **fields)

    def say(self, event: str, **fields: Any) -> None:
        """Send one message; safe from several threads."""
        with self._lock:
            self._socket.sendall(json.dumps({"event": event, **fields}).encode() + b"\n")

    def orders(self) -> Iterator[dict[str, Any]]:
        """The witness's orders, one by one, until it hangs up."""
        with self._socket.makefile("rb") as lines:
            for line in lines:
                yield json.loads(line)

    def close(self) -> None:
        self._socket.close()


def obey(
    job: str, attempt: int | None = None, tools: Tools = Tools(), *, block: Callable[[float], None] = time.sleep
) -> None:
    """Run one job as the witness orders; return when it says finish.

    `job` is the name that the bench put into the payload, `attempt` counts from 1 where the queue knows it, and `block`
    is how this kind of worker blocks its own loop (a plain sleep in a thread). Raises OrderedFailure when the witness
    orders a failure, ConnectionError when the witness is gone.
    """
    line = Line("started", job=job, attempt=attempt, **({} if tools.tick is None else {"tick": tools.tick}))
    borrowed = ExitStack()
    try:
        for order in line.orders():
            match order["order"]:
                case "finish":
                    line.say("finished")
                    return
                case "fail":
                    line.say("raised", error=order["text"])
                    raise OrderedFailure(order.get("kind", "transient"), order["text"], order.get("retry_in"))
                case "effect":
                    _effect(line, order["key"], order.get("guard", ""), tools)
                case "borrow":
                    assert tools.connection, "this adapter gives its handlers no connection"
                    borrowed.enter_context(tools.connection())
                    line.say("borrowed")
                case "clock":
                    line.say("clock", wall=time.time())
                case "sleep":
                    time.sleep(order["seconds"])
                case "spin":
                    _spin(order["seconds"])
                case "block":
                    block(order["seconds"])
                case "exit":
                    os._exit(order["status"])
        raise ConnectionError("the witness hung up in the middle of a job")
    finally:
        borrowed.close()
        line.close()


def _effect(line: Line, key: str, guard: str, tools: Tools) -> None:
    """Make an effect, guarded as it is ordered."""
    match guard:
        case "key":
            line.say("effect", key=key, under=tools.key)
        case "once":
            assert tools.once, "this adapter has no idempotency table"
            with tools.once(key) as first:
                line.say("effect" if first else "withheld", key=key)
        case "owner":
            assert tools.lost, "this adapter does not tell its handlers that a job is lost"
            line.say("withheld" if tools.lost() else "effect", key=key)
        case _:
            line.say("effect", key=key)


def _spin(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
