"""The witness: the bench's own record of what ran, where and when; the ground truth that every check rests on.

One server a run, on loopback only. Each arm has a desk with a token of its own; who shows no valid token is hung up on.
"""

import asyncio
import json
import secrets
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.history import History
from bench.orders import FINISH, Order

HELLO_WITHIN = 10.0
"""Seconds in which a new connection must have said who it is."""


class Rubbish(Exception):
    """A message that the protocol does not have; says which."""


@dataclass
class Execution:
    """One run of one job: `number` counts from 1 in its arm."""

    number: int
    job: str
    worker: str
    writer: asyncio.StreamWriter
    timers: list[asyncio.TimerHandle] = field(default_factory=list)


@dataclass
class Plan:
    """What each execution of a job is ordered: `orders` at its start, and a finish `lasts` seconds later if set.

    `first` are for the next executions only, one each, before all else.
    """

    orders: list[Order] = field(default_factory=list)
    lasts: float | None = None
    first: list[Order] = field(default_factory=list)


class Desk:
    """Where the puppets of one arm report; it writes all that they say into the arm's history."""

    def __init__(self, loop: asyncio.AbstractEventLoop, history: History, margin: float) -> None:
        self.token = secrets.token_hex(16)
        self.history = history
        self.margin = margin
        self.names: dict[str, str] = {}
        """The bench's names of jobs, by the queue's ids."""
        self._loop = loop
        self._plans: dict[str, Plan] = {}
        self._live: dict[int, Execution] = {}
        self._count = 0

    def plan(self, jobs: Collection[str], orders: Sequence[Order] = (), lasts: float | None = None) -> None:
        """Say beforehand what every execution of these jobs will be ordered; without a plan a puppet holds."""
        self._call(self._set_plan, jobs, orders, lasts)

    def tell(self, job: str, order: Order, *, worker: str | None = None, execution: int | None = None) -> None:
        """Order all executions of `job`, those to come included.

        With `worker`, only those running there now; with `execution`, only that one.
        """
        self._call(self._tell, job, order, worker, execution)

    def tell_next(self, job: str, order: Order, times: int) -> None:
        """Order it to the next so many executions of `job`, before all else; not to those that are under way."""
        self._call(self._tell_next, job, order, times)

    def _tell_next(self, job: str, order: Order, times: int) -> None:
        self._plans.setdefault(job, Plan()).first.extend([order] * times)

    def _set_plan(self, jobs: Collection[str], orders: Sequence[Order], lasts: float | None) -> None:
        plans = {job: Plan(list(orders), lasts) for job in jobs}
        self._plans.update(plans)
        for execution in list(self._live.values()):
            if execution.job in plans:
                self._cancel(execution)
                self._schedule(execution, plans[execution.job])

    def _tell(self, job: str, order: Order, worker: str | None, execution: int | None) -> None:
        if worker is None and execution is None:
            self._plans.setdefault(job, Plan()).orders.append(order)
        for each in self._of(job):
            if worker in (None, each.worker) and execution in (None, each.number):
                self._send(each, order)

    def _of(self, job: str) -> list[Execution]:
        return [execution for execution in self._live.values() if execution.job == job]

    def _schedule(self, execution: Execution, plan: Plan) -> None:
        if plan.lasts is not None:
            execution.timers.append(self._loop.call_later(plan.lasts, self._send, execution, FINISH))

    def _cancel(self, execution: Execution) -> None:
        while execution.timers:
            execution.timers.pop().cancel()

    def _send(self, execution: Execution, order: Order) -> None:
        if execution.number in self._live and not execution.writer.is_closing():
            self.history.add("ordered", execution=execution.number, order=order)
            execution.writer.write(json.dumps(order).encode() + b"\n")

    def _call(self, function: Any, *arguments: Any) -> None:
        """Run on the witness's loop, where all state lives, and wait until it is done."""

        async def run() -> None:
            function(*arguments)

        asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    async def serve(self, hello: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Follow one connection from its first message to its end."""
        match hello.get("event"):
            case "ready":
                await self._serve_worker(hello, reader)
            case "started":
                await self._serve_puppet(hello, reader, writer)
            case other:
                raise Rubbish(f"a connection began with event {other!r}; it is `ready` or `started`")

    async def _serve_worker(self, hello: dict[str, Any], reader: asyncio.StreamReader) -> None:
        worker = str(hello["worker"])
        self.history.add("ready", worker=worker, pid=hello["pid"])
        while (message := await _read(reader)) is not None:
            match message.get("event"):
                case "renewed":
                    self.history.add("renewed", worker=worker, kept=message["kept"], lost=message["lost"])
                case "outcome":
                    fields = {key: message[key] for key in ("job", "attempt", "accepted")}
                    self.history.add("outcome", worker=worker, **fields)
                case "reclaimed":
                    jobs = [self.names.get(id, id) for id in message["ids"]]
                    # It was done before it was told, at most as long ago as the machine may stall.
                    since = self.history.now() - self.margin
                    about = {"jobs": jobs, "ids": message["ids"], "since": round(since, 6)}
                    self.history.add("reclaimed", worker=worker, **about)
                case other:
                    raise Rubbish(f"worker {worker} sent event {other!r}; it is `renewed`, `outcome` or `reclaimed`")

    async def _serve_puppet(
        self, hello: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._count += 1
        execution = Execution(self._count, str(hello["job"]), str(hello["worker"]), writer)
        who = {"execution": execution.number, "job": execution.job, "worker": execution.worker}
        tick = {"tick": hello["tick"]} if "tick" in hello else {}
        self.history.add("started", **who, pid=hello["pid"], attempt=hello.get("attempt"), **tick)
        self._live[execution.number] = execution
        plan = self._plans.get(execution.job, Plan())
        first = [plan.first.pop(0)] if plan.first else []
        for order in [*first, *plan.orders]:
            self._send(execution, order)
        self._schedule(execution, plan)
        ending = "died"
        try:
            while (message := await _read(reader)) is not None:
                match message.get("event"):
                    case "effect" | "withheld" as event:
                        under = message.get("under")
                        self.history.add(event, **who, key=message["key"], under=under)
                    case "borrowed":
                        self.history.add("borrowed", **who)
                    case "clock":
                        self.history.add("clock", **who, wall=float(message["wall"]), ours=time.time())
                    case "finished":
                        ending = ""
                        self.history.add("finished", **who)
                        return
                    case "raised":
                        ending = ""
                        self.history.add("raised", **who, error=message["error"])
                        return
                    case "unable":
                        raise Rubbish(f"the puppet of {execution.job} is unable to obey: {message['text']}")
                    case other:
                        raise Rubbish(f"the puppet of {execution.job} sent event {other!r}")
        finally:
            del self._live[execution.number]
            self._cancel(execution)
            if ending:
                self.history.add("died", **who)


class Witness:
    """The server, on a thread of its own: `with Witness() as witness: desk = witness.desk(history)`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._desks: dict[str, Desk] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, name="witness", daemon=True)
        self.address = ""

    def __enter__(self) -> "Witness":
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        host, port = self._server.sockets[0].getsockname()
        self.address = f"{host}:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def desk(self, history: History, margin: float = 0.0) -> Desk:
        """A desk for one arm, whose machine may stall for `margin` seconds."""
        desk = Desk(self._loop, history, margin)
        self._desks[desk.token] = desk
        return desk

    def dismiss(self, desk: Desk) -> None:
        """Take no more reports for this arm."""
        self._desks.pop(desk.token, None)

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=512)

    async def _close(self) -> None:
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        desk: Desk | None = None
        try:
            hello = await asyncio.wait_for(_read(reader), HELLO_WITHIN)
            # A dictionary look-up of a 128-bit random token: nothing to learn from its timing over one run.
            desk = self._desks.get(str(hello.get("token"))) if hello else None
            if hello and desk:
                await desk.serve(hello, reader, writer)
        except (ConnectionError, TimeoutError, asyncio.CancelledError):
            return  # The other side is gone, which `died` has told already where it matters; or the run is over.
        except KeyError as error:
            self._trouble(desk, f"a message lacks the field {error}")
        except (Rubbish, TypeError, ValueError, RecursionError) as error:
            self._trouble(desk, str(error))
        finally:
            writer.close()

    def _trouble(self, desk: Desk | None, what: str) -> None:
        if desk:
            desk.history.add("trouble", kind="adapter", text=f"the witness was sent rubbish: {what}")


async def _read(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """One message; None when the connection has ended, a half-sent line included."""
    line = await reader.readline()
    if not line.endswith(b"\n"):
        return None
    message = json.loads(line)
    if not isinstance(message, dict):
        raise Rubbish(f"a message is a JSON object, not {line[:80]!r}")
    return message
