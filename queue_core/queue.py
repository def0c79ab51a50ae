"""A job queue in one PostgreSQL table.

A worker *claims* a job and with it gets a *lease*: the job is `running`, and nobody else's, until the worker completes,
fails or releases it. While it works, its *heartbeat* renews the lease. A worker that died does not: its lease expires,
and a *reclaim* puts the job back. It is the state that holds the job; expiry only allows the reclaim.

Each claim of a job has a number, one higher than the last. It is the *fence*: whatever a worker asks for a job it asks
for its own claim, and a claim that is over is refused, whoever made it.
"""

import json
import logging
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any, ClassVar, LiteralString, NamedTuple

import psycopg
from psycopg.rows import class_row, scalar_row, tuple_row

from queue_core import metrics, schema
from queue_core.arrays import numbers, texts
from queue_core.metrics import Limits, Stats
from queue_core.place import HEAD, Place

CHANNEL: LiteralString = "queue_core"
"""Where an enqueue is announced, with the name of its queue, for workers that listen."""

_log = logging.getLogger("queue_core")

_by_turn = attrgetter("turn", "id")
_by_claim = attrgetter("id", "claim")


@dataclass(frozen=True)
class NewJob:
    """A job to be enqueued."""

    kind: str
    payload: Any = field(default_factory=dict)
    """Anything that JSON can hold."""
    queue: str = "default"
    priority: int = 0
    """Higher goes first, unless the other has waited longer by the queue's `aging` seconds for each point between."""
    delay: float = 0.0
    """Seconds before it may be claimed."""
    max_attempts: int = 3
    key: str | None = None
    """No second job of this key is put in while one is queued or running."""
    version: int = 1
    """Of the payload's form: a worker of an older release leaves it alone."""


class Job(NamedTuple):
    """One claim of a job. Two are equal if they are the same claim of the same job."""

    id: int
    claim: int
    """The claim number, by which the worker's later statements are fenced."""
    queue: str
    kind: str
    payload: Any
    version: int
    """Of the payload's form."""
    priority: int
    run_at: datetime
    """When the job became due."""
    turn: datetime
    """Its place in the order of the claims."""
    attempt: int
    """Counted from 1, this one included."""
    max_attempts: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and self.id == other.id and self.claim == other.claim

    def __hash__(self) -> int:
        return self.id


class Queue:
    """The queue's statements, and an operation for each.

    The connection may be in autocommit mode or inside the caller's transaction; no operation commits, and each but
    install() is one statement. All times are the database's. A lease is granted from clock_timestamp() and judged
    expired by now(), the start of the transaction: within a long transaction both favour the owner.

    Every operation raises psycopg.Error as the connection does.
    """

    TABLE: ClassVar[LiteralString] = schema.BLOCKS["table"]
    """The table."""

    LEASE_CHECK: ClassVar[LiteralString] = schema.BLOCKS["lease_check"]
    """The constraint that a job is leased exactly while it is running."""

    LIVE_KEY: ClassVar[LiteralString] = schema.BLOCKS["live_key"]
    """The unique index that lets one job of a key be alive at a time."""

    INDEXES: ClassVar[LiteralString] = schema.BLOCKS["indexes"]
    """The indexes of claim and reclaim."""

    # The look for a live key spares the insert in most cases; what decides between two at the same moment is the index.
    ENQUEUE: ClassVar[LiteralString] = """
        WITH given AS (
            SELECT *, now() + make_interval(secs => delay) AS due
            FROM unnest(
                %(kinds)s::text[], %(payloads)s::jsonb[], %(versions)s::int[], %(keys)s::text[], %(queues)s::text[],
                %(priorities)s::int[], %(delays)s::float8[], %(max_attempts)s::int[]
            ) WITH ORDINALITY AS t (kind, payload, version, key, queue, priority, delay, max_attempts, position)
        ), added AS (
            INSERT INTO jobs (kind, payload, version, key, queue, priority, run_at, turn, max_attempts)
            SELECT kind, payload, version, key, queue, priority, due,
                   due - priority * make_interval(secs => %(aging)s), max_attempts
            FROM given
            WHERE key IS NULL OR NOT EXISTS (
                SELECT FROM jobs WHERE jobs.key = given.key AND jobs.state IN ('queued', 'running')
            )
            ORDER BY position
            ON CONFLICT DO NOTHING
            RETURNING id, key, queue
        ), announced AS (
            SELECT count(pg_notify('queue_core', queue)) FROM (SELECT DISTINCT queue FROM added) AS queues
        )
        SELECT id, key FROM added, announced
    """
    """Put jobs into the queue, numbered in the order given, passing over keys that are alive; wake those who listen."""

    ALIVE: ClassVar[LiteralString] = """
        SELECT id, key FROM jobs WHERE key = ANY (%(keys)s) AND state IN ('queued', 'running')
    """
    """The jobs that are alive under keys."""

    # ANY(ARRAY(...)) runs the selection once. With IN (...) the planner may run it again for each row, and then the
    # statement claims more than its limit.
    CLAIM: ClassVar[LiteralString] = """
        UPDATE jobs
        SET state = 'running', attempt = attempt + 1, claim = claim + 1, leased_by = %(worker)s,
            leased_until = clock_timestamp() + make_interval(secs => %(lease)s), claimed_at = now(), updated_at = now()
        WHERE id = ANY (ARRAY(
            SELECT id FROM jobs
            WHERE state = 'queued' AND queue = %(queue)s AND run_at <= now() AND version <= %(version)s
                AND (turn, id) >= (%(turn)s, %(id)s)
            ORDER BY turn, id
            LIMIT %(limit)s
            FOR UPDATE SKIP LOCKED
        ))
        RETURNING id, claim, queue, kind, payload, version, priority, run_at, turn, attempt, max_attempts
    """
    """Take the first due jobs from a place on, in one statement, passing over those that another is just taking."""

    # The four statements below are guarded alike: by the claim number, the owner and the state. What they return is the
    # claims that they were carried out for; the others are over.
    HEARTBEAT: ClassVar[LiteralString] = """
        UPDATE jobs AS j
        SET leased_until = clock_timestamp() + make_interval(secs => %(lease)s), updated_at = now()
        FROM unnest(%(ids)s::bigint[], %(claims)s::bigint[]) AS own (id, claim)
        WHERE j.id = own.id
            AND j.claim = own.claim
            AND j.leased_by = %(worker)s
            AND j.state = 'running'
        RETURNING own.id, own.claim
    """
    """Renew leases, each for its owner only: a lost job can't be taken back this way."""

    COMPLETE: ClassVar[LiteralString] = """
        UPDATE jobs AS j
        SET state = 'done', leased_by = NULL, leased_until = NULL, finished_at = now(), updated_at = now()
        FROM unnest(%(ids)s::bigint[], %(claims)s::bigint[]) AS own (id, claim)
        WHERE j.id = own.id
            AND j.claim = own.claim
            AND j.leased_by = %(worker)s
            AND j.state = 'running'
        RETURNING own.id, own.claim
    """
    """Finish jobs, each by its owner only: a late finish changes nothing."""

    RETRY: ClassVar[LiteralString] = """
        UPDATE jobs AS j
        SET state = 'queued', leased_by = NULL, leased_until = NULL, last_error = %(error)s,
            run_at = now() + make_interval(secs => %(retry_in)s),
            turn = j.turn + (now() + make_interval(secs => %(retry_in)s) - j.run_at), updated_at = now()
        FROM unnest(%(ids)s::bigint[], %(claims)s::bigint[]) AS own (id, claim)
        WHERE j.id = own.id
            AND j.claim = own.claim
            AND j.leased_by = %(worker)s
            AND j.state = 'running'
        RETURNING own.id, own.claim
    """
    """Put a job whose attempt failed back into the queue, due after a delay, its turn as much later; by its owner only.

    Else what fails again and again would go before all that came after it.
    """

    FAIL: ClassVar[LiteralString] = """
        UPDATE jobs AS j
        SET state = 'failed', leased_by = NULL, leased_until = NULL, last_error = %(error)s,
            finished_at = now(), updated_at = now()
        FROM unnest(%(ids)s::bigint[], %(claims)s::bigint[]) AS own (id, claim)
        WHERE j.id = own.id
            AND j.claim = own.claim
            AND j.leased_by = %(worker)s
            AND j.state = 'running'
        RETURNING own.id, own.claim
    """
    """End a job that has failed for good; by its owner only."""

    RELEASE: ClassVar[LiteralString] = """
        UPDATE jobs AS j
        SET state = 'queued', leased_by = NULL, leased_until = NULL, attempt = j.attempt - 1, updated_at = now()
        FROM unnest(%(ids)s::bigint[], %(claims)s::bigint[]) AS own (id, claim)
        WHERE j.id = own.id
            AND j.claim = own.claim
            AND j.leased_by = %(worker)s
            AND j.state = 'running'
        RETURNING own.id, own.claim
    """
    """Put jobs back at once, each by its owner only. The attempt is given back, the claim number is not."""

    RECLAIM: ClassVar[LiteralString] = """
        WITH expired AS (
            SELECT id, claim FROM jobs
            WHERE state = 'running' AND leased_until < now() AND (%(only)s::bigint IS NULL OR id = %(only)s)
            ORDER BY id
            LIMIT %(limit)s
            FOR UPDATE SKIP LOCKED
        )
        UPDATE jobs AS j
        SET state = CASE WHEN j.attempt < j.max_attempts THEN 'queued' ELSE 'failed' END,
            finished_at = CASE WHEN j.attempt < j.max_attempts THEN NULL ELSE now() END,
            last_error = format('the lease of worker %%s expired in attempt %%s', j.leased_by, j.attempt),
            recovered = j.recovered + 1, leased_by = NULL, leased_until = NULL, updated_at = now()
        FROM expired
        WHERE j.id = expired.id
            AND j.claim = expired.claim
            AND j.state = 'running'
            AND j.leased_until < now()
        RETURNING j.id, j.state
    """
    """Take back jobs whose lease has expired: into the queue, or to `failed` when their attempts are spent."""

    EXPIRED: ClassVar[LiteralString] = """
        SELECT id FROM jobs WHERE state = 'running' AND leased_until < now() ORDER BY id LIMIT %(limit)s
    """
    """The jobs that RECLAIM would take back."""

    STATS: ClassVar[LiteralString] = metrics.STATS
    """What to watch."""

    def __init__(self, connection: psycopg.Connection[Any], aging: float = 60.0) -> None:
        """`aging`: how many seconds of waiting outweigh one point of priority; for enqueuers, the same in all."""
        self.connection = connection
        self.aging = aging
        self._place = Place()

    def install(self) -> None:
        """Create what is missing of the schema, in one transaction; see schema.install."""
        schema.install(self.connection, self.TABLE, self.LEASE_CHECK, self.LIVE_KEY, self.INDEXES)

    def enqueue(
        self,
        kind: str,
        payload: Any = None,
        *,
        queue: str = "default",
        priority: int = 0,
        delay: float = 0.0,
        max_attempts: int = 3,
        key: str | None = None,
        version: int = 1,
    ) -> int:
        """Put a job into the queue, due after `delay` seconds, and return its id. No payload means an empty object.

        Where a job of the same key is queued or running, nothing is put in, and the id is that job's.
        """
        body = {} if payload is None else payload
        return self.enqueue_many([NewJob(kind, body, queue, priority, delay, max_attempts, key, version)])[0]

    def enqueue_many(self, jobs: Sequence[NewJob]) -> list[int]:
        """Put jobs into the queue, in one statement, and return their ids in the order given.

        A job whose key is alive is not put in; its id is that of the job that is.
        """
        if not jobs:
            return []
        with self.connection.cursor(row_factory=tuple_row) as cursor:
            added = cursor.execute(self.ENQUEUE, self._columns(jobs)).fetchall()
            by_key = {key: id for id, key in added if key is not None}
            while missing := [job for job in jobs if job.key is not None and job.key not in by_key]:
                # Alive a moment ago; if it has ended by now, the key is free.
                keys = sorted({job.key for job in missing if job.key is not None})
                by_key |= {key: id for id, key in cursor.execute(self.ALIVE, {"keys": keys})}
                free = [job for job in missing if job.key not in by_key]
                if free:
                    by_key |= {key: id for id, key in cursor.execute(self.ENQUEUE, self._columns(free))}
        # The ids were drawn in the order given; the answer promises none.
        keyless = iter(sorted(id for id, key in added if key is None))
        return [next(keyless) if job.key is None else by_key[job.key] for job in jobs]

    def _columns(self, jobs: Sequence[NewJob]) -> dict[str, Any]:
        return {
            "kinds": texts([job.kind for job in jobs]),
            "payloads": texts([json.dumps(job.payload) for job in jobs]),
            "versions": numbers([job.version for job in jobs]),
            "keys": texts([job.key for job in jobs]),
            "queues": texts([job.queue for job in jobs]),
            "priorities": numbers([job.priority for job in jobs]),
            "delays": numbers([job.delay for job in jobs]),
            "max_attempts": numbers([job.max_attempts for job in jobs]),
            "aging": self.aging,
        }

    def claim(self, worker: str, limit: int, lease: float, queue: str = "default", version: int = 1) -> list[Job]:
        """Claim up to `limit` due jobs for `lease` seconds, in the order of their turns.

        Only payloads up to `version` are claimed. While the head of the queue is long to look at, claims go on where
        the last one ended, for ten times as long as a look takes, and a second at most: see place.py.
        """
        params = {"worker": worker, "limit": limit, "lease": lease, "queue": queue, "version": version}
        place = self._place.begin((queue, version))
        began = time.monotonic()
        with self.connection.cursor(row_factory=tuple_row) as cursor:
            rows = cursor.execute(self.CLAIM, {**params, **place}).fetchall()
            if not rows and place is not HEAD:
                rows = cursor.execute(self.CLAIM, {**params, **HEAD}).fetchall()
        # RETURNING promises no order.
        jobs = sorted(map(Job._make, rows), key=_by_turn)
        self._place.end({"turn": jobs[-1].turn, "id": jobs[-1].id} if len(jobs) == limit else None, began)
        return jobs

    def heartbeat(self, worker: str, held: Collection[Job], lease: float) -> set[Job]:
        """Renew the leases of the jobs held, to `lease` seconds from now.

        Returns those that were renewed; the worker has lost the others.
        """
        return self._for_owner(self.HEARTBEAT, worker, held, lease=lease)

    def complete(self, worker: str, jobs: Collection[Job]) -> set[Job]:
        """Finish jobs. Returns those whose finish was accepted; the others were lost before."""
        return self._for_owner(self.COMPLETE, worker, jobs)

    def fail(self, worker: str, job: Job, error: str, retry_in: float | None) -> bool:
        """End an attempt that failed, with the text of its error. Returns whether that was accepted.

        The job goes back into the queue, due in `retry_in` seconds. It is `failed` if `retry_in` is None, as no further
        attempt would help, or if this attempt was the last.
        """
        if retry_in is None or job.attempt >= job.max_attempts:
            return job in self._for_owner(self.FAIL, worker, [job], error=error)
        return job in self._for_owner(self.RETRY, worker, [job], error=error, retry_in=retry_in)

    def release(self, worker: str, jobs: Collection[Job]) -> set[Job]:
        """Put jobs back into the queue at once, as if they had not been tried. Returns those that were put back."""
        return self._for_owner(self.RELEASE, worker, jobs)

    def reclaim(self, limit: int = 1000) -> list[int]:
        """Take back up to `limit` jobs whose lease has expired. Returns the ids of those put back into the queue.

        A job whose attempts are spent becomes `failed` instead. One that the database refuses to change (by a trigger,
        or a constraint that came after it) is logged and left; it does not keep the others.
        """
        try:
            taken = self._take_back(limit)
        except psycopg.OperationalError:
            raise
        except psycopg.Error as error:
            _log.warning("a reclaim was refused as a whole (%s); taking back one by one", str(error).strip())
            taken = self.reclaim_each(limit)
        return sorted(job for job, state in taken if state == "queued")

    def reclaim_each(self, limit: int) -> list[tuple[int, str]]:
        """Take back jobs one by one, passing over those that the database refuses. Returns id and new state of each."""
        taken = []
        with self.connection.cursor(row_factory=scalar_row) as cursor:
            expired = cursor.execute(self.EXPIRED, {"limit": limit}).fetchall()
        for id in expired:
            try:
                taken += self._take_back(1, only=id)
            except psycopg.OperationalError:
                raise
            except psycopg.Error as error:
                _log.error("job %s can't be taken back: %s", id, str(error).strip())
        return taken

    def _take_back(self, limit: int, only: int | None = None) -> list[tuple[int, str]]:
        # A transaction, or a savepoint in the caller's: what is refused must not break the caller's.
        with self.connection.transaction(), self.connection.cursor(row_factory=tuple_row) as cursor:
            return cursor.execute(self.RECLAIM, {"limit": limit, "only": only}).fetchall()

    def stats(self) -> Stats:
        """The figures to watch."""
        with self.connection.cursor(row_factory=class_row(Stats)) as cursor:
            stats = cursor.execute(self.STATS).fetchone()
        assert stats is not None  # aggregates always make a row
        return stats

    def alarms(self, limits: Limits) -> list[str]:
        """The promises that are broken now, each in words; see metrics.alarms."""
        return metrics.alarms(self.stats(), limits)

    def _for_owner(self, statement: LiteralString, worker: str, jobs: Collection[Job], **more: Any) -> set[Job]:
        """Run a guarded statement over claims. Returns those that it was carried out for."""
        if not jobs:
            return set()
        # In the order of their ids, so that two statements over the same jobs hardly ever deadlock.
        ordered = sorted(jobs, key=_by_claim)
        own = {"ids": numbers([job.id for job in ordered]), "claims": numbers([job.claim for job in ordered])}
        with self.connection.cursor(row_factory=tuple_row) as cursor:
            cursor.execute(statement, {"worker": worker, **own, **more})
            if cursor.rowcount == len(ordered):
                return set(ordered)
            taken = set(cursor)
        return {job for job in ordered if (job.id, job.claim) in taken}
