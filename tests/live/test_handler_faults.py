"""Jobs that come before their workers, and handlers that block, on the real queue; with no receipt if it is not so."""

from collections.abc import Callable
from typing import Any

import pytest

from bench import runner
from bench.checks.ending import nothing_lost
from bench.faults.block import Block
from bench.faults.early import Early
from bench.faults.spin import Spin
from bench.job import Job
from bench.orders import CLOCK
from bench.scenario import Scenario
from bench.script import Run
from bench.subject import Worker
from tests.live.conftest import Outcome, Play

Perform = Callable[..., Outcome]


@pytest.fixture
def perform(play: Play, monkeypatch: pytest.MonkeyPatch) -> Perform:
    """Run a script once, in an arm with its fault unless it is said else."""
    monkeypatch.setattr(runner, "TRIES", 1)

    def perform(script: Callable[[Run], None], fault: bool = True) -> Outcome:
        return play(Scenario("handlers", "-", 1, "test", "-", "-", [], [nothing_lost], run=script), fault=fault)

    return perform


def evidence(outcome: Outcome) -> list[dict[str, Any]]:
    return [receipt["evidence"] for receipt in outcome.events("receipt")]


# Early.


def early(run: Run) -> None:
    jobs = Early(run, "early", 2)
    run.fault(jobs)
    run.worker("worker")
    run.all_finished_within(jobs.jobs, 20, bound="")


def test_jobs_are_there_before_any_worker(perform: Perform) -> None:
    outcome = perform(early)
    assert outcome.verdict == "pass", outcome.said
    assert evidence(outcome) == [{"workers": 0, "states": ["queued", "queued"]}]
    kinds = [event["event"] for event in outcome.arm.events]
    assert kinds.index("receipt") < kinds.index("spawned")
    assert [event["job"] for event in outcome.events("finished")] == ["early-1", "early-2"]


def test_no_job_is_there_in_a_sham(perform: Perform) -> None:
    outcome = perform(early, fault=False)
    assert outcome.verdict == "pass", outcome.said
    assert not outcome.events("enqueued")


def test_after_a_worker_was_started_there_is_no_ground_for_it(perform: Perform) -> None:
    def late(run: Run) -> None:
        run.worker("worker")
        run.fault(Early(run, "late", 1))

    outcome = perform(late)
    assert outcome.verdict == "inconclusive"
    assert "a worker was started before" in outcome.said


# Block.


def blocks(run: Run, seconds: float = 0.4) -> None:
    worker, job = run.worker("worker"), run.enqueue()
    job.until_started(by=worker)
    run.fault(Block(worker, during=job, seconds=seconds))
    job.finish()
    run.until_over([job], within=20)


def test_a_handler_answers_when_it_blocks_no_longer(perform: Perform) -> None:
    outcome = perform(blocks)
    assert outcome.verdict == "pass", outcome.said
    (receipt,) = evidence(outcome)
    assert receipt["silent"] >= 0.35
    assert receipt["heard"] == "clock"


def test_a_handler_does_not_block_in_a_sham(perform: Perform) -> None:
    outcome = perform(blocks, fault=False)
    assert outcome.verdict == "pass", outcome.said
    assert not outcome.events("clock")


def test_a_handler_that_answers_at_once_did_not_block(perform: Perform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.faults.block.block", lambda seconds: {"order": "block", "seconds": 0.0})
    outcome = perform(blocks)
    assert outcome.verdict == "inconclusive"
    assert "job was to block for 0.4 s, and was heard of after 0.0" in outcome.said


def test_a_handler_that_was_never_told_did_not_block(perform: Perform, monkeypatch: pytest.MonkeyPatch) -> None:
    order = Job.order
    monkeypatch.setattr(Job, "order", lambda job, what, **who: what == CLOCK and order(job, what, **who))
    outcome = perform(blocks)
    assert outcome.verdict == "inconclusive"
    assert "job was not told to block" in outcome.said


def test_a_block_that_is_over_before_a_rival_is_ready_shows_nothing(perform: Perform) -> None:
    def alone(run: Run) -> None:
        blocks(run)
        run.worker("rival")

    outcome = perform(alone)
    assert outcome.verdict == "inconclusive"
    assert "no other worker was ready in time to take job from worker" in outcome.said


# Spin.


def spins(run: Run, seconds: float = 0.4) -> None:
    worker, job = run.worker("worker"), run.enqueue()
    job.until_started(by=worker)
    run.fault(Spin(worker, during=job, seconds=seconds))
    job.finish()
    run.until_over([job], within=20)


def test_a_handler_that_computes_burns_cpu(perform: Perform) -> None:
    outcome = perform(spins)
    assert outcome.verdict == "pass", outcome.said
    (receipt,) = evidence(outcome)
    assert receipt["burnt"] > 0


def test_a_handler_that_waits_did_not_compute(perform: Perform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Worker, "cpu_seconds", lambda worker: 0.0)
    outcome = perform(spins)
    assert outcome.verdict == "inconclusive"
    assert "worker burnt 0.000 s of CPU" in outcome.said


@pytest.mark.parametrize(("burnt", "verdict"), [(2.0, "pass"), (1.0, "inconclusive")])
def test_of_the_time_that_it_waited_for_a_cpu_it_burns_nothing(
    burnt: float, verdict: str, perform: Perform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told to burn 50 s (it does so for a moment only), it waited for 35 of them: a tenth of the rest is 1.5 s."""
    monkeypatch.setattr("bench.faults.spin.spin", lambda seconds: {"order": "spin", "seconds": 0.05})
    burnings, waits = iter([0.0, burnt]), iter([{7: 1.0}, {7: 36.0, 8: 1.0}])
    monkeypatch.setattr(Worker, "cpu_seconds", lambda worker: next(burnings))
    monkeypatch.setattr(Worker, "waited", lambda worker: next(waits))
    outcome = perform(lambda run: spins(run, seconds=50))
    assert outcome.verdict == verdict, outcome.said


def test_a_rival_that_was_ready_in_time_could_take_the_job(perform: Perform) -> None:
    def rival(run: Run) -> None:
        worker, job = run.worker("worker"), run.enqueue()
        job.until_started(by=worker)
        run.worker("rival")
        run.fault(Spin(worker, during=job, seconds=1.0))
        job.finish()
        run.until_over([job], within=20)

    outcome = perform(rival)
    assert outcome.verdict == "pass", outcome.said
