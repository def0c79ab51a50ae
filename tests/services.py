"""Just enough of each service's protocol to put a job in and to count: an arm's URL is good for its real clients."""

import json
import os
import socket
import struct
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

import pytest

from bench.services.base import Own, Program, ServiceError
from bench.services.redis import Client

WITHIN = 30.0
"""seconds for an answer: a bound for a loaded machine, not an expectation"""


def needed(kind: type[Own]) -> Program:
    """The program of a service. Without it the test is skipped, unless LEASEPROOF_TEST_SERVICES=1 says it must be."""
    try:
        return kind.find()
    except ServiceError as error:
        if os.environ.get("LEASEPROOF_TEST_SERVICES") == "1":
            raise
        pytest.skip(str(error))


@dataclass(frozen=True)
class Speaks:
    """What a client does at a URL: puts a job in, which is acknowledged, and counts those that are there."""

    put: Callable[[str], None]
    count: Callable[[str], int]


def _dial(url: str) -> tuple[socket.socket, BinaryIO]:
    parts = urlsplit(url if "://" in url else f"//{url}")
    assert parts.hostname
    assert parts.port
    connection = socket.create_connection((parts.hostname, parts.port), WITHIN)
    return connection, connection.makefile("rb")


# Redis.


def _redis_put(url: str) -> None:
    with Client(url) as client:
        client.do("RPUSH", "jobs", "job")


def _redis_count(url: str) -> int:
    with Client(url) as client:
        return int(client.do("LLEN", "jobs"))


# beanstalkd.


def _beanstalkd(url: str, request: bytes) -> bytes:
    connection, replies = _dial(url)
    with closing(connection), closing(replies):
        connection.sendall(request)
        line = replies.readline()
        return replies.read(int(line.split()[1])) if line.startswith(b"OK ") else line


def _beanstalkd_put(url: str) -> None:
    assert _beanstalkd(url, b"put 0 0 60 3\r\njob\r\n").startswith(b"INSERTED")


def _beanstalkd_count(url: str) -> int:
    return int(_beanstalkd(url, b"stats\r\n").partition(b"current-jobs-ready: ")[2].split()[0])


# NATS: a stream named jobs.


def _nats(url: str, subject: str, body: str) -> dict[str, object]:
    connection, replies = _dial(url)
    with closing(connection), closing(replies):
        replies.readline()
        connection.sendall(
            f'CONNECT {{"verbose":false}}\r\nSUB answers 1\r\nPUB {subject} answers {len(body)}\r\n{body}\r\n'.encode()
        )
        while not (line := replies.readline()).startswith(b"MSG"):
            assert line, "it hung up"
        found: dict[str, object] = json.loads(replies.read(int(line.split()[-1])))
        return found


def _nats_put(url: str) -> None:
    _nats(url, "$JS.API.STREAM.CREATE.jobs", '{"name": "jobs", "subjects": ["jobs"], "storage": "file"}')
    assert _nats(url, "jobs", "job")["stream"] == "jobs"


def _nats_count(url: str) -> int:
    state = _nats(url, "$JS.API.STREAM.INFO.jobs", "").get("state", {"messages": 0})
    assert isinstance(state, dict)
    return int(state["messages"])


# RabbitMQ: a durable queue named jobs.


class Refused(Exception):
    """A server's word that a connection or a channel is closed."""


class Amqp:
    """A connection with one channel. Raises Refused where the server does not let it in."""

    def __init__(self, url: str) -> None:
        self._connection, self._frames = _dial(url)
        try:
            self._open(url)
        except BaseException:
            self.close()
            raise

    def _open(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection.sendall(b"AMQP\x00\x00\x09\x01")
        self._read()
        response = f"\0{parts.username}\0{parts.password}".encode()
        start_ok = _table() + _short("PLAIN") + struct.pack(">I", len(response)) + response + _short("en_US")
        tune = self.call(0, (10, 11), start_ok)
        self._send(1, 0, struct.pack(">HH", 10, 31) + tune[:6] + b"\0\0")
        self.call(0, (10, 40), _short(unquote(parts.path[1:])) + _short("") + b"\0")
        self.call(1, (20, 10), _short(""))

    def close(self) -> None:
        self._frames.close()
        self._connection.close()

    def declare(self, passive: bool) -> int:
        """How many messages are in the queue. Raises Refused where it is passive and there is none."""
        answer = self.call(1, (50, 10), b"\0\0" + _short("jobs") + bytes([2 | passive]) + _table())
        return int(struct.unpack_from(">I", answer, 1 + answer[0])[0])

    def publish(self, body: bytes) -> None:
        """Put a message in, and wait for the broker to say that it is kept."""
        self.call(1, (85, 10), b"\0")
        self._send(1, 1, struct.pack(">HH", 60, 40) + b"\0\0" + _short("") + _short("jobs") + b"\0")
        self._send(2, 1, struct.pack(">HHQHB", 60, 0, len(body), 1 << 12, 2))  # persistent
        self._send(3, 1, body)
        self._read()

    def call(self, channel: int, method: tuple[int, int], arguments: bytes) -> bytes:
        self._send(1, channel, struct.pack(">HH", *method) + arguments)
        return self._read()

    def _send(self, kind: int, channel: int, payload: bytes) -> None:
        self._connection.sendall(struct.pack(">BHI", kind, channel, len(payload)) + payload + b"\xce")

    def _read(self) -> bytes:
        """The arguments of the next method."""
        try:
            head = self._frames.read(7)
        except ConnectionResetError:
            head = b""
        if len(head) < 7:
            raise Refused("it hung up")
        payload = self._frames.read(struct.unpack(">BHI", head)[2] + 1)[:-1]
        if struct.unpack_from(">HH", payload) in ((10, 50), (20, 40)):
            raise Refused(payload[7 : 7 + payload[6]].decode())
        return payload[4:]


def _short(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


def _table() -> bytes:
    return b"\0\0\0\0"


def _rabbitmq_put(url: str) -> None:
    with closing(Amqp(url)) as client:
        client.declare(passive=False)
        client.publish(b"job")
        client.declare(passive=True)


def _rabbitmq_count(url: str) -> int:
    with closing(Amqp(url)) as client:
        try:
            return client.declare(passive=True)
        except Refused as refused:
            if not str(refused).startswith("NOT_FOUND"):
                raise
            return 0


SPEAKS = {
    "redis": Speaks(_redis_put, _redis_count),
    "rabbitmq": Speaks(_rabbitmq_put, _rabbitmq_count),
    "nats": Speaks(_nats_put, _nats_count),
    "beanstalkd": Speaks(_beanstalkd_put, _beanstalkd_count),
}
