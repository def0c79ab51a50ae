"""The measure of enqueues, at the smallest scale: that all put in the same jobs, and as many as they say."""

from collections.abc import Iterator

import pytest

from bench.postgres import sql
from bench.speed import measure
from bench.speed.figures import AGAIN
from bench.speed.ground import Ground, ground
from queue_core import Queue
from subjects.queue_core.speed.enqueue import COPIED, CORE, GOAL, LIMIT, contenders
from subjects.queue_core.speed.puts import EnqueueError, Lot, Place


@pytest.fixture(scope="module")
def small() -> Iterator[Ground]:
    with ground("embedded", rounds=1, scale=0.001, tell=lambda text: None) as found:
        yield found


def test_it_measures_what_it_says(small: Ground) -> None:
    result = measure("enqueue").run(small)
    assert [len(table.rows) for table in result.tables] == [5, 7]
    assert all(len(row) == len(table.columns) for table in result.tables for row in table.rows)
    for part in result.raw:
        jobs = part["lot"]["calls"] * part["lot"]["size"]
        assert [sample["figures"]["jobs"] for sample in part["samples"]] == [jobs] * len(part["samples"])
        assert {CORE, CORE + AGAIN} <= {sample["contender"] for sample in part["samples"]}
    assert [(goal.wanted, goal.figure is None) for goal in result.goals] == [(GOAL, False), (GOAL, False), (GOAL, True)]


@pytest.mark.parametrize("size", [1, 3])
def test_all_contenders_put_in_the_same_jobs(small: Ground, size: int) -> None:
    with small.database() as dsn, sql.connect(dsn) as connection:
        Queue(connection).install()
        put_in = {}
        for contender in contenders(Place(small, dsn, Lot("", 2, size))):
            contender.run()
            put_in[contender.name] = connection.execute(
                "SELECT kind, payload, version, key, queue, priority, attempt, max_attempts, state, turn = run_at,"
                " run_at <= now(), finished_at FROM jobs ORDER BY id"
            ).fetchall()
    assert ({COPIED, LIMIT} <= put_in.keys()) == (size > 1)
    assert len(put_in[CORE]) == 2 * size
    assert all(jobs == put_in[CORE] for jobs in put_in.values())


def test_what_is_not_put_in_is_told(small: Ground) -> None:
    with small.database() as dsn, sql.connect(dsn) as connection:
        Queue(connection).install()
        with pytest.raises(EnqueueError, match="0 jobs were put in, not 2"):
            Place(small, dsn, Lot("", 2, 1)).calls(lambda queue: None)
