"""The statements, one by one."""

import random
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg.rows import dict_row

from queue_core import Backoff, Job, NewJob, Queue
from queue_core.place import HEAD
from tests.core.helpers import expire, row

LONG = 600.0
"""A lease that does not expire within a test."""
SHORT = 0.02
"""A lease that expires at once."""


def claim(queue: Queue, worker: str = "a", lease: float = LONG) -> Job:
    (job,) = queue.claim(worker, 1, lease)
    return job


@contextmanager
def locked(dsn: str, job: int) -> Iterator[None]:
    """Somebody else's transaction holds a lock on the row meanwhile."""
    with psycopg.connect(dsn) as other:
        other.execute("SELECT FROM jobs WHERE id = %s FOR UPDATE", [job])
        yield


class TestInstall:
    def test_twice(self, queue: Queue) -> None:
        job = queue.enqueue("mail")
        queue.install()
        assert claim(queue).id == job

    def test_by_many_at_once(self, empty_dsn: str) -> None:
        barrier = threading.Barrier(4)
        errors: list[BaseException] = []

        def install() -> None:
            try:
                with psycopg.connect(empty_dsn, autocommit=True) as connection:
                    barrier.wait(10)
                    Queue(connection).install()
            except Exception as error:  # noqa: BLE001 - shown by the assertion
                errors.append(error)

        threads = [threading.Thread(target=install) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []

    def test_in_the_callers_transaction(self, empty_dsn: str) -> None:
        with psycopg.connect(empty_dsn) as connection:
            Queue(connection).install()
            connection.rollback()
            assert connection.execute("SELECT to_regclass('jobs')").fetchone() == (None,)

    @pytest.mark.parametrize("state", ["queued", "running", "done", "failed"])
    @pytest.mark.parametrize("until", ["now()", "NULL"])
    @pytest.mark.parametrize("by", ["'a'", "NULL"])
    def test_lease_check(
        self, connection: psycopg.Connection[Any], state: LiteralString, until: LiteralString, by: LiteralString
    ) -> None:
        leased = [until != "NULL", by != "NULL"]
        sql: LiteralString = (
            f"INSERT INTO jobs (kind, state, leased_until, leased_by) VALUES ('x', '{state}', {until}, {by})"
        )
        if leased == [state == "running"] * 2:
            connection.execute(sql)
        else:
            with pytest.raises(psycopg.errors.CheckViolation, match="jobs_lease_check"):
                connection.execute(sql)

    def test_other_checks(self, connection: psycopg.Connection[Any], queue: Queue) -> None:
        with pytest.raises(psycopg.errors.CheckViolation, match="jobs_state_check"):
            connection.execute("INSERT INTO jobs (kind, state) VALUES ('x', 'stuck')")
        with pytest.raises(psycopg.errors.CheckViolation, match="jobs_max_attempts_check"):
            queue.enqueue("x", max_attempts=0)


class TestEnqueue:
    def test_defaults(self, queue: Queue) -> None:
        job = row(queue, queue.enqueue("mail"))
        assert {key: job[key] for key in ("queue", "kind", "payload", "state", "priority", "attempt", "claim")} == {
            "queue": "default",
            "kind": "mail",
            "payload": {},
            "state": "queued",
            "priority": 0,
            "attempt": 0,
            "claim": 0,
        }
        assert job["run_at"] == job["created_at"]

    def test_many_in_order(self, queue: Queue) -> None:
        payloads = [None, [1, 'a "quoted" text'], {"deep": {"er": True}}, "text", 4.5]
        ids = queue.enqueue_many([NewJob(f"kind-{n}", payload) for n, payload in enumerate(payloads)])
        assert ids == sorted(ids)
        assert [(row(queue, job)["kind"], row(queue, job)["payload"]) for job in ids] == [
            (f"kind-{n}", payload) for n, payload in enumerate(payloads)
        ]

    def test_none(self, queue: Queue) -> None:
        assert queue.enqueue_many([]) == []

    def test_rolls_back_with_the_caller(self, dsn: str, queue: Queue) -> None:
        with psycopg.connect(dsn) as connection:
            Queue(connection).enqueue("mail")
            connection.rollback()
        assert queue.stats().depth == 0


class TestClaim:
    def test_what_it_gives_and_writes(self, queue: Queue) -> None:
        job = queue.enqueue("mail", {"to": "ada"}, priority=3, max_attempts=5)
        got = claim(queue, "a")
        assert (got.id, got.kind, got.payload, got.priority, got.attempt, got.max_attempts, got.claim) == (
            job,
            "mail",
            {"to": "ada"},
            3,
            1,
            5,
            1,
        )
        now = row(queue, job)
        assert (now["state"], now["leased_by"], now["expired"]) == ("running", "a", False)

    def test_order(self, queue: Queue) -> None:
        low, early, late, high = queue.enqueue_many(
            [NewJob("x", priority=-1), NewJob("x"), NewJob("x"), NewJob("x", priority=1)]
        )
        assert [job.id for job in queue.claim("a", 10, LONG)] == [high, early, late, low]

    def test_limit(self, queue: Queue) -> None:
        ids = queue.enqueue_many([NewJob("x")] * 3)
        assert [job.id for job in queue.claim("a", 2, LONG)] == ids[:2]

    def test_never_more_than_the_limit_with_stale_statistics(self, queue: Queue) -> None:
        queue.enqueue("x")
        queue.connection.execute("ANALYZE jobs")
        queue.enqueue_many([NewJob("x")] * 40)
        assert len(queue.claim("a", 1, LONG)) == 1

    def test_not_before_it_is_due(self, queue: Queue) -> None:
        queue.enqueue("x", delay=60)
        assert queue.claim("a", 1, LONG) == []

    def test_only_its_queue(self, queue: Queue) -> None:
        job = queue.enqueue("x", queue="slow")
        assert queue.claim("a", 1, LONG) == []
        assert [got.id for got in queue.claim("a", 1, LONG, "slow")] == [job]

    def test_passes_over_a_locked_job(self, dsn: str, queue: Queue) -> None:
        first, second = queue.enqueue_many([NewJob("x")] * 2)
        with locked(dsn, first):
            assert [job.id for job in queue.claim("a", 1, LONG)] == [second]

    def test_an_expired_lease_alone_frees_nothing(self, queue: Queue) -> None:
        job = queue.enqueue("x")
        claim(queue, lease=SHORT)
        expire(queue, job)
        assert queue.claim("b", 1, LONG) == []

    def test_eight_at_once_get_each_job_once(self, dsn: str, queue: Queue) -> None:
        ids = queue.enqueue_many([NewJob("x")] * 100)
        barrier, got = threading.Barrier(8), list[int]()

        def work(queue: Queue, name: str) -> None:
            barrier.wait(10)
            while jobs := queue.claim(name, 3, LONG):
                got.extend(job.id for job in jobs)

        with ExitStack() as stack:
            queues = [Queue(stack.enter_context(psycopg.connect(dsn, autocommit=True))) for _ in range(8)]
            threads = [threading.Thread(target=work, args=(q, f"w{n}")) for n, q in enumerate(queues)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert sorted(got) == ids

    def test_reads_by_the_index_whatever_the_history(self, queue: Queue) -> None:
        queue.connection.execute("INSERT INTO jobs (kind, state) SELECT 'x', 'done' FROM generate_series(1, 5000)")
        queue.enqueue("x")
        queue.connection.execute("ANALYZE jobs")
        params = {"worker": "a", "limit": 1, "lease": LONG, "queue": "default", "version": 1, **HEAD}
        plan = queue.connection.execute("EXPLAIN " + Queue.CLAIM, params).fetchall()
        assert "jobs_ready" in str(plan)
        assert "Seq Scan" not in str(plan)


class TestOwner:
    """Each statement of an owner is refused to all others, and to the owner once its claim is over."""

    def over(self, queue: Queue) -> Job:
        """A claim that was released, after which the same worker claimed the job again."""
        queue.enqueue("x", max_attempts=9)
        stale = claim(queue)
        assert queue.release("a", [stale]) == {stale}
        assert claim(queue).claim == stale.claim + 1
        return stale

    def test_heartbeat(self, queue: Queue) -> None:
        jobs = [queue.enqueue("x"), queue.enqueue("x")]
        held = queue.claim("a", 2, LONG)
        before = [row(queue, job)["leased_until"] for job in jobs]
        assert queue.heartbeat("a", held, 2 * LONG) == set(held)
        assert all(row(queue, job)["leased_until"] > until for job, until in zip(jobs, before, strict=True))

    def test_heartbeat_of_an_expired_lease_that_nobody_reclaimed(self, queue: Queue) -> None:
        queue.enqueue("x")
        job = claim(queue, lease=SHORT)
        expire(queue, job.id)
        assert queue.heartbeat("a", [job], LONG) == {job}
        assert not row(queue, job.id)["expired"]

    def test_heartbeat_tells_two_claims_of_one_job_apart(self, queue: Queue) -> None:
        stale = self.over(queue)
        (own,) = [stale._replace(claim=stale.claim + 1)]
        assert queue.heartbeat("a", [stale, own], LONG) == {own}

    def test_complete(self, queue: Queue) -> None:
        queue.enqueue_many([NewJob("x")] * 2)
        jobs = queue.claim("a", 2, LONG)
        assert queue.complete("a", jobs) == set(jobs)
        assert [row(queue, job.id)["state"] for job in jobs] == ["done", "done"]
        assert row(queue, jobs[0].id)["finished_at"]
        assert queue.complete("a", jobs) == set()

    @pytest.mark.parametrize("worker", ["a", "b"])
    def test_refused(self, queue: Queue, worker: str) -> None:
        stale = self.over(queue)
        before = row(queue, stale.id)
        assert queue.heartbeat(worker, [stale], LONG) == set()
        assert queue.complete(worker, [stale]) == set()
        assert queue.release(worker, [stale]) == set()
        assert not queue.fail(worker, stale, "late", retry_in=0)
        assert not queue.fail(worker, stale, "late", retry_in=None)
        assert row(queue, stale.id) == before

    def test_refused_to_another_with_the_same_claim(self, queue: Queue) -> None:
        queue.enqueue("x")
        job = claim(queue)
        assert queue.complete("b", [job]) == set()
        assert queue.complete("a", [job]) == {job}

    def test_nothing(self, queue: Queue) -> None:
        assert queue.complete("a", []) == set()

    def test_fail_and_retry(self, queue: Queue) -> None:
        queue.enqueue("x", max_attempts=2)
        assert queue.fail("a", claim(queue), "first", retry_in=0)
        second = claim(queue)
        assert second.attempt == 2
        assert queue.fail("a", second, "second", retry_in=0)
        end = row(queue, second.id)
        assert (end["state"], end["last_error"], end["attempt"]) == ("failed", "second", 2)
        assert end["finished_at"]

    def test_fail_waits(self, queue: Queue) -> None:
        queue.enqueue("x")
        job = claim(queue)
        assert queue.fail("a", job, "try later", retry_in=60)
        now = row(queue, job.id)
        assert now["state"] == "queued"
        assert 59 < (now["run_at"] - now["updated_at"]).total_seconds() <= 60
        assert queue.claim("a", 1, LONG) == []

    def test_fail_for_good(self, queue: Queue) -> None:
        queue.enqueue("x")
        job = claim(queue)
        assert queue.fail("a", job, "hopeless", retry_in=None)
        assert (row(queue, job.id)["state"], row(queue, job.id)["attempt"]) == ("failed", 1)

    def test_release(self, queue: Queue) -> None:
        queue.enqueue("x", max_attempts=1)
        job = claim(queue)
        assert queue.release("a", [job]) == {job}
        now = row(queue, job.id)
        assert (now["state"], now["attempt"], now["claim"]) == ("queued", 0, 1)
        assert claim(queue).attempt == 1


class TestReclaim:
    def test_not_while_the_lease_lasts(self, queue: Queue) -> None:
        queue.enqueue("x")
        claim(queue)
        assert queue.reclaim() == []

    def test_back_into_the_queue(self, queue: Queue) -> None:
        queue.enqueue("x")
        job = claim(queue, lease=SHORT)
        expire(queue, job.id)
        assert queue.reclaim() == [job.id]
        now = row(queue, job.id)
        assert (now["state"], now["attempt"], now["claim"], now["run_at"]) == ("queued", 1, 1, job.run_at)
        assert "worker a" in now["last_error"]
        again = claim(queue, "b")
        assert (again.attempt, again.claim) == (2, 2)

    def test_failed_when_attempts_are_spent(self, queue: Queue) -> None:
        queue.enqueue("x", max_attempts=1)
        job = claim(queue, lease=SHORT)
        expire(queue, job.id)
        assert queue.reclaim() == []
        now = row(queue, job.id)
        assert (now["state"], now["leased_by"]) == ("failed", None)
        assert now["last_error"]
        assert now["finished_at"]

    def test_limit_and_locked_rows(self, dsn: str, queue: Queue) -> None:
        ids = queue.enqueue_many([NewJob("x")] * 3)
        queue.claim("a", 3, SHORT)
        for job in ids:
            expire(queue, job)
        with locked(dsn, ids[0]):
            assert queue.reclaim(limit=1) == [ids[1]]
        assert queue.reclaim() == [ids[0], ids[2]]


def test_any_row_factory(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        queue = Queue(connection)
        queue.enqueue("x")
        job = claim(queue)
        assert queue.heartbeat("a", [job], LONG) == queue.complete("a", [job]) == {job}
        assert queue.reclaim() == []
        assert queue.stats().depth == 0


def test_a_whole_life_in_one_transaction(dsn: str, queue: Queue) -> None:
    with psycopg.connect(dsn) as connection:
        own = Queue(connection)
        own.enqueue("x")
        job = claim(own)
        assert own.complete("a", [job]) == {job}
        assert queue.stats().depth == 0
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        connection.rollback()


class TestBackoff:
    def test_bounds(self) -> None:
        backoff = Backoff(base=2, cap=60)
        assert [backoff.bound(attempt) for attempt in (1, 2, 3, 5, 6, 10_000)] == [2, 4, 8, 32, 60, 60]

    def test_full_jitter(self) -> None:
        delays = [Backoff(base=2, cap=60, rng=random.Random(seed)).delay(3) for seed in range(200)]
        assert all(0 <= delay <= 8 for delay in delays)
        assert min(delays) < 1
        assert max(delays) > 7

    def test_repeats_with_its_seed(self) -> None:
        one, two = (Backoff(rng=random.Random(7)) for _ in range(2))
        assert [one.delay(n) for n in range(5)] == [two.delay(n) for n in range(5)]

    @pytest.mark.parametrize(("base", "cap"), [(0, 1), (-1, 1), (2, 1)])
    def test_nonsense(self, base: float, cap: float) -> None:
        with pytest.raises(ValueError, match="backoff"):
            Backoff(base, cap)
