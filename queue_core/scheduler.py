"""Recurring jobs: schedules, and a scheduler that puts their jobs into the queue as they come due.

Run several schedulers, so that one may die. They need not talk: which *ticks* a schedule has follows from the schedule
alone, and each is fired in one transaction, which enters it in a table and enqueues its job. It is the unique key of
that table that keeps a tick from being fired twice. That one of them leads, and the others stand by, only saves work.
"""

import logging
import os
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, ClassVar, Final, LiteralString

import psycopg
from psycopg.rows import scalar_row

from queue_core import schema
from queue_core.backoff import Backoff
from queue_core.link import Link
from queue_core.queue import Queue
from queue_core.worker import DRAINED

LONGEST_CATCH_UP: Final = 86_400.0
"""How far back a scheduler may fire ticks, in seconds. Twice as long the retention keeps them."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_log = logging.getLogger("queue_core")


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """A job that recurs, by exactly one of `every` and `cron`.

    Raises:
        ValueError: neither or both are given, or what is given makes no sense or never comes due.
    """

    name: str = field(kw_only=False)
    """Names its ticks in the database: no other schedule there may have it."""
    kind: str = field(kw_only=False)
    """Names the handler."""
    payload: Any = None
    """Anything that JSON can hold; None makes it `{"schedule": name, "tick": the tick in ISO 8601}`."""
    every: float | None = None
    """Seconds, a millisecond at least. The ticks are its multiples since 1970, whenever a scheduler started."""
    cron: str | None = None
    """Minute, hour, day of the month, month, day of the week, as cron(8) has them; in UTC."""
    queue: str = "default"
    priority: int = 0
    max_attempts: int = 3

    def __post_init__(self) -> None:
        if (self.every is None) == (self.cron is None):
            raise ValueError(f"schedule {self.name!r} needs either every or cron")
        if self.every is not None and not 0.001 <= self.every < float("inf"):
            raise ValueError(f"schedule {self.name!r} needs every >= 0.001 s, not {self.every}")
        if self.cron is not None and next(self._cron_ticks(_EPOCH), None) is None:
            raise ValueError(f"schedule {self.name!r}: cron {self.cron!r} never comes due")

    def ticks(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """The moments at which it comes due, later than `after` and not later than `until`, in order."""
        if self.every is not None:
            step = timedelta(seconds=self.every)
            for number in range((after - _EPOCH) // step + 1, (until - _EPOCH) // step + 1):
                yield _EPOCH + number * step
        else:
            yield from takewhile(lambda tick: tick <= until, self._cron_ticks(after))

    def _cron_ticks(self, after: datetime) -> Iterator[datetime]:
        from cronsim import CronSim, CronSimError  # late: workers don't need it

        assert self.cron is not None
        try:
            return CronSim(self.cron, after.astimezone(UTC))
        except CronSimError as error:
            raise ValueError(f"schedule {self.name!r}: cron {self.cron!r} can't be read: {error}") from error


class Scheduler:
    """Fires the ticks of schedules until it is told to stop.

    The database's clock decides what is due. The ticks from before its own start are not a scheduler's business. All
    later ones are: on becoming the leader it fires those that came due while it stood by, lest the leader died before
    it had fired them. That most of them were fired is for the key to find out.

    SIGTERM and SIGINT stop it once the tick at hand is fired; a second one breaks that off. A broken connection is
    opened again, with a growing delay.

    Args:
        dsn: where the database is, as for libpq.
        schedules: what to fire. Schedulers with the same ones share a leader.
        name: names the connection; by default host, pid and a random part.
        queue_class: the queue's statements.
        poll: seconds between looks at the clock: how late a tick may be fired.
        catch_up: how old a tick may be and still be fired, in seconds, up to LONGEST_CATCH_UP.
        patience: seconds after which a scheduler that was not heard of, paused or cut off, leads no longer.
        ready: called as soon as every later tick is this scheduler's business, and it has asked whether it leads.

    Raises:
        ValueError: a setting makes no sense.
    """

    TICKS: ClassVar[LiteralString] = schema.BLOCKS["ticks"]
    """The table of fired ticks."""

    TICK_KEY: ClassVar[LiteralString] = schema.BLOCKS["tick_key"]
    """The unique key that lets no tick be fired twice."""

    # Without a target: what decides is whatever unique key the table has.
    TAKE: ClassVar[LiteralString] = """
        INSERT INTO ticks (schedule, tick) VALUES (%(schedule)s, %(tick)s) ON CONFLICT DO NOTHING
    """
    """Enter a tick, if nobody has; while another transaction that did is open, wait for its end."""

    NOTE: ClassVar[LiteralString] = """
        UPDATE ticks SET job = %(job)s WHERE schedule = %(schedule)s AND tick = %(tick)s AND job IS NULL
    """
    """Note the job of a tick that this transaction has entered."""

    # Held by the session, so that it ends with it. The table's oid makes it a lock of this schema's alone.
    LEAD: ClassVar[LiteralString] = """
        SELECT pg_try_advisory_lock(hashtextextended('queue_core.lead ' || %(schedules)s, 'ticks'::regclass::bigint))
    """
    """Become the leader, if there is none."""

    HURRY: ClassVar[LiteralString] = """
        SELECT set_config(name, %(milliseconds)s, false) FROM pg_settings
        WHERE name IN ('idle_session_timeout', 'idle_in_transaction_session_timeout')
    """
    """Have the server end this session once it is idle for too long (before PostgreSQL 14 only amid a transaction)."""

    def __init__(
        self,
        dsn: str,
        schedules: Sequence[Schedule],
        *,
        name: str | None = None,
        queue_class: type[Queue] = Queue,
        poll: float = 1.0,
        catch_up: float = 600.0,
        patience: float = 30.0,
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        self.schedules = tuple(schedules)
        self.name = name or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self.poll = poll
        self.catch_up = catch_up
        self.patience = patience
        self.ready = ready
        self._validate()

        self._link = Link(dsn, queue_class, f"{self.name} scheduler")
        self._session: Queue | None = None
        self._leads = False
        self._reconnect = Backoff(base=min(0.1, poll), cap=max(0.1, poll))
        self._handled: dict[str, datetime] = {}
        """Up to when the ticks of each schedule, by its name, are no longer this scheduler's business."""
        self._stops = 0
        # A signal handler may put() in the middle of a get(), which no Event or Condition allows.
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._over = threading.Event()

    @classmethod
    def install(cls, connection: psycopg.Connection[Any]) -> None:
        """Create the table and its key where they are missing, in one transaction; see schema.install."""
        schema.install(connection, cls.TICKS, cls.TICK_KEY)

    def run(self) -> int:
        """Fire ticks until stopped, and return the exit code, DRAINED. May be called once.

        On the main thread it takes SIGTERM and SIGINT for itself meanwhile.

        Raises:
            psycopg.Error: the database can't be reached at the start, or refuses a statement.
            Exception: whatever `ready` raised.
        """
        previous = {}
        if threading.current_thread() is threading.main_thread():
            previous = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        watch = threading.Thread(target=self._watch, name="watch", daemon=True)
        try:
            self._handled = dict.fromkeys((schedule.name for schedule in self.schedules), self._now())
            watch.start()
            self.lead()
            self.ready()
            self._loop()
        finally:
            self._over.set()
            self._link.drop()
            for number, handler in previous.items():
                signal.signal(number, handler)
        return DRAINED

    def stop(self) -> None:
        """Do as a signal does: stop after the tick at hand; the second call breaks it off. Callable on any thread."""
        self._stops += 1
        self._wake.put(None)
        if self._stops > 1:
            self._link.cut_off(0.0)

    # The mechanisms, one method each.

    def lead(self) -> bool:
        """Whether this scheduler is the one to fire ticks. It only saves work: two that do so harm nothing."""
        queue = self._open()
        if not self._leads:
            schedules = repr([(schedule.name, schedule.every, schedule.cron) for schedule in self.schedules])
            with queue.connection.cursor(row_factory=scalar_row) as cursor:
                self._leads = bool(cursor.execute(self.LEAD, {"schedules": schedules}).fetchone())
        return self._leads

    def fire(self, schedule: Schedule, tick: datetime) -> bool:
        """Put the job of a tick into the queue, in one transaction, unless that was done. Returns whether it was now.

        Raises psycopg.Error as the connection does.
        """
        queue = self._open()
        key = {"schedule": schedule.name, "tick": tick}
        with queue.connection.transaction():
            taken = queue.connection.execute(self.TAKE, key).rowcount == 1
            if taken:
                payload = schedule.payload
                job = queue.enqueue(
                    schedule.kind,
                    {"schedule": schedule.name, "tick": tick.isoformat()} if payload is None else payload,
                    queue=schedule.queue,
                    priority=schedule.priority,
                    max_attempts=schedule.max_attempts,
                )
                queue.connection.execute(self.NOTE, key | {"job": job})
        return taken

    # The loop.

    def _loop(self) -> None:
        failures = 0
        while not self._stops:
            try:
                if self.lead():
                    self._fire_due()
            except psycopg.OperationalError as error:
                failures += 1
                self._link.drop()
                pause = self._reconnect.delay(failures)
                _log.warning("scheduler %s: %s; trying again in %.2f s", self.name, str(error).strip(), pause)
            else:
                failures = 0
                pause = self.poll
            self._wait(pause)

    def _fire_due(self) -> None:
        """Fire all that came due and is not too old."""
        now = self._now()
        for schedule in self.schedules:
            since = max(self._handled[schedule.name], now - timedelta(seconds=self.catch_up))
            for tick in schedule.ticks(since, now):
                if self._stops:
                    return
                self.fire(schedule, tick)
                self._handled[schedule.name] = tick

    def _now(self) -> datetime:
        with self._open().connection.cursor(row_factory=scalar_row) as cursor:
            now = cursor.execute("SELECT clock_timestamp()").fetchone()
        assert isinstance(now, datetime)
        return now

    def _open(self) -> Queue:
        """The queue, through a session that the server ends once it has not heard of this scheduler for too long.

        Else a leader that is paused, or whose machine is gone, would go on to lead: its session holds the lock.
        """
        queue = self._link.open()
        if queue is not self._session:
            self._session, self._leads = queue, False
            queue.connection.execute(self.HURRY, {"milliseconds": str(round(self.patience * 1000))})
        return queue

    def _wait(self, seconds: float) -> None:
        try:
            self._wake.get(timeout=seconds)
        except Empty:
            return

    def _watch(self) -> None:
        """Break the connection when it hangs; the loop then gets an error."""
        while not self._over.wait(self.patience / 10):
            if self._link.cut_off(self.patience):
                _log.warning("scheduler %s had no answer from the database for %.2f s", self.name, self.patience)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.stop()

    def _validate(self) -> None:
        names = [schedule.name for schedule in self.schedules]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"need schedules, each with a name of its own, not {names}")
        if not 0 < self.poll < self.patience:
            raise ValueError(f"need 0 < poll < patience, not {self.poll} and {self.patience}")
        if not self.poll <= self.catch_up <= LONGEST_CATCH_UP:
            raise ValueError(f"need poll <= catch_up <= {LONGEST_CATCH_UP:g}, not {self.poll} and {self.catch_up}")
