"""The worker: on a thread where that is enough, in a process where signals matter."""

import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM
from typing import Any

import psycopg
import pytest

from queue_core import DRAINED, FORCED, Backoff, Context, Job, NewJob, Observer, Permanent, Queue, Worker
from tests.core.helpers import Process, Recorder, Running, Stage, eventually, expire, process, row, running

LEASE = 0.6
"""Seconds; beats come each third of it."""


def make(dsn: str, stage: Stage, **options: Any) -> tuple[Worker, Recorder]:
    recorder = Recorder()
    settings: dict[str, Any] = {"name": "a", "lease": LEASE, "poll": 0.02, "reclaim_every": None, "observer": recorder}
    return Worker(dsn, stage.handlers, **(settings | options)), recorder


@pytest.fixture
def stage() -> Stage:
    return Stage()


class TestOneJob:
    def test_runs_and_completes(self, dsn: str, queue: Queue, stage: Stage) -> None:
        job = queue.enqueue("quick")
        worker, recorder = make(dsn, stage)
        with running(worker) as run:
            eventually(lambda: recorder.named("outcome"))
        assert run.code == DRAINED
        assert recorder.events == [("ready",), ("claimed", [job]), ("outcome", job, 1, True), ("stopping",)]
        assert row(queue, job)["state"] == "done"

    def test_a_failure_is_retried_then_final(self, dsn: str, queue: Queue) -> None:
        def handler(job: Job, context: Context) -> None:
            raise ValueError(f"attempt {job.attempt} of\0it")

        job = queue.enqueue("x", max_attempts=2)
        recorder = Recorder()
        backoff = Backoff(base=0.001)
        with running(Worker(dsn, {"x": handler}, poll=0.02, observer=recorder, backoff=backoff)):
            eventually(lambda: row(queue, job)["state"] == "failed")
        assert row(queue, job)["last_error"] == "ValueError: attempt 2 of\\0it"
        assert recorder.named("outcome") == [("outcome", job, 1, True), ("outcome", job, 2, True)]

    @pytest.mark.parametrize("error", [KeyError("k"), SystemExit(3), UnicodeError("\ud800")])
    def test_any_exception_is_the_jobs(self, dsn: str, queue: Queue, error: BaseException) -> None:
        def handler(job: Job, context: Context) -> None:
            raise error

        job = queue.enqueue("x", max_attempts=1)
        with running(Worker(dsn, {"x": handler}, poll=0.02)) as run:
            eventually(lambda: row(queue, job)["state"] == "failed")
        assert run.code == DRAINED
        assert type(error).__name__ in row(queue, job)["last_error"]

    def test_permanent_fails_at_once(self, dsn: str, queue: Queue) -> None:
        def handler(job: Job, context: Context) -> None:
            raise Permanent("no such user")

        job = queue.enqueue("x")
        with running(Worker(dsn, {"x": handler}, poll=0.02)):
            eventually(lambda: row(queue, job)["state"] == "failed")
        assert (row(queue, job)["attempt"], row(queue, job)["max_attempts"]) == (1, 3)

    def test_no_handler(self, dsn: str, queue: Queue, stage: Stage) -> None:
        job = queue.enqueue("unknown", max_attempts=1)
        worker, _ = make(dsn, stage)
        with running(worker):
            eventually(lambda: row(queue, job)["state"] == "failed")
        assert "'unknown'" in row(queue, job)["last_error"]

    def test_slots_and_prefetch(self, dsn: str, queue: Queue, stage: Stage) -> None:
        ids = queue.enqueue_many([NewJob("hold")] * 6)
        worker, recorder = make(dsn, stage, slots=2, prefetch=3)
        with running(worker, stage):
            started = {stage.next()[0].id, stage.next()[0].id}
            assert started == set(ids[:2])
            assert recorder.named("claimed") == [("claimed", ids[:5])]
            assert {job.id for job in worker.held()} == set(ids[:5])
            assert {job.id for job in worker.running()} == set(ids[:2])
            stage.go.set()
            eventually(lambda: queue.stats().depth + queue.stats().running == 0)


class TestLease:
    def test_renewed_while_held_prefetched_ones_too(self, dsn: str, queue: Queue, stage: Stage) -> None:
        ids = queue.enqueue_many([NewJob("hold")] * 3)
        worker, recorder = make(dsn, stage, prefetch=2)
        with running(worker, stage):
            stage.next()
            until = [row(queue, job)["leased_until"] for job in ids]
            eventually(
                lambda: all(row(queue, job)["updated_at"] > end for job, end in zip(ids, until, strict=True)),
                "they outlast their leases",
            )
            assert queue.reclaim() == []
        assert ("renewed", ids, []) in recorder.events
        assert [event[3] for event in recorder.named("outcome")] == [True]  # the drain gave back the others

    def test_lost(self, dsn: str, queue: Queue, stage: Stage) -> None:
        job = queue.enqueue("hold")
        worker, recorder = make(dsn, stage)
        with running(worker, stage):
            got, context = stage.next()
            queue.release("a", [got])
            queue.claim("b", 1, 60)
            assert context.lost.wait(10)
            eventually(lambda: recorder.named("renewed"))
            assert recorder.named("renewed")[-1] == ("renewed", [], [job])
            assert worker.held() == []
            stage.go.set()
            eventually(lambda: recorder.named("outcome"))
        assert recorder.named("outcome") == [("outcome", job, 1, False)]
        assert (row(queue, job)["state"], row(queue, job)["leased_by"]) == ("running", "b")

    def test_a_lost_job_that_was_not_started_is_dropped(self, dsn: str, queue: Queue, stage: Stage) -> None:
        first, second = queue.enqueue_many([NewJob("hold")] * 2)
        worker, recorder = make(dsn, stage, prefetch=1)
        with running(worker, stage):
            stage.next()
            (waiting,) = [job for job in worker.held() if job.id == second]
            queue.release("a", [waiting])
            queue.claim("b", 1, 60)
            eventually(lambda: ("renewed", [first], [second]) in recorder.events)
            stage.go.set()
            eventually(lambda: row(queue, first)["state"] == "done")
        assert [job.id for job in stage.starts] == [first]

    def test_its_own_job_claimed_again(self, dsn: str, queue: Queue, stage: Stage) -> None:
        job = queue.enqueue("hold")
        worker, recorder = make(dsn, stage, slots=2)
        with running(worker, stage):
            first, _ = stage.next()
            queue.release("a", [first])
            second, context = stage.next()
            assert second.claim == 2
            eventually(lambda: len(recorder.named("renewed")) >= 2)
            assert not context.lost.is_set()
            stage.go.set()
            eventually(lambda: len(recorder.named("outcome")) == 2)
        assert sorted(recorder.named("outcome")) == [("outcome", job, 1, False), ("outcome", job, 2, True)]

    def test_own_reclaim_on_an_idle_queue(self, dsn: str, queue: Queue, stage: Stage) -> None:
        job = queue.enqueue("quick")
        queue.claim("dead", 1, 0.3)
        worker, recorder = make(dsn, stage, reclaim_every=0.1)
        with running(worker):
            eventually(lambda: row(queue, job)["state"] == "done")
        assert ("reclaimed", [job]) in recorder.events
        assert row(queue, job)["attempt"] == 2


class TestDrain:
    def test_gives_back_what_waits_and_serves_what_runs(self, dsn: str, queue: Queue, stage: Stage) -> None:
        first, second, third = queue.enqueue_many([NewJob("hold")] * 3)
        worker, recorder = make(dsn, stage, prefetch=1)
        run = Running(worker)
        _, context = stage.next()
        worker.stop()
        eventually(lambda: row(queue, second)["state"] == "queued")
        assert row(queue, second)["attempt"] == 0
        assert context.stopping.is_set()
        beats = len(recorder.named("renewed"))
        eventually(lambda: len(recorder.named("renewed")) >= beats + 4, "beats go on past a lease")
        assert queue.reclaim() == []
        stage.go.set()
        assert run.end() == DRAINED
        assert [row(queue, job)["state"] for job in (first, second, third)] == ["done", "queued", "queued"]
        assert [job.id for job in stage.starts] == [first]

    def test_idle(self, dsn: str, stage: Stage) -> None:
        worker, recorder = make(dsn, stage, poll=60.0)
        run = Running(worker)
        eventually(lambda: recorder.named("ready"))
        worker.stop()
        assert run.end() == DRAINED

    @pytest.mark.parametrize("forced_by", ["second signal", "grace"])
    def test_forced(self, dsn: str, queue: Queue, stage: Stage, forced_by: str) -> None:
        job = queue.enqueue("hold")
        worker, _ = make(dsn, stage, poll=60.0, grace=0.05 if forced_by == "grace" else None)
        run = Running(worker)
        _, context = stage.next()
        worker.stop()
        if forced_by == "second signal":
            worker.stop()
        assert run.end() == FORCED
        assert context.lost.is_set()
        assert (row(queue, job)["state"], row(queue, job)["attempt"], row(queue, job)["claim"]) == ("queued", 0, 1)
        stage.go.set()


class TestTrouble:
    def test_reconnects(self, dsn: str, queue: Queue, stage: Stage) -> None:
        job = queue.enqueue("hold")
        worker, recorder = make(dsn, stage, name="to-be-cut")

        def cut() -> int:
            return queue.connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'to-be-cut %'"
            ).rowcount

        def connected() -> int:
            return queue.connection.execute(
                "SELECT FROM pg_stat_activity WHERE application_name LIKE 'to-be-cut %'"
            ).rowcount

        with running(worker, stage):
            stage.next()
            eventually(lambda: connected() == 3, "main, heartbeat and listener are connected")
            assert cut() == 3
            eventually(lambda: recorder.named("renewed"))
            assert cut() >= 1
            stage.go.set()
            eventually(lambda: recorder.named("outcome"))
        assert recorder.named("outcome") == [("outcome", job, 1, True)]
        assert row(queue, job)["state"] == "done"

    def test_forced_stop_over_a_connection_that_broke_unnoticed(self, dsn: str, queue: Queue, stage: Stage) -> None:
        job = queue.enqueue("hold")
        worker, _ = make(dsn, stage, name="cut-idle")
        run = Running(worker)
        stage.next()
        queue.connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'cut-idle main'"
        )
        worker.stop()
        worker.stop()
        assert run.end() == FORCED
        assert row(queue, job)["state"] == "queued"
        stage.go.set()

    @pytest.mark.parametrize("event", ["ready", "claimed", "renewed", "outcome", "reclaimed", "stopping"])
    @pytest.mark.parametrize("error", [RuntimeError("broken"), psycopg.OperationalError("the observer's own")])
    def test_a_broken_observer_ends_the_worker(
        self, dsn: str, queue: Queue, stage: Stage, event: str, error: Exception
    ) -> None:
        def fail(*what: object) -> None:
            raise error

        queue.enqueue("hold" if event == "renewed" else "quick")
        observer = Observer()
        setattr(observer, event, fail)
        worker, _ = make(dsn, stage, lease=0.1, reclaim_every=0.05, observer=observer)
        run = Running(worker)
        if event == "stopping":
            worker.stop()
        run.end()
        stage.go.set()
        assert run.error is error

    def test_no_database(self, stage: Stage) -> None:
        worker, _ = make("host=127.0.0.1 port=1 dbname=nowhere user=nobody", stage)
        with pytest.raises(psycopg.OperationalError):
            worker.run()

    def test_no_table(self, empty_dsn: str, stage: Stage) -> None:
        worker, _ = make(empty_dsn, stage)
        with pytest.raises(psycopg.errors.UndefinedTable):
            worker.run()

    @pytest.mark.parametrize(
        "options",
        [
            {"lease": 0},
            {"heartbeat_every": LEASE},
            {"heartbeat_every": 0},
            {"slots": 0},
            {"prefetch": -1},
            {"poll": 0},
            {"reclaim_every": 0},
            {"grace": -1},
        ],
    )
    def test_nonsense(self, stage: Stage, options: dict[str, float]) -> None:
        with pytest.raises(ValueError, match="need "):
            make("", stage, **options)

    def test_names_differ(self) -> None:
        assert Worker("", {}).name != Worker("", {}).name


class TestProcess:
    def test_sigterm_lets_the_job_end_with_its_lease_renewed(self, dsn: str, queue: Queue) -> None:
        job, other = queue.enqueue("hold"), queue.enqueue("quick")
        with process(dsn, lease=LEASE, poll=0.02, reclaim_every=None) as worker:
            worker.until("started", job)
            worker.signal(SIGTERM)
            worker.until("stopping")
            for _ in range(4):
                worker.until("renewed", [job], [])
            assert queue.reclaim() == []
            worker.go()
            assert worker.end() == DRAINED
        assert ["outcome", job, True] in worker.seen
        assert (row(queue, job)["state"], row(queue, other)["state"]) == ("done", "queued")

    def test_second_sigterm_gives_the_job_back(self, dsn: str, queue: Queue) -> None:
        job = queue.enqueue("hold")
        with process(dsn, poll=0.02) as worker:
            worker.until("started", job)
            worker.signal(SIGTERM)
            worker.until("stopping")
            worker.signal(SIGTERM)
            assert worker.end() == FORCED
        assert (row(queue, job)["state"], row(queue, job)["attempt"]) == ("queued", 0)

    def test_grace(self, dsn: str, queue: Queue) -> None:
        job = queue.enqueue("hold")
        with process(dsn, poll=60.0, grace=0.1) as worker:
            worker.until("started", job)
            worker.signal(SIGTERM)
            assert worker.end() == FORCED
        assert row(queue, job)["state"] == "queued"

    def test_kill(self, dsn: str, queue: Queue) -> None:
        job = queue.enqueue("hold")
        with process(dsn, lease=0.5, poll=0.02, reclaim_every=None) as worker:
            worker.until("started", job)
            worker.signal(SIGKILL)
            assert worker.end() == -SIGKILL
        expire(queue, job)
        assert queue.claim("b", 1, 60) == []
        assert queue.reclaim() == [job]
        assert queue.claim("b", 1, 60)[0].attempt == 2

    def test_pause_past_the_lease(self, dsn: str, queue: Queue) -> None:
        job = queue.enqueue("hold")
        with process(dsn, lease=LEASE, poll=0.02, reclaim_every=None) as worker:
            worker.until("started", job)
            worker.signal(SIGSTOP)
            expire(queue, job)
            assert queue.reclaim() == [job]
            (own,) = queue.claim("b", 1, 60)
            worker.signal(SIGCONT)
            worker.until("renewed", [], [job])
            worker.go()
            worker.until("ended", job, True)
            worker.until("outcome", job, False)
            assert row(queue, job)["leased_by"] == "b"
            assert queue.complete("b", [own]) == {own}
            worker.signal(SIGTERM)
            assert worker.end() == DRAINED

    def test_eight_at_once(self, dsn: str, queue: Queue) -> None:
        with ExitStack() as stack:
            workers: list[Process] = []
            for _ in range(8):
                worker = Process(dsn, slots=2, prefetch=2, poll=0.02)
                stack.callback(worker.close)
                workers.append(worker)
            for worker in workers:
                worker.until("ready")
            ids = queue.enqueue_many([NewJob("quick")] * 200)
            eventually(lambda: queue.stats().depth + queue.stats().running == 0)
            for worker in workers:
                worker.signal(SIGTERM)
            assert [worker.end() for worker in workers] == [DRAINED] * 8
        seen = [event for worker in workers for event in worker.seen]
        assert sorted(event[1] for event in seen if event[0] == "started") == ids
        assert sorted(event[1:] for event in seen if event[0] == "outcome") == [[job, True] for job in ids]


def test_signal_handlers_are_put_back(dsn: str, stage: Stage) -> None:
    before = signal.getsignal(SIGTERM)
    worker, recorder = make(dsn, stage)
    stopper = threading.Thread(target=_after_ready, args=(recorder, worker.stop))
    stopper.start()
    assert worker.run() == DRAINED
    stopper.join()
    assert signal.getsignal(SIGTERM) is before


def _after_ready(recorder: Recorder, act: Callable[[], None]) -> None:
    eventually(lambda: recorder.named("ready"))
    act()
