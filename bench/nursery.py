"""A warm process that forks the workers of a Python subject, so that none pays for its imports again.

A bare interpreter with a database driver costs a quarter of a second of CPU, and a matrix starts two hundred. Each
forked worker is still a process of its own, in a session of its own, with its own pid to kill. The nursery has one
thread, no connection and no state; it reports each end with the wait status that the kernel gave it.
"""

import contextlib
import gc
import importlib
import json
import os
import queue
import selectors
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from bench.children import Child, LaunchError, environment


class Nursery:
    """The bench's end: start it with the subject's `warm` function and the modules that its workers will need."""

    def __init__(self, function: str, modules: Sequence[str], extra: Mapping[str, str]) -> None:
        mine, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bench.nursery", str(theirs.fileno()), function, *modules],
                env=environment(extra),
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._socket = mine
        self._lock = threading.Lock()
        self._alive: dict[int, _Child] = {}
        self._born: queue.SimpleQueue[_Child | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="nursery", daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # It may be gone.
            self._socket.shutdown(socket.SHUT_WR)
        self._process.wait()
        self._reader.join()
        self._socket.close()

    def spawn(self, command: str, env: Mapping[str, str], files: tuple[int, int, int]) -> Child:
        """Fork a process that runs the function with [command]; `files` are its stdin, stdout and stderr.

        Raises LaunchError when the nursery is gone.
        """
        with self._lock:
            try:
                message = json.dumps({"command": command, "env": dict(env)}).encode()
                socket.send_fds(self._socket, [len(message).to_bytes(4)], list(files))
                self._socket.sendall(message)
            except OSError as error:
                raise LaunchError(f"the nursery is gone: {error}") from error
            child = self._born.get()
            if child is None:
                raise LaunchError("the nursery ended; its errors are on the bench's stderr")
            return child

    def _read(self) -> None:
        # A nursery that is killed with a request unread resets the connection: that is its end as well.
        with contextlib.suppress(OSError), self._socket.makefile("rb") as lines:
            for line in lines:
                message = json.loads(line)
                if "born" in message:
                    child = self._alive[message["born"]] = _Child(message["born"])
                    self._born.put(child)
                else:
                    self._alive.pop(message["ended"]).end(message["status"])
        self._born.put(None)
        for child in self._alive.values():  # Nobody can wait for them any more; the janitor ends them.
            child.end(-signal.SIGKILL)


class _Child(Child):
    """A forked process; its parent, the nursery, tells its end."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._status: int | None = None
        self._ended = threading.Event()

    def end(self, status: int) -> None:
        self._status = status
        self._ended.set()

    def wait(self) -> int:
        self._ended.wait()
        assert self._status is not None
        return self._status


def _serve(connection: socket.socket, function: Callable[[list[str]], int]) -> None:
    """Fork on request and report each end, until the bench hangs up."""
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGHUP):  # The bench decides when it is over.
        signal.signal(number, signal.SIG_IGN)
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        selector.register(wake_read, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj == wake_read:
                    os.read(wake_read, 4096)
                    _reap(connection)
                elif not _fork(connection, function, (wake_read, wake_write)):
                    return


def _fork(connection: socket.socket, function: Callable[[list[str]], int], mine: Sequence[int]) -> bool:
    """Take one request; False when the bench has hung up."""
    head, files, _, _ = socket.recv_fds(connection, 4, 3)
    if not head:
        return False
    body = b""
    while len(body) < int.from_bytes(head):
        part = connection.recv(int.from_bytes(head) - len(body))
        if not part:
            return False
        body += part
    request: dict[str, Any] = json.loads(body)
    pid = os.fork()
    if pid == 0:
        _become(request, files, connection, mine, function)
    for file in files:
        os.close(file)
    connection.sendall(json.dumps({"born": pid}).encode() + b"\n")
    return True


def _become(
    request: dict[str, Any],
    files: Sequence[int],
    connection: socket.socket,
    mine: Sequence[int],
    function: Callable[[list[str]], int],
) -> None:
    """In the child: become the worker, and never come back."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.setsid()
        connection.close()
        for file in mine:
            os.close(file)
        for place, file in enumerate(files):
            os.dup2(file, place)
            os.close(file)
        os.environ.clear()
        os.environ.update(request["env"])
        status = function([request["command"]]) or 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if not isinstance(end.code, int | None):
            print(end.code, file=sys.stderr)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)  # as an interpreter ends on it
    except BaseException:  # noqa: BLE001 - the process ends here, with its error in its log, as an interpreter does
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _reap(connection: socket.socket) -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            report = {"ended": pid, "status": os.waitstatus_to_exitcode(status)}
            connection.sendall(json.dumps(report).encode() + b"\n")


def main() -> None:
    """`python -m bench.nursery FD MODULE:FUNCTION [MODULE ...]`; the bench starts it."""
    descriptor, path, *modules = sys.argv[1:]
    module, _, name = path.partition(":")
    function = getattr(importlib.import_module(module), name)
    for other in modules:
        importlib.import_module(other)
    gc.freeze()
    _serve(socket.socket(fileno=int(descriptor)), function)


if __name__ == "__main__":
    main()
