"""Who is told to stop and killed if he does not, and who is killed by his own job: the receipts are real."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psutil
import pytest

from bench import runner
from bench.checks.ending import nothing_lost
from bench.faults import base
from bench.faults.evict import Evict
from bench.faults.poison import STATUS, Poison
from bench.job import Job
from bench.orders import fail
from bench.scenario import Scenario
from bench.script import Run
from bench.subject import Worker
from tests.fakes.sane import Sane
from tests.fakes.subjects import subject
from tests.live.conftest import Outcome, Play

SANE = subject(Sane)

Perform = Callable[[Callable[[Run], None]], Outcome]


@pytest.fixture
def perform(play: Play, monkeypatch: pytest.MonkeyPatch) -> Perform:
    """Run a script once, in an arm with its fault."""
    monkeypatch.setattr(runner, "TRIES", 1)
    scenario = Scenario("deploy-faults", "-", 1, "test", "-", "-", [], [nothing_lost])
    return lambda script: play(replace(scenario, run=script), subject=SANE)


def busy(run: Run, **options: Any) -> tuple[Worker, Job]:
    """A worker in the middle of a job that does not end."""
    worker, job = run.worker("worker", **options), run.enqueue()
    job.until_started(by=worker)
    return worker, job


def evidence(outcome: Outcome) -> list[dict[str, Any]]:
    return [receipt["evidence"] for receipt in outcome.events("receipt")]


# Evict.


def test_one_who_ends_in_time_is_not_killed(perform: Perform) -> None:
    def script(run: Run) -> None:
        worker, job = busy(run)
        with run.fault(Evict(worker, during=job, within=60)):
            job.finish()

    outcome = perform(script)
    assert outcome.verdict == "pass", outcome.said
    told, ended = evidence(outcome)
    assert told["arrived"]
    assert ended == {"status": 0}
    assert len(outcome.events("finished")) == 1


def test_one_who_does_not_is_killed_and_not_before(perform: Perform) -> None:
    def script(run: Run) -> None:
        worker, job = busy(run)
        with run.fault(Evict(worker, during=job, within=0.4)):
            pass
        assert not worker.tree()

    outcome = perform(script)
    assert outcome.verdict == "pass", outcome.said
    assert evidence(outcome)[1] == {"status": -signal.SIGKILL}
    (fault,), (exited,) = outcome.events("fault"), outcome.events("exited")
    assert exited["t"] - fault["t"] >= 0.4 * 0.5


def test_one_who_outlives_its_kill_leaves_no_receipt(perform: Perform, monkeypatch: pytest.MonkeyPatch) -> None:
    def script(run: Run) -> None:
        worker, job = busy(run)
        with monkeypatch.context() as patch, run.fault(Evict(worker, during=job, within=0)):
            patch.setattr(base, "RECEIPT_WITHIN", 0.1)
            patch.setattr(psutil.Process, "kill", lambda _: None)

    outcome = perform(script)
    assert outcome.verdict == "inconclusive"
    assert "was not reaped after SIGKILL" in outcome.said


# Poison.


def test_a_poisonous_job_kills_whoever_runs_it(perform: Perform) -> None:
    def script(run: Run) -> None:
        worker, job = busy(run, supervised=True)
        run.fault(Poison(worker, during=job))
        run.until_lease_over(job, within=10)
        run.reclaim()
        run.need("it kills another", lambda events: sum(event["event"] == "exited" for event in events) == 2)
        run.need("there is a third", lambda events: sum(event["event"] == "ready" for event in events) == 3)

    outcome = perform(script)
    assert outcome.verdict == "pass", outcome.said
    exits = outcome.events("exited")
    assert evidence(outcome) == [{"pid": exits[0]["pid"], "status": STATUS}]
    assert [exited["status"] for exited in exits[:2]] == [STATUS, STATUS]
    assert [started["pid"] for started in outcome.events("started")] == [exited["pid"] for exited in exits[:2]]
    assert {spawned["worker"] for spawned in outcome.events("spawned")} == {"worker"}


def test_a_job_that_nobody_dies_of_is_no_poison(perform: Perform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "RECEIPT_WITHIN", 0.1)
    monkeypatch.setattr(Job, "order", lambda *_: None)

    def script(run: Run) -> None:
        worker, job = busy(run)
        run.fault(Poison(worker, during=job))

    outcome = perform(script)
    assert outcome.verdict == "inconclusive"
    assert "outlived job" in outcome.said


def test_a_death_of_another_kind_is_no_poisoning(perform: Perform, monkeypatch: pytest.MonkeyPatch) -> None:
    def script(run: Run) -> None:
        worker, job = busy(run)
        monkeypatch.setattr(Job, "order", lambda *_: os.kill(worker.pid, signal.SIGKILL))
        run.fault(Poison(worker, during=job))

    outcome = perform(script)
    assert outcome.verdict == "inconclusive"
    assert "worker ended with -9, and job ends it with 9" in outcome.said


@pytest.mark.parametrize("fault", [lambda worker, job: Evict(worker, job, 1), Poison], ids=["evict", "poison"])
def test_neither_is_done_to_one_who_is_idle(fault: Callable[[Worker, Job], base.Fault], perform: Perform) -> None:
    def script(run: Run) -> None:
        run.fault(fault(run.worker("worker"), Job(run, "none", "0")))

    outcome = perform(script)
    assert outcome.verdict == "inconclusive"
    assert "worker is not in the middle of none" in outcome.said


# What the scenarios that use them ask of the bench besides.


def test_a_job_that_is_held_does_nothing_that_was_planned_for_it(perform: Perform) -> None:
    def script(run: Run) -> None:
        job = run.enqueue(orders=[fail("not any more")])
        job.hold()
        worker = run.worker("worker")
        job.until_started(by=worker)
        run.fault(Evict(worker, during=job, within=60))
        job.finish()
        job.until_finished(by=worker)

    outcome = perform(script)
    assert outcome.verdict == "pass", outcome.said
    assert outcome.events("raised") == []
