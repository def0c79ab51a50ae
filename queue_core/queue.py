"""A job queue in one PostgreSQL table.

A worker *claims* a job and with it gets a *lease*: the job is `running`, and nobody else's, until the worker completes,
fails or releases it. While it works, its *heartbeat* renews the lease. A worker that died does not: its lease expires,
and a *reclaim* puts the job back. It is the state that holds the job; expiry only allows the reclaim.

Each claim of a job has a number, one higher than the last. It is the *fence*: whatever a worker asks for a job it asks
for its own claim, and a claim that is over is refused, whoever made it.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources import files
from typing import Any, ClassVar, LiteralString, cast

import psycopg
from psycopg.rows import class_row, scalar_row, tuple_row
from psycopg.types.json import Jsonb


@dataclass(frozen=True)
class NewJob:
    """A job to be enqueued."""

    kind: str
    payload: Any = field(default_factory=dict)
    """Anything that JSON can hold."""
    queue: str = "default"
    priority: int = 0
    """Higher goes first."""
    delay: float = 0.0
    """Seconds before it may be claimed."""
    max_attempts: int = 3


@dataclass(frozen=True)
class Job:
    """One claim of a job. Two are equal if they are the same claim of the same job."""

    id: int
    claim: int
    """The claim number, by which the worker's later statements are fenced."""
    queue: str = field(compare=False)
    kind: str = field(compare=False)
    payload: Any = field(compare=False)
    priority: int = field(compare=False)
    run_at: datetime = field(compare=False)
    """When the job became due."""
    attempt: int = field(compare=False)
    """Counted from 1, this one included."""
    max_attempts: int = field(compare=False)


@dataclass(frozen=True)
class Stats:
    """What the table says of the whole queue at one moment."""

    depth: int
    """Jobs queued, due or not."""
    running: int
    failed: int
    oldest: float | None
    """Seconds since the longest-waiting queued job was due; None when none is due."""
    expired: int
    """Jobs running with an expired lease. More than a passing one means that nobody reclaims."""


def _blocks(sql: str) -> dict[str, LiteralString]:
    """The blocks of schema.sql by name."""
    parts = re.split(r"^-- name: (\w+)\n", sql, flags=re.MULTILINE)
    return dict(zip(parts[1::2], cast(list[LiteralString], parts[2::2]), strict=True))


_SCHEMA = _blocks(files(__package__).joinpath("schema.sql").read_text("utf-8"))


class Queue:
    """The queue's statements, and an operation for each.

    The connection may be in autocommit mode or inside the caller's transaction; no operation commits, and each but
    install() is one statement. All times are the database's. A lease is granted from clock_timestamp() and judged
    expired by now(), the start of the transaction: within a long transaction both favour the owner.

    Every operation raises psycopg.Error as the connection does.
    """

    TABLE: ClassVar[LiteralString] = _SCHEMA["table"]
    """The table."""

    LEASE_CHECK: ClassVar[LiteralString] = _SCHEMA["lease_check"]
    """The constraint that a job is leased exactly while it is running."""

    INDEXES: ClassVar[LiteralString] = _SCHEMA["indexes"]
    """The indexes of claim and reclaim."""

    ENQUEUE: ClassVar[LiteralString] = """
        INSERT INTO jobs (kind, payload, queue, priority, run_at, max_attempts)
        SELECT kind, payload, queue, priority, now() + make_interval(secs => delay), max_attempts
        FROM unnest(
            %(kinds)s::text[], %(payloads)s::jsonb[], %(queues)s::text[],
            %(priorities)s::int[], %(delays)s::float8[], %(max_attempts)s::int[]
        ) WITH ORDINALITY AS new (kind, payload, queue, priority, delay, max_attempts, position)
        ORDER BY position
        RETURNING id
    """
    """Put jobs into the queue, numbered in the order given."""

    # ANY(ARRAY(...)) runs the selection once. With IN (...) the planner may run it again for each row, and then the
    # statement claims more than its limit.
    CLAIM: ClassVar[LiteralString] = """
        UPDATE jobs
        SET state = 'running', attempt = attempt + 1, claim = claim + 1, leased_by = %(worker)s,
            leased_until = clock_timestamp() + make_interval(secs => %(lease)s), updated_at = now()
        WHERE id = ANY (ARRAY(
            SELECT id FROM jobs
            WHERE state = 'queued' AND queue = %(queue)s AND run_at <= now()
            ORDER BY priority DESC, run_at, id
            LIMIT %(limit)s
            FOR UPDATE SKIP LOCKED
        ))
        RETURNING id, claim, queue, kind, payload, priority, run_at, attempt, max_attempts
    """
    """Take the first due jobs, in one statement, passing over those that another claimer is just taking."""

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
            run_at = now() + make_interval(secs => %(retry_in)s), updated_at = now()
        FROM unnest(%(ids)s::bigint[], %(claims)s::bigint[]) AS own (id, claim)
        WHERE j.id = own.id
            AND j.claim = own.claim
            AND j.leased_by = %(worker)s
            AND j.state = 'running'
        RETURNING own.id, own.claim
    """
    """Put a job whose attempt failed back into the queue, due after a delay; by its owner only."""

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
            WHERE state = 'running' AND leased_until < now()
            ORDER BY id
            LIMIT %(limit)s
            FOR UPDATE SKIP LOCKED
        )
        UPDATE jobs AS j
        SET state = CASE WHEN j.attempt < j.max_attempts THEN 'queued' ELSE 'failed' END,
            finished_at = CASE WHEN j.attempt < j.max_attempts THEN NULL ELSE now() END,
            last_error = format('the lease of worker %%s expired in attempt %%s', j.leased_by, j.attempt),
            leased_by = NULL, leased_until = NULL, updated_at = now()
        FROM expired
        WHERE j.id = expired.id
            AND j.claim = expired.claim
            AND j.state = 'running'
            AND j.leased_until < now()
        RETURNING j.id, j.state
    """
    """Take back jobs whose lease has expired: into the queue, or to `failed` when their attempts are spent."""

    STATS: ClassVar[LiteralString] = """
        SELECT
            (SELECT count(*) FROM jobs WHERE state = 'queued') AS depth,
            (SELECT count(*) FROM jobs WHERE state = 'running') AS running,
            (SELECT count(*) FROM jobs WHERE state = 'failed') AS failed,
            (SELECT extract(epoch FROM now() - min(run_at))::float8
             FROM jobs WHERE state = 'queued' AND run_at <= now()) AS oldest,
            (SELECT count(*) FROM jobs WHERE state = 'running' AND leased_until < now()) AS expired
    """
    """What to watch."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection

    def install(self) -> None:
        """Create what is missing of the schema, in one transaction.

        It may be run again, and by several processes at once.
        """
        # Several statements sent as one are one transaction: their own, or the caller's. The lock makes concurrent
        # installs queue up, since IF NOT EXISTS alone lets two of them collide.
        lock: LiteralString = "SELECT pg_advisory_xact_lock(hashtextextended('queue_core.install', 0))"
        self.connection.execute(";\n".join([lock, self.TABLE, self.LEASE_CHECK, self.INDEXES]))

    def enqueue(
        self,
        kind: str,
        payload: Any = None,
        *,
        queue: str = "default",
        priority: int = 0,
        delay: float = 0.0,
        max_attempts: int = 3,
    ) -> int:
        """Put a job into the queue, due after `delay` seconds, and return its id. No payload means an empty object."""
        body = {} if payload is None else payload
        return self.enqueue_many([NewJob(kind, body, queue, priority, delay, max_attempts)])[0]

    def enqueue_many(self, jobs: Sequence[NewJob]) -> list[int]:
        """Put jobs into the queue, in one statement, and return their ids in the order given."""
        if not jobs:
            return []
        params = {
            "kinds": [job.kind for job in jobs],
            "payloads": [Jsonb(job.payload) for job in jobs],
            "queues": [job.queue for job in jobs],
            "priorities": [job.priority for job in jobs],
            "delays": [float(job.delay) for job in jobs],
            "max_attempts": [job.max_attempts for job in jobs],
        }
        with self.connection.cursor(row_factory=scalar_row) as cursor:
            # The ids were drawn in the order given; RETURNING promises none.
            return sorted(cursor.execute(self.ENQUEUE, params))

    def claim(self, worker: str, limit: int, lease: float, queue: str = "default") -> list[Job]:
        """Claim up to `limit` due jobs for `lease` seconds: highest priority first, then longest due, then oldest."""
        params = {"worker": worker, "limit": limit, "lease": lease, "queue": queue}
        with self.connection.cursor(row_factory=class_row(Job)) as cursor:
            jobs = cursor.execute(self.CLAIM, params).fetchall()
        # RETURNING promises no order.
        return sorted(jobs, key=lambda job: (-job.priority, job.run_at, job.id))

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

        A job whose attempts are spent becomes `failed` instead.
        """
        with self.connection.cursor(row_factory=tuple_row) as cursor:
            taken = cursor.execute(self.RECLAIM, {"limit": limit}).fetchall()
        return sorted(job for job, state in taken if state == "queued")

    def stats(self) -> Stats:
        """The figures to watch."""
        with self.connection.cursor(row_factory=class_row(Stats)) as cursor:
            stats = cursor.execute(self.STATS).fetchone()
        assert stats is not None  # aggregates always make a row
        return stats

    def _for_owner(self, statement: LiteralString, worker: str, jobs: Collection[Job], **more: Any) -> set[Job]:
        """Run a guarded statement over claims. Returns those that it was carried out for."""
        if not jobs:
            return set()
        # In the order of their ids, so that two statements over the same jobs hardly ever deadlock.
        ordered = sorted(jobs, key=lambda job: (job.id, job.claim))
        params = {"worker": worker, "ids": [job.id for job in ordered], "claims": [job.claim for job in ordered]}
        with self.connection.cursor(row_factory=tuple_row) as cursor:
            taken = set(cursor.execute(statement, params | more))
        return {job for job in ordered if (job.id, job.claim) in taken}
