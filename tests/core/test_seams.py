"""Each mechanism is one member: a subclass that overrides it, and nothing else, lacks the mechanism."""

import threading
from contextlib import closing
from typing import Any, ClassVar, LiteralString

import psycopg
import pytest
from psycopg.rows import class_row, scalar_row

from queue_core import DRAINED, Job, NewJob, Queue, Worker
from tests.core.helpers import Recorder, Running, Stage, eventually, expire, row, running

LONG = 600.0
SHORT = 0.02


class ReclaimsNothing(Queue):
    def reclaim(self, limit: int = 1000) -> list[int]:
        return []


class LooksAtTheLease(Queue):
    CLAIM: ClassVar[LiteralString] = Queue.CLAIM.replace(
        "state = 'queued'", "state NOT IN ('done', 'failed') AND (leased_until IS NULL OR leased_until < now())"
    )


class HoldsARowLock(Queue):
    def claim(self, worker: str, limit: int, lease: float, queue: str = "default", version: int = 1) -> list[Job]:
        self.connection.execute("COMMIT")
        self.connection.execute("BEGIN")
        return super().claim(worker, limit, lease, queue, version)


class SelectsThenUpdates(Queue):
    def claim(self, worker: str, limit: int, lease: float, queue: str = "default", version: int = 1) -> list[Job]:
        with self.connection.cursor(row_factory=scalar_row) as cursor:
            ids = list(
                cursor.execute(
                    "SELECT id FROM jobs WHERE state = 'queued' AND queue = %s AND run_at <= now()"
                    " ORDER BY turn, id LIMIT %s",
                    [queue, limit],
                )
            )
        between()
        with self.connection.cursor(row_factory=class_row(Job)) as cursor:
            return cursor.execute(
                "UPDATE jobs SET state = 'running', attempt = attempt + 1, claim = claim + 1, leased_by = %s,"
                " leased_until = clock_timestamp() + make_interval(secs => %s), updated_at = now() WHERE id = ANY (%s)"
                " RETURNING id, claim, queue, kind, payload, version, priority, run_at, turn, attempt, max_attempts",
                [worker, lease, ids],
            ).fetchall()


def between() -> None:
    """What happens between the two steps of SelectsThenUpdates; set by the test."""


class CompletesForAnyone(Queue):
    COMPLETE: ClassVar[LiteralString] = (
        Queue.COMPLETE.replace("AND j.claim = own.claim", "")
        .replace("AND j.leased_by = %(worker)s", "")
        .replace("AND j.state = 'running'", "")
    )


class CompletesByName(Queue):
    COMPLETE: ClassVar[LiteralString] = Queue.COMPLETE.replace("AND j.claim = own.claim", "")


class RenewsForAnyone(Queue):
    HEARTBEAT: ClassVar[LiteralString] = Queue.HEARTBEAT.replace("AND j.claim = own.claim", "").replace(
        "AND j.leased_by = %(worker)s", ""
    )


class NoLeaseCheck(Queue):
    LEASE_CHECK: ClassVar[LiteralString] = ""


class KeepsTheAttempt(Queue):
    RELEASE: ClassVar[LiteralString] = Queue.RELEASE.replace("attempt = j.attempt - 1, ", "")


class LeavesExhausted(Queue):
    RECLAIM: ClassVar[LiteralString] = Queue.RECLAIM.replace(
        "leased_until < now() AND (", "leased_until < now() AND attempt < max_attempts AND ("
    )


UNLOCKED: LiteralString = Queue.RECLAIM.replace("FOR UPDATE SKIP LOCKED", "").replace("AND j.leased_until < now()", "")


class ReclaimsWithoutStateGuard(Queue):
    RECLAIM: ClassVar[LiteralString] = UNLOCKED.replace("AND j.state = 'running'", "")


class ReclaimsWithoutClaimGuard(Queue):
    RECLAIM: ClassVar[LiteralString] = UNLOCKED.replace("AND j.claim = expired.claim", "")


class NeverRenews(Worker):
    def renew(self, held: list[Job]) -> list[Job]:
        return held


class RenewsUntilSigterm(Worker):
    def renew(self, held: list[Job]) -> Any:
        return held if self.draining else super().renew(held)


class RenewsRunningOnly(Worker):
    def renew(self, held: list[Job]) -> Any:
        running = self.running()
        return {*super().renew(running), *(job for job in held if job not in running)}


class AlwaysStarts(Worker):
    def may_start(self) -> bool:
        return True


class KeepsUnstarted(Worker):
    def release_unstarted(self, jobs: list[Job]) -> None:
        pass


class KeepsRunning(Worker):
    def release_running(self, jobs: list[Job]) -> None:
        pass


class ReclaimsOnlyWhenBusy(Worker):
    def reclaim_due(self) -> bool:
        return super().reclaim_due() and bool(self.held())


TWINS = [
    twin
    for twin in [*vars().values()]
    if isinstance(twin, type) and issubclass(twin, (Queue, Worker)) and twin not in (Queue, Worker)
]


@pytest.mark.parametrize("twin", TWINS)
def test_one_member_each(twin: type) -> None:
    (own,) = {name for name in vars(twin) if not name.startswith("__")}
    assert getattr(twin, own) != getattr(twin.__base__, own)


def abandoned(queue: Queue, max_attempts: int = 3) -> Job:
    """A job running under an expired lease of the worker a."""
    queue.enqueue("x", max_attempts=max_attempts)
    (job,) = queue.claim("a", 1, SHORT)
    expire(queue, job.id)
    return job


def stolen(queue: Queue, thief: str = "b") -> tuple[Job, Job]:
    """A job that a lost, with its claim and that of the worker that has it now."""
    job = abandoned(queue)
    assert queue.reclaim() == [job.id]
    (own,) = queue.claim(thief, 1, LONG)
    return job, own


class TestQueue:
    def test_reclaim(self, queue: Queue, connection: psycopg.Connection[Any]) -> None:
        job = abandoned(queue)
        assert ReclaimsNothing(connection).reclaim() == []
        assert queue.reclaim() == [job.id]

    def test_claim_looks_at_the_lease(self, queue: Queue, connection: psycopg.Connection[Any]) -> None:
        job = abandoned(queue)
        assert queue.claim("b", 1, LONG) == []
        assert [got.id for got in LooksAtTheLease(connection).claim("b", 1, LONG)] == [job.id]
        assert LooksAtTheLease(connection).claim("c", 1, LONG) == []

    def test_claim_holds_a_row_lock(self, dsn: str, queue: Queue) -> None:
        job = queue.enqueue("x")
        with closing(psycopg.connect(dsn, autocommit=True)) as connection:
            assert len(HoldsARowLock(connection).claim("a", 1, LONG)) == 1
            assert row(queue, job)["state"] == "queued"
            assert queue.claim("b", 1, LONG) == []
        eventually(lambda: len(queue.claim("b", 1, LONG)) == 1, "it is freed with the connection")

    def test_claim_in_two_steps(self, dsn: str, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
        job = queue.enqueue("x")
        others: list[Job] = []
        monkeypatch.setattr("tests.core.test_seams.between", lambda: others.extend(queue.claim("b", 1, LONG)))
        got = SelectsThenUpdates(queue.connection).claim("a", 1, LONG)
        assert [other.id for other in others] == [each.id for each in got] == [job]

    @pytest.mark.parametrize(
        ("twin", "thief", "accepted"),
        [
            (Queue, "b", False),
            (CompletesForAnyone, "b", True),
            (CompletesByName, "b", False),
            (CompletesByName, "a", True),
        ],
    )
    def test_complete(self, queue: Queue, twin: type[Queue], thief: str, accepted: bool) -> None:
        job, own = stolen(queue, thief)
        assert twin(queue.connection).complete("a", [job]) == ({job} if accepted else set())
        assert row(queue, job.id)["state"] == ("done" if accepted else "running")
        assert queue.complete(thief, [own]) == (set() if accepted else {own})

    @pytest.mark.parametrize(("twin", "kept"), [(Queue, False), (RenewsForAnyone, True)])
    def test_heartbeat(self, queue: Queue, twin: type[Queue], kept: bool) -> None:
        job, _ = stolen(queue)
        assert twin(queue.connection).heartbeat("a", [job], LONG) == ({job} if kept else set())

    def test_lease_check(self, empty_dsn: str) -> None:
        with psycopg.connect(empty_dsn, autocommit=True) as connection:
            NoLeaseCheck(connection).install()
            connection.execute("INSERT INTO jobs (kind, state) VALUES ('x', 'running')")
            assert Queue(connection).reclaim() == []

    def test_release(self, queue: Queue) -> None:
        queue.enqueue("x")
        twin = KeepsTheAttempt(queue.connection)
        twin.release("a", twin.claim("a", 1, LONG))
        assert queue.claim("a", 1, LONG)[0].attempt == 2

    def test_reclaim_of_exhausted(self, queue: Queue) -> None:
        job = abandoned(queue, max_attempts=1)
        LeavesExhausted(queue.connection).reclaim()
        assert row(queue, job.id)["state"] == "running"
        queue.reclaim()
        assert row(queue, job.id)["state"] == "failed"

    @pytest.mark.parametrize("then", ["finished", "claimed by another"])
    @pytest.mark.parametrize("twin", [Queue, ReclaimsWithoutStateGuard, ReclaimsWithoutClaimGuard])
    def test_reclaim_that_comes_late(self, dsn: str, queue: Queue, twin: type[Queue], then: str) -> None:
        """The reclaim has read the job as expired, and waits for a lock, while the job moves on."""
        job = abandoned(queue)
        owner = psycopg.connect(dsn)
        reclaimer = psycopg.connect(dsn, autocommit=True, application_name=f"reclaimer-{twin.__name__}")
        with owner, reclaimer:
            owner.execute("SELECT FROM jobs WHERE id = %s FOR UPDATE", [job.id])
            found: list[int] = []
            run = threading.Thread(target=lambda: found.extend(twin(reclaimer).reclaim()))
            run.start()
            waiting = "SELECT FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"
            pid = reclaimer.info.backend_pid
            eventually(lambda: not run.is_alive() or queue.connection.execute(waiting, [pid]).rowcount)
            if then == "finished":
                Queue(owner).complete("a", [job])
            else:
                Queue(owner).release("a", [job])
                Queue(owner).claim("b", 1, LONG)
            owner.commit()
            run.join()
        harmed = (twin, then) in [
            (ReclaimsWithoutStateGuard, "finished"),
            (ReclaimsWithoutClaimGuard, "claimed by another"),
        ]
        assert found == ([job.id] if harmed else [])
        now = row(queue, job.id)
        expected = ("queued", None) if harmed else ("done", None) if then == "finished" else ("running", "b")
        assert (now["state"], now["leased_by"]) == expected


@pytest.fixture
def stage() -> Stage:
    return Stage()


def make(twin: type[Worker], dsn: str, stage: Stage, **options: Any) -> tuple[Worker, Recorder]:
    recorder = Recorder()
    settings: dict[str, Any] = {"name": "a", "lease": 0.3, "poll": 0.02, "reclaim_every": None, "observer": recorder}
    return twin(dsn, stage.handlers, **(settings | options)), recorder


class TestWorker:
    def test_renew(self, dsn: str, queue: Queue, stage: Stage) -> None:
        job = queue.enqueue("hold")
        worker, recorder = make(NeverRenews, dsn, stage)
        with running(worker, stage):
            _, context = stage.next()
            expire(queue, job)
            assert queue.reclaim() == [job]
            assert not context.lost.is_set()
            stage.go.set()
            eventually(lambda: recorder.named("outcome"))
        assert recorder.named("outcome")[0] == ("outcome", job, 1, False)

    def test_renew_until_sigterm(self, dsn: str, queue: Queue, stage: Stage) -> None:
        job = queue.enqueue("hold")
        worker, recorder = make(RenewsUntilSigterm, dsn, stage)
        run = Running(worker)
        stage.next()
        beats = row(queue, job)["leased_until"]
        eventually(lambda: row(queue, job)["updated_at"] > beats, "renewed before the signal")
        worker.stop()
        expire(queue, job)
        assert queue.reclaim() == [job]
        stage.go.set()
        assert run.end() == DRAINED
        assert recorder.named("outcome") == [("outcome", job, 1, False)]

    def test_renew_running_only(self, dsn: str, queue: Queue, stage: Stage) -> None:
        first, second = queue.enqueue_many([NewJob("hold")] * 2)
        worker, _ = make(RenewsRunningOnly, dsn, stage, prefetch=1)
        with running(worker, stage):
            stage.next()
            expire(queue, second)
            assert queue.reclaim() == [second]
            assert not row(queue, first)["expired"]

    def test_may_start(self, dsn: str, queue: Queue, stage: Stage) -> None:
        ids = queue.enqueue_many([NewJob("hold")] * 4)
        worker, _ = make(AlwaysStarts, dsn, stage, prefetch=1)
        run = Running(worker)
        stage.next()
        worker.stop()
        stage.go.set()
        assert run.end() == DRAINED
        assert [job.id for job in stage.starts] == ids
        assert all(row(queue, job)["state"] == "done" for job in ids)

    def test_release_unstarted(self, dsn: str, queue: Queue, stage: Stage) -> None:
        first, second = queue.enqueue_many([NewJob("hold")] * 2)
        worker, _ = make(KeepsUnstarted, dsn, stage, prefetch=1)
        run = Running(worker)
        stage.next()
        worker.stop()
        expire(queue, second)
        stage.go.set()
        assert run.end() == DRAINED
        assert (row(queue, first)["state"], row(queue, second)["leased_by"]) == ("done", "a")
        assert len(stage.starts) == 1

    def test_release_running(self, dsn: str, queue: Queue, stage: Stage) -> None:
        job = queue.enqueue("hold")
        worker, _ = make(KeepsRunning, dsn, stage)
        run = Running(worker)
        stage.next()
        worker.stop()
        worker.stop()
        run.end()
        assert row(queue, job)["leased_by"] == "a"
        stage.go.set()

    def test_reclaim_due(self, dsn: str, queue: Queue, stage: Stage) -> None:
        job = abandoned(queue)
        worker, recorder = make(ReclaimsOnlyWhenBusy, dsn, stage, reclaim_every=0.02)
        with running(worker, stage):
            eventually(lambda: recorder.named("ready"))
            other = queue.enqueue("hold")
            assert stage.next()[0].id == other
            eventually(lambda: recorder.named("reclaimed"))
            assert recorder.named("reclaimed")[0] == ("reclaimed", [job.id])
            assert recorder.events.index(("claimed", [other])) < recorder.events.index(("reclaimed", [job.id]))

    def test_row_lock_for_the_whole_job(self, dsn: str, queue: Queue, stage: Stage) -> None:
        job = queue.enqueue("hold")
        worker, recorder = make(Worker, dsn, stage, queue_class=HoldsARowLock)
        with running(worker, stage):
            stage.next()
            assert row(queue, job)["state"] == "queued"
            assert queue.claim("b", 1, LONG) == []
            stage.go.set()
            eventually(lambda: row(queue, job)["state"] == "done", "the next claim commits")
        assert recorder.named("outcome") == [("outcome", job, 1, True)]
