"""The Python kit of leaseproof: the puppet, the worker's own line, and the control loop. Copy this one file.

Python 3.9 or newer, standard library only. docs/protocol.md has what goes over the lines: one JSON object each, both
ways. The witness's address, the arm's token and the worker's name come from the environment that the bench gives.

    a worker's handler      obey(job, attempt)                or, in asyncio, await obey_async(job, attempt)
    when it takes jobs      line = ready()                    and then line.renewed(...), line.outcome(...)
    the control process     control({"enqueue": enqueue})     or, in asyncio, await control_async({...})
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, TypeVar


class OrderedFailure(Exception):
    """The witness ordered a failure. `kind` is transient, permanent or rate-limited; `retry_in` is in seconds."""

    def __init__(self, kind: str, text: str, retry_in: float | None = None) -> None:
        super().__init__(kind, text, retry_in)  # as they are, or no other process could unpickle it
        self.kind = kind
        self.text = text
        self.retry_in = retry_in

    def __str__(self) -> str:
        return self.text


class Unable(Exception):
    """The witness ordered what this adapter, or this kit, can't do: the adapter's fault, and the witness is told so."""


@dataclass(frozen=True)
class Tools:
    """What a queue gives its handlers, where it gives anything; a puppet that is ordered to use it does.

    `key`: the job's idempotency key. `lost`: whether the job is not this worker's any more. `once`: a context that says
    whether an effect is the first of its key. `connection`: one of the handlers' pool. `tick`: the tick of the schedule
    that the job is for. In asyncio the contexts may be asynchronous ones.
    """

    key: str | None = None
    lost: Callable[[], bool] | None = None
    once: Callable[[str], Any] | None = None
    connection: Callable[[], Any] | None = None
    tick: str | None = None


class Line:
    """One connection to the witness; its first message, `event`, says who is speaking."""

    def __init__(self, event: str, **fields: Any) -> None:
        self._socket = socket.create_connection(_witness())
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._lines = self._socket.makefile("rb")
        self._lock = threading.Lock()
        self.say(event, **_who(), **fields)

    def say(self, event: str, **fields: Any) -> None:
        """Send one message; safe from several threads."""
        with self._lock:
            self._socket.sendall(_message(event, fields))

    def renewed(self, kept: Sequence[str], lost: Sequence[str] = ()) -> None:
        """A heartbeat was answered: which jobs, by the bench's names, are still this worker's and which are not."""
        self.say("renewed", kept=list(kept), lost=list(lost))

    def outcome(self, job: str, attempt: int | None, accepted: bool) -> None:
        """The queue took the finish of a job, or refused it."""
        self.say("outcome", job=job, attempt=attempt, accepted=accepted)

    def reclaimed(self, ids: Sequence[str]) -> None:
        """A reclaim of the worker's own put these jobs back, by the queue's ids."""
        self.say("reclaimed", ids=list(ids))

    def order(self) -> dict[str, Any] | None:
        """Wait for the witness's next order; None when it has hung up."""
        return _order(self._lines.readline())

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


def ready() -> Line:
    """Say that this worker takes jobs from now on. Keep the line as long as the process lives."""
    return Line("ready")


def obey(
    job: str, attempt: int | None = None, tools: Tools = Tools(), *, block: Callable[[float], None] = time.sleep
) -> None:
    """Run one job as the witness orders; return when it says finish.

    `job` is the name that the bench put into the payload, `attempt` counts from 1 where the queue knows it, and `block`
    is how this kind of worker blocks its own loop (a plain sleep in a thread). Raises OrderedFailure when the witness
    orders a failure, Unable when it orders what can't be done, ConnectionError when it is gone.
    """
    line = Line("started", **_job(job, attempt, tools))
    try:
        _at_once(_obey(_Threaded(line, block), tools))
    finally:
        line.close()


async def obey_async(job: str, attempt: int | None = None, tools: Tools = Tools()) -> None:
    """`obey` for asyncio: waits for orders, and sleeps, on the loop; `block` and `spin` hold the loop up."""
    import asyncio  # late: only who uses it pays for it

    reader, writer = await asyncio.open_connection(*_witness())
    try:
        line = _Looped(reader, writer, asyncio.sleep)
        await line.say("started", **_who(), **_job(job, attempt, tools))
        await _obey(line, tools)
    finally:
        writer.close()


class _Threaded:
    """A puppet's line in a thread. Its methods wait in place, and never for a loop."""

    def __init__(self, line: Line, block: Callable[[float], None]) -> None:
        self._line = line
        self.block = block

    async def say(self, event: str, **fields: Any) -> None:
        self._line.say(event, **fields)

    async def order(self) -> dict[str, Any] | None:
        return self._line.order()

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class _Looped:
    """A puppet's line on an event loop."""

    def __init__(self, reader: Any, writer: Any, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._reader = reader
        self._writer = writer
        self.sleep = sleep

    async def say(self, event: str, **fields: Any) -> None:
        self._writer.write(_message(event, fields))
        await self._writer.drain()

    async def order(self) -> dict[str, Any] | None:
        return _order(await self._reader.readline())

    def block(self, seconds: float) -> None:
        time.sleep(seconds)


async def _obey(line: _Threaded | _Looped, tools: Tools) -> None:
    """The puppet itself, for both kinds."""
    async with contextlib.AsyncExitStack() as borrowed:
        while (order := await line.order()) is not None:
            try:
                if await _is_last(order, line, tools, borrowed):
                    return
            except Unable as why:
                await line.say("unable", text=str(why))
                raise
        raise ConnectionError("the witness hung up in the middle of a job")


async def _is_last(
    order: dict[str, Any], line: _Threaded | _Looped, tools: Tools, borrowed: contextlib.AsyncExitStack
) -> bool:
    """Do what is ordered; whether it was to finish."""
    what = order["order"]
    if what == "finish":
        await line.say("finished")
        return True
    if what == "fail":
        await line.say("raised", error=order["text"])
        raise OrderedFailure(order.get("kind", "transient"), order["text"], order.get("retry_in"))
    if what == "effect":
        await _effect(line, order["key"], order.get("guard", ""), tools)
    elif what == "borrow":
        connection = _given(tools.connection, "gives its handlers no connection")
        await borrowed.enter_async_context(_entered(connection()))
        await line.say("borrowed")
    elif what == "clock":
        await line.say("clock", wall=time.time())
    elif what == "sleep":
        await line.sleep(order["seconds"])
    elif what == "spin":
        _spin(order["seconds"])
    elif what == "block":
        line.block(order["seconds"])
    elif what == "exit":
        os._exit(order["status"])
    elif what != "hold":
        raise Unable(f"this kit does not know the order {what!r}")
    return False


async def _effect(line: _Threaded | _Looped, key: str, guard: str, tools: Tools) -> None:
    """Make an effect, guarded as it is ordered."""
    if guard == "key":
        await line.say("effect", key=key, under=_given(tools.key, "gives its handlers no idempotency key"))
    elif guard == "once":
        once = _given(tools.once, "has no idempotency table")
        async with _entered(once(key)) as first:
            await line.say("effect" if first else "withheld", key=key)
    elif guard == "owner":
        lost = _given(tools.lost, "does not tell its handlers that a job is lost")
        await line.say("withheld" if lost() else "effect", key=key)
    elif guard == "":
        await line.say("effect", key=key)
    else:
        raise Unable(f"this kit does not know the guard {guard!r}")


def _given(tool: Any, without: str) -> Any:
    if tool is None:
        raise Unable(f"this adapter {without}")
    return tool


@contextlib.asynccontextmanager
async def _entered(context: Any) -> AsyncIterator[Any]:
    """A context of either kind as an asynchronous one."""
    if hasattr(context, "__aenter__"):
        async with context as value:
            yield value
    else:
        with context as value:
            yield value


def _spin(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


Requests = Mapping[str, Callable[[dict[str, Any]], Any]]


def control(requests: Requests) -> None:
    """Answer the bench's requests, until it says `stop` or closes stdin: one function each, by its name.

    A function is given the request, and returns the answer (None: an empty one); an exception becomes its `error`, and
    its traceback goes to the log. So does all that is printed: from now on, stdout is for answers alone.
    """
    with _stdout() as answers:
        for line in sys.stdin.buffer:
            answer, is_last = _at_once(_answer(requests, line))
            answers.write(answer)
            answers.flush()
            if is_last:
                return


async def control_async(requests: Requests) -> None:
    """`control` for asyncio: the functions may be asynchronous, and the loop runs on between requests."""
    import asyncio  # late, as above

    loop = asyncio.get_running_loop()
    with _stdout() as answers:
        while line := await loop.run_in_executor(None, sys.stdin.buffer.readline):
            answer, is_last = await _answer(requests, line)
            answers.write(answer)
            answers.flush()
            if is_last:
                return


def _stdout() -> IO[bytes]:
    """Stdout as it was; what is printed, here or by a child, goes to stderr from now on."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return answers


async def _answer(requests: Requests, line: bytes) -> tuple[bytes, bool]:
    """What to write to one request, and whether it is the last."""
    message = json.loads(line)
    name = message["request"]
    try:
        function = requests.get(name, _stop if name == "stop" else None)
        if function is None:
            raise LookupError(f"this adapter does not do `{name}`")
        answer = function(message)
        if inspect.isawaitable(answer):
            answer = await answer
        said = json.dumps({"id": message["id"], "answer": {} if answer is None else answer})
    except Exception as error:  # noqa: BLE001 - whatever it is, the bench is told, and goes on or not
        traceback.print_exc()
        said = json.dumps({"id": message["id"], "error": f"{type(error).__name__}: {error}"})
    return said.encode() + b"\n", name == "stop"


def _stop(_: dict[str, Any]) -> None:
    """What `stop` does where the adapter has nothing to close."""


_Result = TypeVar("_Result")


def _at_once(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine that never waits for a loop: what is written for asyncio serves a thread as well."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: _Result = end.value
        return result
    coroutine.close()
    raise RuntimeError("an asynchronous function waits for a loop here; use obey_async, or control_async")


def _witness() -> tuple[str, int]:
    host, _, port = os.environ["LEASEPROOF_WITNESS"].rpartition(":")
    return host, int(port)


def _who() -> dict[str, Any]:
    about = {"worker": os.environ["LEASEPROOF_WORKER"], "pid": os.getpid()}
    return {"token": os.environ["LEASEPROOF_TOKEN"], **about}


def _job(job: str, attempt: int | None, tools: Tools) -> dict[str, Any]:
    return {"job": job, "attempt": attempt, **({} if tools.tick is None else {"tick": tools.tick})}


def _message(event: str, fields: Mapping[str, Any]) -> bytes:
    return json.dumps({"event": event, **fields}).encode() + b"\n"


def _order(line: bytes) -> dict[str, Any] | None:
    """What a line orders; None at the end, since half a line is none."""
    return json.loads(line) if line.endswith(b"\n") else None
