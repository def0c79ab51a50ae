"""Old jobs go in batches, oldest first; all others stay."""

import threading
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, ClassVar, LiteralString

import psycopg
import pytest
from psycopg.rows import scalar_row

from queue_core import Queue, Retention, Schedule, Scheduler
from queue_core.scheduler import LONGEST_CATCH_UP
from tests.core.helpers import row

HOUR = 3600.0


class Never(Retention):
    def purge(self) -> int:
        return 0


class AllAtOnce(Retention):
    PURGE: ClassVar[LiteralString] = Retention.PURGE.replace("LIMIT %(batch)s", "")


class FailedAsWell(Retention):
    PURGE: ClassVar[LiteralString] = Retention.PURGE.replace("= %(state)s", "IN ('done', 'failed')")


def ended(queue: Queue, state: str, *hours: float) -> list[int]:
    """Jobs that came to an end so many hours ago."""
    with queue.connection.cursor(row_factory=scalar_row) as cursor:
        return list(
            cursor.execute(
                "INSERT INTO jobs (kind, state, finished_at)"
                " SELECT 'x', %s, now() - make_interval(secs => age * 3600)"
                " FROM unnest(%s::float8[]) WITH ORDINALITY AS ages (age, position) ORDER BY position RETURNING id",
                [state, [float(age) for age in hours]],
            )
        )


def left(queue: Queue) -> list[int]:
    with queue.connection.cursor(row_factory=scalar_row) as cursor:
        return list(cursor.execute("SELECT id FROM jobs ORDER BY id"))


def watch_deletes(queue: Queue) -> None:
    """Note each deleted job with its transaction, in the order of their deletion."""
    queue.connection.execute("""
        CREATE TABLE deleted (position bigint GENERATED ALWAYS AS IDENTITY, transaction xid8, finished_at timestamptz);
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO deleted (transaction, finished_at) VALUES (pg_current_xact_id(), OLD.finished_at);
            RETURN NULL;
        END
        $$;
        CREATE TRIGGER note AFTER DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION note();
    """)


def batches(queue: Queue) -> list[int]:
    """How many jobs each transaction deleted, in their order."""
    with queue.connection.cursor(row_factory=scalar_row) as cursor:
        return list(cursor.execute("SELECT count(*) FROM deleted GROUP BY transaction ORDER BY min(position)"))


def test_only_what_is_done_and_old_enough(queue: Queue) -> None:
    ended(queue, "done", 3, 2.1)
    kept = [*ended(queue, "done", 1.9, 0), *ended(queue, "failed", 9000), queue.enqueue("x"), queue.enqueue("x")]
    queue.claim("a", 1, 60)
    assert Retention(queue.connection, done_after=2 * HOUR).purge() == 2
    assert left(queue) == kept


def test_what_a_worker_has_just_done(queue: Queue) -> None:
    job = queue.enqueue("x")
    queue.complete("a", queue.claim("a", 1, 60))
    assert Retention(queue.connection, done_after=HOUR).purge() == 0
    assert row(queue, job)["state"] == "done"
    assert Retention(queue.connection, done_after=0).purge() == 1


def test_failed_jobs_stay_as_long_as_told(queue: Queue) -> None:
    fresh, _ = ended(queue, "failed", 4.9, 5.1)
    done, _ = ended(queue, "done", 0.9, 1.1)
    assert Retention(queue.connection, done_after=HOUR, failed_after=5 * HOUR).purge() == 2
    assert left(queue) == [fresh, done]


def test_bounded_batches_oldest_first_each_a_transaction(queue: Queue) -> None:
    ended(queue, "done", *(1 + n * 7 % 25 for n in range(25)))
    ended(queue, "failed", *range(1, 6))
    watch_deletes(queue)
    assert Retention(queue.connection, done_after=0, failed_after=0, batch=10).purge() == 30
    assert batches(queue) == [10, 10, 5, 5]
    done = queue.connection.execute("SELECT finished_at FROM deleted ORDER BY position LIMIT 25").fetchall()
    assert all(max(older) < min(younger) for older, younger in pairwise([done[:10], done[10:20], done[20:]]))


@pytest.mark.parametrize("rows", [0, 10, 20])
def test_full_batches_only(queue: Queue, rows: int) -> None:
    ended(queue, "done", *[1] * rows)
    assert Retention(queue.connection, done_after=0, batch=10).purge() == rows
    assert left(queue) == []


def test_passes_over_a_locked_job(dsn: str, queue: Queue) -> None:
    held, *_ = ended(queue, "done", 3, 2, 1)
    retention = Retention(queue.connection, done_after=0, batch=2)
    queue.connection.execute("SET lock_timeout = '10s'")
    with psycopg.connect(dsn) as other:
        other.execute("SELECT FROM jobs WHERE id = %s FOR UPDATE", [held])
        assert retention.purge() == 2
        assert left(queue) == [held]
    assert retention.purge() == 1


def test_two_at_once(dsn: str, queue: Queue) -> None:
    ended(queue, "done", *[1] * 400)
    watch_deletes(queue)
    barrier, counts = threading.Barrier(2), list[int]()

    def purge() -> None:
        with psycopg.connect(dsn, autocommit=True) as connection:
            barrier.wait(10)
            counts.append(Retention(connection, done_after=0, batch=20).purge())

    threads = [threading.Thread(target=purge) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # One may pass over all that the other is just deleting, and be done; together they leave nothing.
    assert sum(counts) == sum(batches(queue)) == 400
    assert left(queue) == []


def test_reads_by_the_index_whatever_the_history(queue: Queue) -> None:
    queue.connection.execute(
        "INSERT INTO jobs (kind, state, finished_at)"
        " SELECT 'x', 'done', now() - make_interval(hours => n) FROM generate_series(1, 5000) AS n"
    )
    queue.connection.execute("ANALYZE jobs")
    params = {"state": "done", "after": HOUR, "batch": 10}
    plan = str(queue.connection.execute("EXPLAIN " + Retention.PURGE, params, prepare=False).fetchall())
    assert "jobs_ended" in plan
    assert "Seq Scan" not in plan
    assert "Sort" not in plan


def test_ticks_go_once_no_scheduler_can_catch_up_with_them(dsn: str, queue: Queue) -> None:
    Scheduler.install(queue.connection)
    days = LONGEST_CATCH_UP / 86_400
    queue.connection.execute(
        "INSERT INTO ticks (schedule, tick, job) SELECT 'x', now() - make_interval(secs => day * 86400), 1"
        " FROM unnest(%s) AS day",
        [[0.1, days, days * 1.9, days * 2.1, 30.0]],
    )
    assert Retention(queue.connection, done_after=10 * 86_400.0, batch=1).purge() == 0
    assert queue.connection.execute("SELECT FROM ticks").rowcount == 4
    Retention(queue.connection, done_after=0, batch=1).purge()
    assert queue.connection.execute("SELECT FROM ticks").rowcount == 3


def test_schedules_need_not_be_installed(queue: Queue) -> None:
    assert Retention(queue.connection, done_after=0).purge() == 0


def test_a_fired_ticks_job_may_go_before_its_tick(dsn: str, queue: Queue) -> None:
    Scheduler.install(queue.connection)
    schedule = Schedule("hourly", "x", every=HOUR)
    scheduler = Scheduler(dsn, [schedule])
    tick = datetime.now(UTC)
    try:
        assert scheduler.fire(schedule, tick)
        queue.complete("a", queue.claim("a", 1, 60))
        assert Retention(queue.connection, done_after=0).purge() == 1
        assert not scheduler.fire(schedule, tick)
    finally:
        scheduler.stop()
        assert scheduler.run() == 0


@pytest.mark.parametrize(
    "options", [{"done_after": -1}, {"done_after": 1, "failed_after": -1}, {"done_after": 1, "batch": 0}]
)
def test_nonsense(connection: psycopg.Connection[Any], options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="need "):
        Retention(connection, **options)


def test_needs_autocommit(dsn: str) -> None:
    with psycopg.connect(dsn) as connection, pytest.raises(ValueError, match="autocommit"):
        Retention(connection, done_after=0)


class TestTwins:
    @pytest.mark.parametrize("twin", [Never, AllAtOnce, FailedAsWell])
    def test_one_member_each(self, twin: type) -> None:
        (own,) = {name for name in vars(twin) if not name.startswith("__")}
        assert getattr(twin, own) != getattr(Retention, own)

    def test_none(self, queue: Queue) -> None:
        old = ended(queue, "done", 1)
        assert Never(queue.connection, done_after=0).purge() == 0
        assert left(queue) == old

    def test_in_one_statement(self, queue: Queue) -> None:
        ended(queue, "done", *range(1, 26))
        watch_deletes(queue)
        assert AllAtOnce(queue.connection, done_after=0, batch=10).purge() == 25
        assert batches(queue) == [25]

    def test_failed_ones_as_well(self, queue: Queue) -> None:
        ended(queue, "failed", 1)
        FailedAsWell(queue.connection, done_after=0).purge()
        assert left(queue) == []
