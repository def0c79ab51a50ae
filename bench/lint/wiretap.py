"""A wiretap between the bench and a subject: each message of both directions, as it goes over the wire.

It sits where processes are launched, so neither the bench nor the subject knows of it: a control process gets pipes of
the tap's, a worker is given the tap's address for the witness's. What is heard is told before it is passed on.
"""

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import IO, Protocol

from bench.children import Child, Launcher


class Ear(Protocol):
    """Hears one control process, or one connection to the witness; from a thread for each direction."""

    def from_bench(self, line: bytes) -> None: ...

    def from_subject(self, line: bytes) -> None: ...

    def hung_up(self) -> None:
        """The subject has closed its side."""


class Ears(Protocol):
    """Makes an ear for each line, and is told what is launched in which environment."""

    def launched(self, command: str, env: Mapping[str, str]) -> None: ...

    def control(self) -> Ear: ...

    def witness(self) -> Ear: ...


class Wiretap:
    """`with Wiretap(launch, ears).on() as tap:` and launch the subject's processes by `tap.launch`."""

    def __init__(self, launch: Launcher, ears: Ears) -> None:
        self._launch = launch
        self._ears = ears
        self._witness = ""

    @contextmanager
    def on(self) -> Iterator["Wiretap"]:
        """Listen meanwhile."""
        with socket.create_server(("127.0.0.1", 0), backlog=128) as self._listener:
            thread = threading.Thread(target=self._accept, name="wiretap", daemon=True)
            thread.start()
            try:
                yield self
            finally:
                _end(self._listener, socket.SHUT_RDWR)
                thread.join()

    def launch(self, command: str, env: Mapping[str, str], files: tuple[int, int, int]) -> Child:
        """Start a process of the subject's with the tap on its lines. Raises LaunchError."""
        self._ears.launched(command, env)
        if command == "control":
            return self._launch_control(env, files)
        self._witness = env["LEASEPROOF_WITNESS"]
        host, port = self._listener.getsockname()
        return self._launch(command, {**env, "LEASEPROOF_WITNESS": f"{host}:{port}"}, files)

    def _launch_control(self, env: Mapping[str, str], files: tuple[int, int, int]) -> Child:
        ear = self._ears.control()
        (its_stdin, to_it), (from_it, its_stdout) = os.pipe(), os.pipe()
        requests, answers = os.dup(files[0]), os.dup(files[1])
        try:
            child = self._launch("control", env, (its_stdin, its_stdout, files[2]))
        except BaseException:
            for each in (to_it, from_it, requests, answers):
                os.close(each)
            raise
        finally:
            os.close(its_stdin)
            os.close(its_stdout)
        _pump(os.fdopen(requests, "rb"), os.fdopen(to_it, "wb"), ear.from_bench)
        _pump(os.fdopen(from_it, "rb"), os.fdopen(answers, "wb"), ear.from_subject, ear.hung_up)
        return child

    def _accept(self) -> None:
        while True:
            try:
                subject, _ = self._listener.accept()
            except OSError:
                return
            host, _, port = self._witness.rpartition(":")
            try:
                witness = socket.create_connection((host, int(port)))
            except OSError:  # The run is over.
                subject.close()
                continue
            self._join(subject, witness, self._ears.witness())

    def _join(self, subject: socket.socket, witness: socket.socket, ear: Ear) -> None:
        """Join the two connections; when one side ends, the other is told so, and what is on its way still arrives."""

        for each in subject, witness:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pumps = (
            _pump(
                subject.makefile("rb"), witness.makefile("wb"), ear.from_subject, ear.hung_up, partial(_end, witness)
            ),
            _pump(witness.makefile("rb"), subject.makefile("wb"), ear.from_bench, last=partial(_end, subject)),
        )
        threading.Thread(target=_close_after, args=(pumps, (subject, witness)), daemon=True).start()


def _pump(
    source: IO[bytes],
    target: IO[bytes],
    heard: Callable[[bytes], None],
    closed: Callable[[], None] = lambda: None,
    last: Callable[[], None] = lambda: None,
) -> threading.Thread:
    """Pass line after line on, on a thread of its own, until the source ends or a side breaks."""

    def run() -> None:
        with contextlib.suppress(OSError, ValueError), source, target:
            for line in source:
                heard(line)
                target.write(line)
                target.flush()
            closed()
        last()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def _end(side: socket.socket, how: int = socket.SHUT_WR) -> None:
    with contextlib.suppress(OSError):
        side.shutdown(how)


def _close_after(pumps: tuple[threading.Thread, ...], sockets: tuple[socket.socket, ...]) -> None:
    for pump in pumps:
        pump.join()
    for each in sockets:
        each.close()
