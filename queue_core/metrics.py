"""What to watch, what of it breaks a promise, and how Prometheus reads it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, LiteralString

if TYPE_CHECKING:
    from prometheus_client.core import Metric


@dataclass(frozen=True)
class Stats:
    """What the table says of the whole queue at one moment."""

    depth: int = field(metadata={"about": "jobs queued, due or not"})
    due: int = field(metadata={"about": "jobs that could be claimed now"})
    running: int = field(metadata={"about": "jobs claimed and not ended"})
    failed: int = field(metadata={"about": "jobs that failed for good and are kept"})
    oldest: float | None = field(metadata={"about": "since the longest-waiting due job was due", "unit": "seconds"})
    longest: float | None = field(metadata={"about": "since the longest-running job was claimed", "unit": "seconds"})
    expired: int = field(metadata={"about": "jobs running under an expired lease"})
    recovered: int = field(metadata={"about": "times that a job now in the table was taken back"})
    last_success: float | None = field(metadata={"about": "since the last job was done", "unit": "seconds"})
    silence: float | None = field(metadata={"about": "with work to do and none of it done", "unit": "seconds"})
    duration_p50: float | None = field(metadata={"about": "half of the last done jobs took less", "unit": "seconds"})
    duration_p95: float | None = field(metadata={"about": "95 % of the last done jobs took less", "unit": "seconds"})
    duration_max: float | None = field(metadata={"about": "no one of the last done jobs took more", "unit": "seconds"})
    attempts_mean: float | None = field(metadata={"about": "attempts that a job took, of the last ended ones"})
    attempts_max: int | None = field(metadata={"about": "attempts that a job took at most, of the last ended ones"})


# What is alive is read by its partial indexes, the ended jobs from the latest on: the history costs nothing. Ages are
# taken at clock_timestamp(), since a job may have been claimed or done after this transaction began.
STATS: LiteralString = """
    WITH queued AS (
        SELECT count(*) AS depth, count(*) FILTER (WHERE run_at <= now()) AS due,
               min(run_at) FILTER (WHERE run_at <= now()) AS since
        FROM jobs WHERE state = 'queued'
    ), running AS (
        SELECT count(*) AS running, count(*) FILTER (WHERE leased_until < now()) AS expired, min(claimed_at) AS since
        FROM jobs WHERE state = 'running'
    ), done AS MATERIALIZED (
        SELECT finished_at, attempt, extract(epoch FROM finished_at - claimed_at)::float8 AS duration
        FROM jobs WHERE state = 'done' AND finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT 1000
    ), failed AS (
        SELECT finished_at, attempt
        FROM jobs WHERE state = 'failed' AND finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT 1000
    ), ended AS (
        SELECT finished_at, attempt FROM done UNION ALL TABLE failed ORDER BY finished_at DESC LIMIT 1000
    ), durations AS (
        SELECT percentile_cont(ARRAY[0.5, 0.95, 1]) WITHIN GROUP (ORDER BY duration) AS at, max(finished_at) AS last
        FROM done
    ), attempts AS (
        SELECT avg(attempt)::float8 AS mean, max(attempt) AS max FROM ended
    ), work AS (
        SELECT least(queued.since, running.since) AS since, clock_timestamp() AS moment FROM queued, running
    )
    SELECT queued.depth, queued.due, running.running,
        (SELECT count(*) FROM jobs WHERE state = 'failed') AS failed,
        extract(epoch FROM moment - queued.since)::float8 AS oldest,
        extract(epoch FROM moment - running.since)::float8 AS longest,
        running.expired,
        (SELECT coalesce(sum(recovered), 0) FROM jobs WHERE recovered > 0) AS recovered,
        extract(epoch FROM moment - durations.last)::float8 AS last_success,
        CASE WHEN work.since IS NOT NULL
             THEN extract(epoch FROM moment - greatest(work.since, durations.last))::float8 END AS silence,
        durations.at[1] AS duration_p50, durations.at[2] AS duration_p95, durations.at[3] AS duration_max,
        attempts.mean AS attempts_mean, attempts.max AS attempts_max
    FROM queued, running, durations, attempts, work
"""
"""The figures of Stats."""


@dataclass(frozen=True)
class Limits:
    """What is promised of the queue; None promises nothing."""

    depth: int | None = None
    """Jobs queued at most. It says how much work there is, and nothing of how long it waits."""
    oldest: float | None = None
    """Seconds that a due job waits at most."""
    silence: float | None = None
    """Seconds, at most, with work to do and none of it done: a worker may be up and finish nothing."""
    expired: int | None = None
    """Jobs running under an expired lease at most. More than passing ones mean that nobody takes them back."""
    failed: int | None = None
    """Failed jobs kept at most."""


_WORDS = {
    "depth": "{} in the queue, more than {}",
    "oldest": "a due job has waited for {:.1f} s, longer than {:g} s",
    "silence": "there is work, and none was done for {:.1f} s, longer than {:g} s",
    "expired": "{} running under an expired lease, more than {}: are they taken back?",
    "failed": "{} failed, more than {}",
}


def alarms(stats: Stats, limits: Limits) -> list[str]:
    """The promises that are broken: the name of each, a colon, and in words how. Empty if all are kept."""
    found = ((name, getattr(stats, name), getattr(limits, name)) for name in _WORDS)
    return [
        f"{name}: {_WORDS[name].format(value, limit)}"
        for name, value, limit in found
        if value is not None and limit is not None and value > limit
    ]


class Collector:
    """The figures as gauges, asked for at each scrape: `prometheus_client.REGISTRY.register(Collector(queue.stats))`.

    A figure that there is not (None) has no sample.
    """

    def __init__(self, stats: Callable[[], Stats]) -> None:
        self._stats = stats

    def collect(self) -> Iterator["Metric"]:
        """One gauge a figure, named `queue_core_` and the figure. Raises what asking for the figures raises."""
        from prometheus_client.core import GaugeMetricFamily  # late: workers don't need it

        stats = self._stats()
        for figure in fields(stats):
            about, unit = figure.metadata["about"], figure.metadata.get("unit", "")
            about = f"{unit.capitalize()} {about}" if unit else about.capitalize()
            yield GaugeMetricFamily(f"queue_core_{figure.name}", about, getattr(stats, figure.name), unit=unit)


def prometheus(stats: Stats) -> str:
    """The figures in Prometheus' text form."""
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry()
    registry.register(Collector(lambda: stats))
    return generate_latest(registry).decode()
