"""The measure of growth, at the smallest scale, and what it counts: rows, plans and pages."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from bench.speed import measure
from bench.speed.figures import AGAIN
from bench.speed.ground import Ground, ground
from queue_core import Queue
from subjects.queue_core.speed import claims
from subjects.queue_core.speed.grown import EMPTY, OLD, SNAPSHOT_FREE, STEPS

INDEXES = {"jobs_ready", "jobs_pkey"}


@pytest.fixture(scope="module")
def small() -> Iterator[Ground]:
    with ground("embedded", rounds=1, scale=0.001, tell=lambda text: None) as found:
        yield found


@pytest.fixture
def dsn(small: Ground) -> Iterator[str]:
    with small.database(synchronous_commit=False) as dsn:
        yield dsn


@pytest.fixture
def queue(dsn: str) -> Iterator[Queue]:
    with claims.opened(dsn) as queue:
        yield queue


def count(queue: Queue, state: str) -> int:
    found: int = queue.connection.execute("SELECT count(*) FROM jobs WHERE state = %s", [state]).fetchall()[0][0]
    return found


def test_it_measures_what_it_says(small: Ground) -> None:
    result = measure("growth").run(small)
    assert [len(table.rows) for table in result.tables] == [8, 3, STEPS + 1, 3, 7]
    assert all(len(row) == len(table.columns) for table in result.tables for row in table.rows)
    assert [goal.wanted for goal in result.goals] == [1.2, 1.2, 2.0, 2.0]
    assert all(goal.figure is not None for goal in result.goals)
    assert len(result.missing) == 1
    assert {EMPTY, EMPTY + AGAIN} <= {sample["contender"] for sample in result.raw["depth"]}
    assert {OLD, SNAPSHOT_FREE} <= {sample["contender"] for sample in result.raw["old snapshot"]}
    [retained] = [sample for sample in result.raw["retention"] if sample["figures"]["deleted"]]
    assert retained["figures"]["deleted"] == 500
    assert result.raw["bloat"]["rows"] == 2000
    json.dumps(result.raw)


def test_the_depth_stays(queue: Queue) -> None:
    claims.fill(queue, "queued", 50)
    assert len(claims.steady(queue, 7)) == 7
    assert (count(queue, "queued"), count(queue, "done")) == (50, 7)
    claims.fill(queue, "done", 50)
    assert len(claims.steady(queue, 7)) == 7
    assert (count(queue, "queued"), count(queue, "done")) == (0, 57)


@pytest.mark.parametrize("state", ["queued", "done"])
def test_a_claim_reads_the_indexes_and_few_pages(queue: Queue, state: claims.State) -> None:
    claims.fill(queue, state, 5000)
    tree = claims.plan(queue)
    assert claims.indexes(tree) == INDEXES
    assert 0 < claims.buffers(tree) < 50
    assert count(queue, "running") == 0


def test_an_old_snapshot_keeps_what_claims_then_pass_over(queue: Queue, dsn: str) -> None:
    claims.fill(queue, "queued", 2100)
    before = claims.buffers(claims.plan(queue))
    with claims.old_snapshot(dsn):
        claims.churn(queue, 2000, 100)
        [last], _ = claims.claim(queue)
        head, onward = claims.plan(queue), claims.plan(queue, {"turn": last.turn, "id": last.id})
    assert claims.indexes(head) == claims.indexes(onward) == INDEXES
    assert claims.buffers(head) > 2 * before
    assert claims.buffers(onward) < 2 * before


def test_claimers_get_each_job_once(small: Ground, queue: Queue, dsn: str) -> None:
    claims.fill(queue, "queued", 40)
    done = subprocess.run(
        [sys.executable, "-m", "subjects.queue_core.speed.claimers", "3", "5"],
        env=small.environment({"LEASEPROOF_POSTGRES": dsn}),
        capture_output=True,
        check=True,
        text=True,
    )
    assert len(json.loads(done.stdout)["ms"]) == 15
    assert (count(queue, "queued"), count(queue, "done")) == (25, 15)


def test_a_claim_that_brings_nothing_is_an_error(queue: Queue) -> None:
    claims.fill(queue, "done", 5)
    with pytest.raises(claims.GrowthError, match="brought 0 jobs"):
        claims.claim(queue)
