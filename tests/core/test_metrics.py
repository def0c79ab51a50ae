"""The figures, what of them rings an alarm, and how Prometheus gets them."""

import subprocess
import sys
from dataclasses import fields, replace
from typing import Any

import psycopg
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from queue_core import Collector, Limits, NewJob, Queue, Stats, alarms
from queue_core.metrics import prometheus
from tests.core.helpers import eventually, expire, row

LONG = 600.0
SHORT = 0.02
QUIET = Stats(
    depth=0,
    due=0,
    running=0,
    failed=0,
    oldest=None,
    longest=None,
    expired=0,
    recovered=0,
    last_success=None,
    silence=None,
    duration_p50=None,
    duration_p95=None,
    duration_max=None,
    attempts_mean=None,
    attempts_max=None,
)
"""Of a queue in which nothing has ever been."""


class DepthOnly(Queue):
    def alarms(self, limits: Limits) -> list[str]:
        return alarms(self.stats(), Limits(depth=limits.depth))


def run(queue: Queue) -> None:
    """Claim the next job and do it."""
    jobs = queue.claim("a", 1, LONG)
    assert queue.complete("a", jobs) == set(jobs) != set()


class TestStats:
    def test_of_nothing(self, queue: Queue) -> None:
        assert queue.stats() == QUIET

    def test_of_what_waits(self, queue: Queue) -> None:
        queue.enqueue_many([NewJob("x"), NewJob("x", queue="other"), NewJob("x", delay=60)])
        stats = queue.stats()
        assert (stats.depth, stats.due, stats.running) == (3, 2, 0)
        assert stats.oldest is not None
        assert stats.oldest == stats.silence
        eventually(lambda: (queue.stats().oldest or 0) > (stats.oldest or 0), "it gets older")

    def test_only_later_ones_wait(self, queue: Queue) -> None:
        queue.enqueue("x", delay=60)
        assert queue.stats() == replace(QUIET, depth=1)

    def test_of_what_runs(self, queue: Queue) -> None:
        queue.enqueue_many([NewJob("x")] * 2)
        queue.claim("a", 1, LONG)
        (gone,) = queue.claim("b", 1, SHORT)
        expire(queue, gone.id)
        stats = queue.stats()
        assert (stats.depth, stats.running, stats.expired, stats.oldest) == (0, 2, 1, None)
        assert stats.longest is not None
        assert stats.longest > SHORT
        assert stats.longest == stats.silence

    def test_of_what_was_taken_back(self, queue: Queue) -> None:
        queue.enqueue("x", max_attempts=2)
        queue.enqueue("x")
        for number in (1, 2):
            (gone,) = queue.claim("a", 1, SHORT)
            expire(queue, gone.id)
            queue.reclaim()
            assert queue.stats().recovered == number
        stats = queue.stats()
        assert (stats.depth, stats.failed, stats.expired, stats.recovered) == (1, 1, 0, 2)

    def test_of_what_has_ended(self, queue: Queue) -> None:
        queue.enqueue_many([NewJob("x", max_attempts=3)] * 2)
        for _ in range(2):
            (job,) = queue.claim("a", 1, LONG)
            assert queue.fail("a", job, "no", retry_in=0)
        run(queue)
        (job,) = queue.claim("a", 1, LONG)
        assert queue.fail("a", job, "no", retry_in=None)
        stats = queue.stats()
        assert (stats.depth, stats.running, stats.failed) == (0, 0, 1)
        assert stats.attempts_mean is not None
        assert stats.attempts_mean * 2 == sum(row(queue, job)["attempt"] for job in (1, 2))
        assert stats.attempts_max == max(row(queue, job)["attempt"] for job in (1, 2))
        assert stats.last_success is not None
        assert stats.last_success >= 0

    def test_durations(self, queue: Queue, connection: psycopg.Connection[Any]) -> None:
        connection.execute(
            "INSERT INTO jobs (kind, state, claimed_at, finished_at, attempt)"
            " SELECT 'x', 'done', now() - make_interval(secs => n), now(), 1 FROM generate_series(0, 100) AS n"
        )
        stats = queue.stats()
        assert (stats.duration_p50, stats.duration_p95, stats.duration_max) == (50, 95, 100)
        assert (stats.attempts_mean, stats.attempts_max) == (1, 1)

    def test_only_the_last_ones_count(self, queue: Queue, connection: psycopg.Connection[Any]) -> None:
        connection.execute(
            "INSERT INTO jobs (kind, state, claimed_at, finished_at, attempt)"
            " SELECT 'x', state, moment - make_interval(secs => length), moment, length"
            " FROM (VALUES ('done', now() - interval '1 day', 9), ('failed', now() - interval '1 day', 9),"
            "              ('done', now(), 1)) AS kinds (state, moment, length), generate_series(1, 1000)"
        )
        stats = queue.stats()
        assert (stats.duration_p50, stats.duration_max, stats.attempts_mean, stats.attempts_max) == (1, 1, 1, 1)
        assert stats.failed == 1000

    def test_silence(self, queue: Queue) -> None:
        queue.enqueue("x")
        run(queue)
        assert queue.stats().silence is None  # nothing to do
        eventually(lambda: (queue.stats().last_success or 0) > 0.1, "a while goes by")
        queue.enqueue_many([NewJob("x")] * 2)
        stats = queue.stats()
        assert stats.silence is not None
        assert stats.last_success is not None
        assert stats.silence < stats.last_success - 0.1  # not since the last success: there was nothing to do
        eventually(lambda: (queue.stats().silence or 0) > 0.1, "there is, and nobody does it")
        run(queue)
        stats = queue.stats()
        assert stats.silence is not None
        assert stats.oldest is not None
        assert stats.silence < stats.oldest - 0.1  # one of the two was done
        assert stats.silence == stats.last_success

    def test_history_costs_nothing(self, queue: Queue, connection: psycopg.Connection[Any]) -> None:
        connection.execute(
            "INSERT INTO jobs (kind, state, claimed_at, finished_at)"
            " SELECT 'x', 'done', now(), now() FROM generate_series(1, 20000)"
        )
        connection.execute("INSERT INTO jobs (kind) SELECT 'x' FROM generate_series(1, 20)")
        connection.execute("ANALYZE jobs")
        plan = "\n".join(line for (line,) in connection.execute("EXPLAIN " + Queue.STATS))
        assert "Seq Scan" not in plan
        for index in ("jobs_ready", "jobs_running", "jobs_ended", "jobs_recovered"):
            assert index in plan


class TestAlarms:
    def test_no_promise_rings_nothing(self) -> None:
        assert alarms(replace(QUIET, depth=10**6, oldest=10**6, silence=10**6, expired=9, failed=9), Limits()) == []

    def test_nothing_rings_at_the_limit(self) -> None:
        limits = Limits(depth=5, oldest=5, silence=5, expired=0, failed=0)
        assert alarms(replace(QUIET, depth=5, oldest=5.0, silence=5.0), limits) == []
        assert alarms(QUIET, limits) == []

    @pytest.mark.parametrize(
        ("figures", "limits", "words"),
        [
            ({"depth": 6}, Limits(depth=5), "depth: 6 in the queue, more than 5"),
            ({"oldest": 21_600.0}, Limits(oldest=60), "oldest: a due job has waited for 21600.0 s, longer than 60 s"),
            (
                {"silence": 0.26},
                Limits(silence=0.25),
                "silence: there is work, and none was done for 0.3 s, longer than 0.25 s",
            ),
            (
                {"expired": 2},
                Limits(expired=0),
                "expired: 2 running under an expired lease, more than 0: are they taken back?",
            ),
            ({"failed": 1}, Limits(failed=0), "failed: 1 failed, more than 0"),
        ],
    )
    def test_words(self, figures: dict[str, Any], limits: Limits, words: str) -> None:
        assert alarms(replace(QUIET, **figures), limits) == [words]

    def test_every_limit_is_of_a_figure_and_has_words(self) -> None:
        high = Limits(**{limit.name: 1 for limit in fields(Limits)})
        broken = replace(QUIET, **{limit.name: 2 for limit in fields(Limits)})
        assert [words.partition(":")[0] for words in alarms(broken, high)] == [limit.name for limit in fields(Limits)]

    def test_age_tells_what_depth_hides(self, queue: Queue, connection: psycopg.Connection[Any]) -> None:
        """A few jobs that nobody takes are below any depth that a busy queue may have."""
        limits = Limits(depth=100, oldest=0.1)
        queue.enqueue_many([NewJob("x", queue="nobody's")] * 30)
        eventually(lambda: queue.alarms(limits), "the promise is broken")
        assert [words.partition(":")[0] for words in queue.alarms(limits)] == ["oldest"]
        assert DepthOnly(connection).alarms(limits) == []

    def test_a_worker_that_finishes_nothing(self, queue: Queue, connection: psycopg.Connection[Any]) -> None:
        limits = Limits(depth=100, silence=0.1, expired=0)
        queue.enqueue("x")
        (job,) = queue.claim("a", 1, SHORT)
        eventually(lambda: len(queue.alarms(limits)) == 2, "the promises are broken")
        assert [words.partition(":")[0] for words in queue.alarms(limits)] == ["silence", "expired"]
        assert DepthOnly(connection).alarms(limits) == []
        assert queue.complete("a", [job]) == {job}
        assert queue.alarms(limits) == []


class TestPrometheus:
    def test_text(self, queue: Queue) -> None:
        queue.enqueue_many([NewJob("x")] * 2)
        run(queue)
        stats = queue.stats()
        families = {family.name: family for family in text_string_to_metric_families(prometheus(stats))}
        assert len(families) == len(fields(Stats))
        assert [sample.value for sample in families["queue_core_depth"].samples] == [1]
        assert families["queue_core_depth"].type == "gauge"
        assert families["queue_core_depth"].documentation == "Jobs queued, due or not"
        assert [sample.value for sample in families["queue_core_oldest_seconds"].samples] == [stats.oldest]
        assert families["queue_core_longest_seconds"].samples == []  # nothing runs

    def test_collector_asks_at_each_scrape(self, queue: Queue) -> None:
        registry = CollectorRegistry()
        registry.register(Collector(queue.stats))
        assert registry.get_sample_value("queue_core_depth") == 0
        queue.enqueue("x")
        assert registry.get_sample_value("queue_core_depth") == 1
        assert b"queue_core_oldest_seconds " in generate_latest(registry)


def test_a_worker_imports_neither_cron_nor_prometheus() -> None:
    code = "import sys, queue_core.__main__; print({'cronsim', 'prometheus_client'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "set()"
