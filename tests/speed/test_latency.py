"""The measure of latency, at the smallest scale: that every job is started once, and told."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from bench import discover
from bench.speed import measure
from bench.speed.figures import AGAIN, Missing
from bench.speed.ground import Ground, ground
from bench.speed.latency import CORE, IDLE, LOAD, PEERS, idle
from bench.speed.starts import LatencyError, worker
from bench.subject import Subject


@pytest.fixture(scope="module")
def small() -> Iterator[Ground]:
    with ground("embedded", rounds=1, scale=0.001, tell=lambda text: None) as found:
        yield found


def test_it_measures_what_it_says(small: Ground) -> None:
    result = measure("latency").run(small)
    ran = [name for name in (CORE, *PEERS, CORE + AGAIN) if name in result.settings]
    assert {CORE, CORE + AGAIN} <= set(ran)
    assert len(ran) + len(result.missing) == 2 + len(PEERS)
    assert all([row[0] for row in table.rows] == ran for table in result.tables)
    assert all(len(row) == len(table.columns) for table in result.tables for row in table.rows)
    told = {(each["condition"], each["contender"]): len(each["ms"]) for each in result.raw["waits"]}
    assert told == {(IDLE, name): 10 for name in ran} | {(LOAD, name): 20 for name in ran}
    assert [goal.figure is None for goal in result.goals] == [len(ran) == 2] * 2


def test_a_worker_starts_each_job_that_is_put_in(small: Ground) -> None:
    with worker(small, discover.subject(CORE), CORE) as line:
        assert len(idle([line], 3)[CORE]) == 3
        assert len(line.stream(5, rate=1000.0)) == 5
        assert line.throughput(5) > 0
        [(jobs,)] = line.connection.execute("SELECT count(*) FROM jobs").fetchall()
    assert jobs == 13


def test_a_worker_that_does_not_come_up_is_told_with_its_last_words(small: Ground, tmp_path: Path) -> None:
    (tmp_path / "latency.py").touch()
    stranger = Subject("stranger", {}, tmp_path)
    with (
        pytest.raises(LatencyError, match=r"(?s)a worker of stranger .*No module named 'subjects"),
        worker(small, stranger, "stranger"),
    ):
        pass


def test_a_worker_that_dies_is_told_at_once(small: Ground) -> None:
    with worker(small, discover.subject(CORE), CORE) as line:
        idle([line], 1)
        [child] = [each for each in psutil.Process().children() if "subjects.queue_core.latency" in each.cmdline()]
        child.kill()
        with pytest.raises(LatencyError, match="queue_core did not start 1 jobs, its worker has ended"):
            idle([line], 1)


def test_without_its_environment_a_queue_is_missing(small: Ground, tmp_path: Path) -> None:
    (tmp_path / "latency.py").touch()
    stranger = Subject("stranger", {}, tmp_path, make=(("true",),))
    with (
        pytest.raises(Missing, match="stranger has no environment: make subject-"),
        worker(small, stranger, "stranger"),
    ):
        pass
