"""A TCP relay of the bench's own between a worker and its database or broker: a network that can be made to fail.

A connection goes by the port from which the relay reaches the server, which is its `client_port` in pg_stat_activity.
"""

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Self, TypeVar
from urllib.parse import urlsplit

from psycopg.conninfo import conninfo_to_dict

from bench.postgres.sql import as_url

CHUNK = 1 << 16

RESET = struct.pack("ii", 1, 0)
"""What makes a socket's close a reset."""

PATIENCE = 5.0
"""Seconds in which the server must take a first connection."""

Mode = Literal["pass", "swallow", "refuse"]

T = TypeVar("T")


class RelayError(ValueError):
    """A DSN or URL that cannot be relayed; says why."""


Place = tuple[str, int, Callable[[int], str]]
"""A host and a port, and what leads to another port of 127.0.0.1 instead."""


def place(url: str) -> Place:
    """Where a service is: its URL, its `host:port`, or a DSN of PostgreSQL's. Raises RelayError."""
    if url.startswith(("postgresql://", "postgres://")) or ("=" in url and "://" not in url):
        return _of_postgres(url)
    parts = urlsplit(url if "://" in url else f"//{url}")
    host, port = parts.hostname, parts.port
    if not host or not port:
        raise RelayError("a relay needs one TCP host and a port in its URL")
    user = parts.netloc.rpartition("@")[0]
    front = f"{user}@127.0.0.1" if user else "127.0.0.1"
    return host, port, lambda mine: parts._replace(netloc=f"{front}:{mine}").geturl().removeprefix("//")


def _of_postgres(dsn: str) -> Place:
    parameters = conninfo_to_dict(dsn)
    host = str(parameters.pop("hostaddr", None) or parameters.get("host") or "")
    if not host or host.startswith(("/", "@")) or "," in host:
        raise RelayError(f"a relay needs one TCP host in its DSN, not {host!r}")
    port = int(parameters.get("port") or 5432)
    return host, port, lambda mine: as_url({**parameters, "host": "127.0.0.1", "port": mine})


class _Over(Exception):
    """One side has ended its connection."""


@dataclass(eq=False)
class _Link:
    """One connection of a client's. `port` is 0 while it has none to the server; `holed`: not all of it arrived."""

    client: socket.socket
    task: asyncio.Task[None] = field(init=False)
    port: int = 0
    holed: bool = False


class Relay:
    """`with Relay(url) as relay:` relays `relay.url` to `url`. Its methods may be called from any thread.

    `swallowed` counts bytes; `cut` and `refused` count connections.
    """

    def __init__(self, url: str) -> None:
        host, port, self._through = place(url)
        self._address: Any = (host, port)
        self._mode: Mode = "pass"
        self._links: set[_Link] = set()
        self.swallowed = self.cut = self.refused = 0
        self.url = ""

    def __enter__(self) -> Self:
        """Begin to relay. Raises OSError when the server is not there."""
        with socket.create_connection(self._address, PATIENCE) as trial:
            self._family, self._address = trial.family, trial.getpeername()
        listener, up = socket.create_server(("127.0.0.1", 0), backlog=128), threading.Event()
        self.url = self._through(listener.getsockname()[1])
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run(listener, up)), name="relay", daemon=True)
        self._thread.start()
        up.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def ports(self) -> list[int]:
        """The ports from which the relay is connected to the server."""
        return self._do(self._ports())

    def swallow(self) -> None:
        """Be a black hole: drop whatever comes, from both sides, ends of connections included, and tell nobody."""
        self._do(self._turn("swallow", []))

    def refuse(self, ports: Collection[int]) -> None:
        """Cut the connections of these ports, and refuse all new ones; the others go on."""
        self._do(self._turn("refuse", ports))

    def reset(self) -> None:
        """Cut all connections there are, and go on."""
        self._do(self._reset())

    def pass_on(self) -> None:
        """Forward everything again. A connection that something was swallowed of is of no use any more: it is cut."""
        self._do(self._turn("pass", []))

    # All below runs on the relay's own loop, where all state lives.

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _run(self, listener: socket.socket, up: threading.Event) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        with listener:
            listener.setblocking(False)
            self._loop.add_reader(listener, self._accept, listener)
            up.set()
            await self._over.wait()
            self._loop.remove_reader(listener)

    async def _ports(self) -> list[int]:
        return sorted(link.port for link in self._links if link.port)

    async def _reset(self) -> None:
        await self._turn(self._mode, await self._ports())

    async def _turn(self, mode: Mode, ports: Collection[int]) -> None:
        self._mode = mode
        ended = [link.task for link in self._links if link.port in ports or (link.holed and mode != "swallow")]
        self.cut += len(ended)
        for task in ended:
            task.cancel()
        await asyncio.gather(*ended, return_exceptions=True)

    def _accept(self, listener: socket.socket) -> None:
        try:
            client, _ = listener.accept()
        except OSError:  # It has given up already.
            return
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        if self._mode == "refuse":
            self.refused += 1
            client.close()
        else:
            link = _Link(client)
            self._links.add(link)
            link.task = self._loop.create_task(self._serve(link))
            link.task.add_done_callback(partial(self._forget, link))

    def _forget(self, link: _Link, _: object) -> None:
        link.client.close()
        self._links.discard(link)

    async def _serve(self, link: _Link) -> None:
        """Relay one connection to its end. Where that is not an orderly one, both sides are reset."""
        client = link.client
        try:
            with socket.socket(self._family) as server:
                for side in client, server:
                    side.setblocking(False)
                    side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                if self._mode == "swallow":
                    link.holed = True
                    await self._pump(link, client, None)
                await self._loop.sock_connect(server, self._address)
                link.port = server.getsockname()[1]
                async with asyncio.TaskGroup() as pumps:
                    pumps.create_task(self._pump(link, client, server))
                    pumps.create_task(self._pump(link, server, client))
        except* (_Over, OSError):
            pass

    async def _pump(self, link: _Link, source: socket.socket, target: socket.socket | None) -> None:
        """Forward one direction of a connection. Raises _Over at its end, OSError when it is broken."""
        while True:
            data, error = b"", None
            try:
                data = await self._loop.sock_recv(source, CHUNK)
            except OSError as reset:
                error = reset
            if target is None or self._mode == "swallow":
                link.holed = True
                self.swallowed += len(data)
                if not data:
                    await self._loop.create_future()  # until it is cancelled
            elif error:
                raise error
            elif data:
                await self._loop.sock_sendall(target, data)
            else:
                for side in source, target:  # It ends as it should: what is on its way still arrives.
                    side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes(len(RESET)))
                raise _Over
