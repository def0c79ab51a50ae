"""A worker process: it claims jobs, keeps their leases alive while handlers run, and finishes them.

Several threads work together. The main thread claims, completes and reclaims, on a connection of its own, and takes the
signals. Each slot is a thread that runs handlers. The heartbeat and the watch keep the leases. The listener hears of
new jobs. All of them share one book of what is held.
"""

import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

import psycopg

from queue_core.backoff import Backoff
from queue_core.crew import Crew
from queue_core.handler import Context, Handler, Permanent, RateLimited, error_text
from queue_core.holdings import Holdings, Task
from queue_core.keeper import Keeper
from queue_core.link import Link
from queue_core.listener import Listener
from queue_core.observer import Observer
from queue_core.queue import Job, Queue
from queue_core.signals import on_signals

DRAINED: Final = 0
"""Exit code of a worker that let its jobs end."""

FORCED: Final = 75
"""Exit code of a worker that had to give back jobs that were still running (EX_TEMPFAIL: they will be tried again)."""

FEW: Final = 10
"""Jobs that are not claimed in two halves: what a smaller claim costs is more than what can run beside it."""

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
        self._crew = Crew()
        self._holdings = Holdings(self._crew.over)

    def run(self) -> int:
        """Work until stopped, and return the exit code: DRAINED or FORCED. May be called once.

        On the main thread it takes SIGTERM and SIGINT for itself meanwhile. After FORCED, handlers may still be running
        on daemon threads: the process should exit.

        Raises:
            psycopg.Error: the database can't be reached at the start, or refuses a statement.
            Exception: whatever an observer raised.
        """
        with on_signals(self.stop):
            try:
                self._main.open()
                self._beat.open()
                self._start_threads()
                self._tell(self.observer.ready)
                code = self._loop()
            finally:
                self._crew.over.set()
                self._holdings.wake()
                self._main.drop()
                if not self._crew.started:
                    self._beat.drop()  # or else the heartbeat does
                self._crew.join(1.0)  # one may be waiting for the database, which must not hold up the exit
                if "pool" in vars(self):
                    self.pool.close(timeout=0.0)
        self._crew.check()
        return code

    def stop(self) -> None:
        """Do as a signal does: the first call starts the drain, the second forces the stop. Callable on any thread."""
        if not self._stops:
            self._stop_at = time.monotonic()
        self._stops += 1
        self._crew.wake()

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
        return self._holdings.held()

    def running(self) -> list[Job]:
        """The jobs whose handler runs at this moment."""
        return self._holdings.running()

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
        """How many more jobs to claim now.

        Of many that may be held it is half at a time: one half runs while the other is finished and replaced.
        """
        most = self.slots + self.prefetch
        return min(most - len(self._holdings), max(self.slots, FEW, (most + 1) // 2))

    def upgrade(self, job: Job) -> Job:
        """A job whose payload is of this worker's own version, whatever release put it in."""
        while job.version < self.version:
            step = self.upgrades.get(job.version)
            if step is None:
                raise Permanent(
                    f"no upgrade from version {job.version} of the payload, and this worker reads {self.version}"
                )
            job = job._replace(payload=step(job.payload), version=job.version + 1)
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
        return not self._holdings

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
            self._crew.check()
            if self.draining and not self._stopping.is_set():
                self._stopping.set()
                self._tell(self.observer.stopping)
            if self.grace_left() <= 0:
                return self._force()
            try:
                if self._step(told):
                    return self.drained_status
            except psycopg.OperationalError as error:
                if error is self._crew.crash:
                    raise
                failures += 1
                self._main.drop()
                pause = self._reconnect.delay(failures)
                _log.warning("worker %s: %s; trying again in %.2f s", self.name, str(error).strip(), pause)
            else:
                failures = 0
                pause = min(self.poll, self.reclaim_every or self.poll)
            told = self._crew.wait(min(pause, self.grace_left()))

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
        done = [job for job, error in self._crew.ended.items() if error is None]
        if done:
            accepted = self._main.open().complete(self.name, done)
            self._forget(done)
            for job in done:
                self._tell(self.observer.outcome, job, job in accepted)
        for job, error in [(job, error) for job, error in self._crew.ended.items() if error is not None]:
            taken = self._main.open().fail(self.name, job, error_text(error), self.retry_in(job, error))
            self._forget([job])
            self._tell(self.observer.outcome, job, taken)

    def _give_back(self) -> None:
        if unstarted := self._holdings.withdraw():
            self.release_unstarted(unstarted)
            self._forget(unstarted)

    def _claim(self) -> int:
        """Fill the room there is. Returns how many jobs were claimed."""
        room = self.room()
        if room <= 0 or not self.may_start():
            return 0
        began = time.monotonic()
        jobs = self._main.open().claim(self.name, room, self.lease, self.queue, self.version)
        if jobs:
            self._tell(self.observer.claimed, jobs)
            self._holdings.add([Task(job, began + self.lease) for job in jobs])
            if len(jobs) == room and self.room() > 0:
                self._crew.wake()  # there may be more, and nothing else may come to tell so
        return len(jobs)

    def _forget(self, jobs: list[Job]) -> None:
        """Hold jobs no longer: their fate is known."""
        self._holdings.forget(jobs)
        for job in jobs:
            self._crew.ended.pop(job, None)

    def _force(self) -> int:
        """Stop now: whoever is still running is told, then given back."""
        self._holdings.abandon()
        for _ in range(2):  # the connection may have broken long ago, unnoticed
            try:
                self._settle()
                self.release_running(self._holdings.jobs())
                break
            except psycopg.OperationalError as error:
                if error is self._crew.crash:
                    raise
                self._main.drop()
                _log.warning("worker %s could not give back its jobs: %s", self.name, str(error).strip())
        return FORCED

    def _tell(self, event: Callable[..., None], *what: object) -> None:
        try:
            event(*what)
        except BaseException as error:
            self._crew.crash = error  # lest an observer's own database error pass for one of the worker's
            raise

    # The other threads.

    def _start_threads(self) -> None:
        """Start them all, the heartbeat first: from then on its connection is its own, to drop at the end."""
        keeper = Keeper(self.name, self._holdings, self._crew, lease=self.lease, every=self.heartbeat_every)
        listener = Listener(self._ear, self.queue, self._crew.wake, self._crew.over)
        again, tell = self._reconnect.delay, self.observer.renewed
        self._crew.start("heartbeat", lambda: keeper.beats(self._beat, self.held, self.renew, again, tell))
        self._crew.start("watch", lambda: keeper.watches([self._main, self._beat], self.overdue))
        if self.listen:
            self._crew.start("listener", lambda: listener.run(self.listen_again))
        for number in range(self.slots):
            self._crew.start(f"slot-{number}", self._slot, awaited=False)

    def _connection(self) -> AbstractContextManager[psycopg.Connection[Any]]:
        return self.pool.connection()

    def _slot(self) -> None:
        while task := self._holdings.take(self.may_start, self.overdue):
            context = Context(self.name, task.lost, self._stopping, self.effect_key(task.job), self._connection)
            error = self.execute(task.job, context)
            task.settling = True
            self._crew.end(task.job, error)

    def _validate(self) -> None:
        if self.lease <= 0 or not 0 < self.heartbeat_every < self.lease:
            raise ValueError(f"need 0 < heartbeat_every < lease, not {self.heartbeat_every} and {self.lease}")
        if self.slots < 1 or self.prefetch < 0:
            raise ValueError(f"need slots >= 1 and prefetch >= 0, not {self.slots} and {self.prefetch}")
        if self.poll <= 0 or (self.reclaim_every is not None and self.reclaim_every <= 0):
            raise ValueError(f"need poll and reclaim_every > 0, not {self.poll} and {self.reclaim_every}")
        if self.grace is not None and self.grace < 0:
            raise ValueError(f"need grace >= 0, not {self.grace}")
