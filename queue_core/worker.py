"""A worker process: it claims jobs, keeps their leases alive while handlers run, and finishes them.

Several threads work together. The main thread claims, completes and reclaims, on a connection of its own, and takes the
signals. Each slot is a thread that runs handlers. The heartbeat is a thread with its own connection, so that neither a
busy handler nor a slow claim holds up a renewal; it beats until the last job has ended, drain included. The watch needs
no connection: by this machine's own clock it knows when a lease is over that nobody could renew. The listener hears of
new jobs.
"""

import logging
import os
import secrets
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from queue import Empty, SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

import psycopg

from queue_core.backoff import Backoff
from queue_core.handler import Context, Handler, Permanent, RateLimited, error_text
from queue_core.link import Link
from queue_core.listener import Listener
from queue_core.observer import Observer
from queue_core.queue import Job, Queue

DRAINED: Final = 0
"""Exit code of a worker that let its jobs end."""

FORCED: Final = 75
"""Exit code of a worker that had to give back jobs that were still running (EX_TEMPFAIL: they will be tried again)."""

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

Upgrade: TypeAlias = Callable[[Any], Any]
"""Turns a payload of one version into one of the next."""

_log = logging.getLogger("queue_core")


class Worker:
    """Runs the jobs of one queue until it is told to stop.

    The first SIGTERM or SIGINT starts a drain: no job is claimed or started any more, unstarted ones are given back at
    once, and those running end, their leases renewed all the while. A second signal, or the end of `grace`, forces the
    stop: running jobs are told that they are lost and given back, their attempt included.

    Broken connections are opened again, with a growing delay; what the database was to be told is kept until then. A
    statement that has had no answer for a lease's time counts as broken.

    Args:
        dsn: where the database is, as for libpq.
        handlers: what runs each kind of job. A job of another kind fails its attempt.
        name: the owner in leases; by default host, pid and a random part. Fencing does not rest on its uniqueness.
        queue_class: the queue's statements.
        queue: the name of the queue to work on.
        lease: seconds that a claim or a renewal lasts.
        slots: how many jobs run at a time.
        prefetch: how many more are claimed ahead; the heartbeat covers them too.
        poll: seconds between looks at the queue while there is room for a job.
        heartbeat_every: seconds between renewals; "auto" is a third of the lease.
        reclaim_every: seconds between the worker's own reclaims, the first of them at the start; "auto" is half the
            lease, None is never.
        grace: seconds from the first signal to a forced stop; None lets jobs take as long as they need.
        observer: is told what happens.
        backoff: delays before retries.
        listen: whether to hear of new jobs at once, on a connection of its own; the poll stays behind it.
        version: the newest payload version that the handlers can read; newer jobs are left to newer workers.
        upgrades: by version, what turns an older payload into one of the next version.

    Raises:
        ValueError: a setting makes no sense.
    """

    drained_status: ClassVar[int] = DRAINED
    """What `run` returns after a drain."""

    def __init__(
        self,
        dsn: str,
        handlers: Mapping[str, Handler],
        *,
        name: str | None = None,
        queue_class: type[Queue] = Queue,
        queue: str = "default",
        lease: float = 30.0,
        slots: int = 1,
        prefetch: int = 0,
        poll: float = 1.0,
        heartbeat_every: float | Literal["auto"] = "auto",
        reclaim_every: float | Literal["auto"] | None = "auto",
        grace: float | None = None,
        observer: Observer | None = None,
        backoff: Backoff | None = None,
        listen: bool = True,
        version: int = 1,
        upgrades: Mapping[int, Upgrade] | None = None,
    ) -> None:
        self.dsn = dsn
        self.handlers = handlers
        self.queue_class = queue_class
        self.name = name or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self.queue = queue
        self.lease = lease
        self.slots = slots
        self.prefetch = prefetch
        self.poll = poll
        self.heartbeat_every = lease / 3 if heartbeat_every == "auto" else heartbeat_every
        self.reclaim_every = lease / 2 if reclaim_every == "auto" else reclaim_every
        self.grace = grace
        self.observer = observer or Observer()
        self.backoff = backoff or Backoff()
        self.listen = listen
        self.version = version
        self.upgrades = upgrades or {}
        self._validate()

        self._main = Link(dsn, queue_class, f"{self.name} main")
        self._beat = Link(dsn, queue_class, f"{self.name} heartbeat")
        self._ear = Link(dsn, queue_class, f"{self.name} listen")
        self._reconnect = Backoff(base=min(0.1, self.heartbeat_every), cap=self.heartbeat_every)
        self._stops = 0
        self._stop_at = 0.0
        self._reclaim_at = 0.0
        self._stopping = threading.Event()
        self._over = threading.Event()
        # Wakes the main thread: a job that has ended, with its error, or None for anything else. A signal handler may
        # put() in the middle of a get(), which no Event or Condition allows.
        self._events: SimpleQueue[tuple[Job, BaseException | None] | None] = SimpleQueue()
        self._ended: dict[Job, BaseException | None] = {}
        self._crash: BaseException | None = None
        # What is held, by claim, and which of it waits for a slot; under the lock of `_change`.
        self._tasks: dict[Job, _Task] = {}
        self._waiting: deque[_Task] = deque()
        self._change = threading.Condition()

    def run(self) -> int:
        """Work until stopped, and return the exit code: DRAINED or FORCED. May be called once.

        On the main thread it takes SIGTERM and SIGINT for itself meanwhile. After FORCED, handlers may still be running
        on daemon threads: the process should exit.

        Raises:
            psycopg.Error: the database can't be reached at the start, or refuses a statement.
            Exception: whatever an observer raised.
        """
        previous = {}
        if threading.current_thread() is threading.main_thread():
            previous = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        listener = Listener(self._ear, self.queue, lambda: self._events.put(None), self._over)
        bodies: dict[str, Callable[[], None]] = {"heartbeat": self._beats, "watch": self._watches}
        if self.listen:
            bodies["listener"] = lambda: listener.run(self.listen_again)
        threads = [
            threading.Thread(target=self._guard, args=(body,), name=name, daemon=True) for name, body in bodies.items()
        ]
        try:
            self._main.open()
            self._beat.open()
            for thread in threads:
                thread.start()
            for number in range(self.slots):
                threading.Thread(target=self._guard, args=(self._slot,), name=f"slot-{number}", daemon=True).start()
            self._tell(self.observer.ready)
            code = self._loop()
        finally:
            self._over.set()
            with self._change:
                self._change.notify_all()
            self._main.drop()
            if threads[0].ident is None:
                self._beat.drop()
            for thread in threads:
                if thread.ident is not None:
                    thread.join(timeout=1.0)  # it may be waiting for the database, which must not hold up the exit
            if "pool" in vars(self):
                self.pool.close(timeout=0.0)
            for number, handler in previous.items():
                signal.signal(number, handler)
        if self._crash is not None:
            raise self._crash
        return code

    def stop(self) -> None:
        """Do as a signal does: the first call starts the drain, the second forces the stop. Callable on any thread."""
        if not self._stops:
            self._stop_at = time.monotonic()
        self._stops += 1
        self._events.put(None)

    @property
    def draining(self) -> bool:
        """Whether the worker was told to stop."""
        return self._stops > 0

    @cached_property
    def pool(self) -> "ConnectionPool[psycopg.Connection[Any]]":
        """The handlers' connections, one for each slot. The worker itself takes none of them."""
        from psycopg_pool import ConnectionPool  # late: most handlers need none

        kwargs = {"application_name": f"{self.name} handler", "client_encoding": "utf8"}
        return ConnectionPool(self.dsn, min_size=0, max_size=self.slots, kwargs=kwargs, open=True, num_workers=1)

    def held(self) -> list[Job]:
        """The jobs claimed, and neither finished nor known from the database to be lost: what a heartbeat renews."""
        with self._change:
            return [job for job, task in self._tasks.items() if not task.gone]

    def running(self) -> list[Job]:
        """The jobs whose handler runs at this moment."""
        with self._change:
            return [job for job, task in self._tasks.items() if task.started and not task.settling]

    # The mechanisms, one method each.

    def may_start(self) -> bool:
        """Whether new work may be taken up: a job be claimed, or a claimed one be started."""
        return not self.draining

    def may_look(self, told: bool) -> bool:
        """Whether to look at the queue now: `told` that something has happened, or since it is time for a poll."""
        return True

    def listen_again(self, failures: int) -> float | None:
        """Seconds until a broken LISTEN is taken up again; None if it is not."""
        return self._reconnect.delay(failures)

    def room(self) -> int:
        """How many more jobs to claim."""
        return self.slots + self.prefetch - len(self._tasks)

    def upgrade(self, job: Job) -> Job:
        """A job whose payload is of this worker's own version, whatever release put it in."""
        while job.version < self.version:
            step = self.upgrades.get(job.version)
            if step is None:
                raise Permanent(
                    f"no upgrade from version {job.version} of the payload, and this worker reads {self.version}"
                )
            job = replace(job, payload=step(job.payload), version=job.version + 1)
        return job

    def effect_key(self, job: Job) -> str:
        """What tells a job's effect from all others, the same in every attempt."""
        return f"{job.queue}/{job.id}"

    def execute(self, job: Job, context: Context) -> BaseException | None:
        """Run a job's handler. Returns what it raised, or None."""
        try:
            handler = self.handlers.get(job.kind)
            if handler is None:
                raise LookupError(f"this worker has no handler for jobs of kind {job.kind!r}")
            handler(self.upgrade(job), context)
        except BaseException as error:  # noqa: BLE001 - even SystemExit is an outcome of the job, not of the worker
            return error
        return None

    def renew(self, held: list[Job]) -> Collection[Job]:
        """Renew the leases of the jobs held. Returns those that are still this worker's."""
        return self._beat.open().heartbeat(self.name, held, self.lease)

    def overdue(self, deadline: float) -> bool:
        """Whether a lease is over by this machine's own clock, whatever the database would say if it could be asked."""
        return time.monotonic() >= deadline

    def retry_in(self, job: Job, error: BaseException) -> float | None:
        """Seconds until a failed job may be tried again; None if it should not be."""
        if isinstance(error, Permanent):
            return None
        if isinstance(error, RateLimited):
            return max(0.0, error.retry_after)
        return self.backoff.delay(job.attempt)

    def drained(self) -> bool:
        """Whether a worker that was told to stop may go: it holds nothing any more."""
        return not self._tasks

    def grace_left(self) -> float:
        """Seconds until the stop is forced."""
        if self._stops > 1:
            return 0.0
        if self.grace is None or not self.draining:
            return float("inf")
        return max(0.0, self._stop_at + self.grace - time.monotonic())

    def release_unstarted(self, jobs: list[Job]) -> None:
        """Give back, while draining, the jobs that were claimed but will not be started."""
        self._main.open().release(self.name, jobs)

    def release_running(self, jobs: list[Job]) -> None:
        """Give back, on a forced stop, the jobs that have not ended."""
        self._main.open().release(self.name, jobs)

    def reclaim_due(self) -> bool:
        """Whether it is time for the worker's own reclaim."""
        return self.reclaim_every is not None and time.monotonic() >= self._reclaim_at

    # The main thread.

    def _loop(self) -> int:
        failures, told = 0, True
        while True:
            if self._crash is not None:
                raise self._crash
            if self.draining and not self._stopping.is_set():
                self._stopping.set()
                self._tell(self.observer.stopping)
            if self.grace_left() <= 0:
                return self._force()
            try:
                if self._step(told):
                    return self.drained_status
            except psycopg.OperationalError as error:
                if error is self._crash:
                    raise
                failures += 1
                self._main.drop()
                pause = self._reconnect.delay(failures)
                _log.warning("worker %s: %s; trying again in %.2f s", self.name, str(error).strip(), pause)
            else:
                failures = 0
                pause = min(self.poll, self.reclaim_every or self.poll)
            told = self._wait(min(pause, self.grace_left()))

    def _step(self, told: bool) -> bool:
        """Do all that there is to do now. Returns whether the drain is over."""
        self._settle()
        if not self.may_start():
            self._give_back()
        claimed = self._claim() if self.may_look(told) else 0
        if self._stopping.is_set() and not claimed and self.drained():
            return True
        if self.reclaim_due():
            ids = self._main.open().reclaim()
            self._reclaim_at = time.monotonic() + (self.reclaim_every or 0.0)
            self._tell(self.observer.reclaimed, ids)
        return False

    def _settle(self) -> None:
        """Tell the database how jobs ended. It decides what it takes, whatever this worker thinks it has lost."""
        done = [job for job, error in self._ended.items() if error is None]
        if done:
            accepted = self._main.open().complete(self.name, done)
            for job in done:
                self._forget(job)
                self._tell(self.observer.outcome, job, job in accepted)
        for job, error in [(job, error) for job, error in self._ended.items() if error is not None]:
            taken = self._main.open().fail(self.name, job, error_text(error), self.retry_in(job, error))
            self._forget(job)
            self._tell(self.observer.outcome, job, taken)

    def _give_back(self) -> None:
        with self._change:
            unstarted = [job for job, task in self._tasks.items() if not task.started]
            for job in unstarted:
                self._tasks[job].settling = True
            self._waiting.clear()
        if unstarted:
            self.release_unstarted(unstarted)
            for job in unstarted:
                self._forget(job)

    def _claim(self) -> int:
        """Fill the room there is. Returns how many jobs were claimed."""
        room = self.room()
        if room <= 0 or not self.may_start():
            return 0
        began = time.monotonic()
        jobs = self._main.open().claim(self.name, room, self.lease, self.queue, self.version)
        if jobs:
            self._tell(self.observer.claimed, jobs)
            tasks = [_Task(job, self._context(job), began + self.lease) for job in jobs]
            with self._change:
                self._tasks.update((task.job, task) for task in tasks)
                self._waiting.extend(tasks)
                self._change.notify_all()
        return len(jobs)

    def _context(self, job: Job) -> Context:
        return Context(self.name, threading.Event(), self._stopping, self.effect_key(job), self._from_pool)

    def _from_pool(self) -> "AbstractContextManager[psycopg.Connection[Any]]":
        return self.pool.connection()

    def _forget(self, job: Job) -> None:
        """Hold a job no longer: its fate is known."""
        with self._change:
            del self._tasks[job]
        self._ended.pop(job, None)

    def _force(self) -> int:
        """Stop now: whoever is still running is told, then given back."""
        with self._change:
            for task in self._tasks.values():
                task.settling = True
                task.context.lost.set()
        for _ in range(2):  # the connection may have broken long ago, unnoticed
            try:
                self._settle()
                self.release_running(list(self._tasks))
                break
            except psycopg.OperationalError as error:
                if error is self._crash:
                    raise
                self._main.drop()
                _log.warning("worker %s could not give back its jobs: %s", self.name, str(error).strip())
        return FORCED

    def _wait(self, seconds: float) -> bool:
        """Wait for something to happen, and note what has ended. Returns whether anything has happened."""
        told = False
        try:
            event = self._events.get(timeout=seconds)
            while True:
                told = True
                if event is not None:
                    job, error = event
                    self._ended[job] = error
                event = self._events.get_nowait()
        except Empty:
            return told

    def _tell(self, event: Callable[..., None], *what: object) -> None:
        try:
            event(*what)
        except BaseException as error:
            self._crash = error  # lest an observer's own database error pass for one of the worker's
            raise

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.stop()

    # The other threads.

    def _guard(self, body: Callable[[], None]) -> None:
        """Run a thread's body; what it raises is raised in the main thread."""
        try:
            body()
        except BaseException as error:  # noqa: BLE001 - passed on, not swallowed
            self._crash = error
            self._events.put(None)

    def _slot(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._over.is_set() or (self._waiting and self.may_start()))
                if self._over.is_set():
                    return
                if self._is_late(self._waiting[0]):
                    self._lose(self._waiting[0])
                    continue
                task = self._waiting.popleft()
                task.started = True
            error = self.execute(task.job, task.context)
            task.settling = True
            self._events.put((task.job, error))

    def _beats(self) -> None:
        failures, pause = 0, self.heartbeat_every
        try:
            while not self._over.wait(pause):
                began = time.monotonic()
                held = self.held()
                try:
                    kept = set(self.renew(held)) if held else set()
                except psycopg.OperationalError as error:
                    failures += 1
                    self._beat.drop()
                    pause = self._reconnect.delay(failures)
                    _log.warning("heartbeat of %s: %s; trying again in %.2f s", self.name, str(error).strip(), pause)
                    continue
                failures = 0
                if held:
                    self._judge(held, kept, began + self.lease)
                pause = max(0.0, began + self.heartbeat_every - time.monotonic())
        finally:
            self._beat.drop()

    def _judge(self, held: list[Job], kept: set[Job], deadline: float) -> None:
        """Act on the answer to a heartbeat."""
        lost = []
        with self._change:
            for job in held:
                task = self._tasks.get(job)
                # A job that the main thread is just finishing or giving back is not lost, only over.
                if task is None or task.settling:
                    continue
                if job in kept:
                    task.deadline = deadline
                    continue
                lost.append(job)
                task.gone = True
                self._lose(task)
        if lost:
            _log.warning("worker %s lost the lease of %s", self.name, ", ".join(f"job {job.id}" for job in lost))
            self._events.put(None)
        self.observer.renewed([job for job in held if job in kept], lost)

    def _lose(self, task: "_Task") -> None:
        """Count on a job no longer: its handler is told, and one that has not started never will."""
        task.context.lost.set()
        if not task.started:
            self._waiting.remove(task)
            del self._tasks[task.job]

    def _watches(self) -> None:
        """Give up, without asking anybody, what could not be renewed in time; break connections that hang."""
        while not self._over.wait(self.lease / 20):
            with self._change:
                late = [task for task in self._tasks.values() if self._is_late(task)]
                for task in late:
                    self._lose(task)
            if late:
                ids = ", ".join(f"job {task.job.id}" for task in late)
                _log.warning("worker %s could not renew the lease of %s in time", self.name, ids)
                self._events.put(None)
            for link in (self._main, self._beat):
                if link.cut_off(self.lease):
                    _log.warning("worker %s had no answer from the database for %.2f s", self.name, self.lease)

    def _is_late(self, task: "_Task") -> bool:
        return not task.settling and not task.context.lost.is_set() and self.overdue(task.deadline)

    def _validate(self) -> None:
        if self.lease <= 0 or not 0 < self.heartbeat_every < self.lease:
            raise ValueError(f"need 0 < heartbeat_every < lease, not {self.heartbeat_every} and {self.lease}")
        if self.slots < 1 or self.prefetch < 0:
            raise ValueError(f"need slots >= 1 and prefetch >= 0, not {self.slots} and {self.prefetch}")
        if self.poll <= 0 or (self.reclaim_every is not None and self.reclaim_every <= 0):
            raise ValueError(f"need poll and reclaim_every > 0, not {self.poll} and {self.reclaim_every}")
        if self.grace is not None and self.grace < 0:
            raise ValueError(f"need grace >= 0, not {self.grace}")


@dataclass(eq=False)
class _Task:
    """A job held by this worker, and how far it has got."""

    job: Job
    context: Context
    deadline: float
    """When the lease is over by this machine's monotonic clock, in seconds, if it is not renewed before."""
    gone: bool = False
    """Whether the database has said that it is lost."""
    started: bool = False
    settling: bool = False
    """Its end, or its release, is up to the main thread now."""
