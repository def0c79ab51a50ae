"""Handlers that raise and statistics that are stale, on the real queue; with no receipt where it is not so."""

from collections.abc import Callable
from typing import Any

import pytest

from bench import runner
from bench.checks.ending import nothing_lost
from bench.faults import base
from bench.faults.errors import Errors
from bench.faults.stale import StaleStatistics
from bench.job import Job
from bench.orders import fail
from bench.scenario import Scenario
from bench.script import Run
from tests.live.conftest import Outcome, Play

Perform = Callable[..., Outcome]


@pytest.fixture
def perform(play: Play, monkeypatch: pytest.MonkeyPatch) -> Perform:
    """Run a script once, in an arm with its fault unless it is said else."""
    monkeypatch.setattr(runner, "TRIES", 1)

    def perform(script: Callable[[Run], None], fault: bool = True) -> Outcome:
        return play(Scenario("errors", "-", 1, "test", "-", "-", [], [nothing_lost], run=script), fault=fault)

    return perform


def evidence(outcome: Outcome) -> list[dict[str, Any]]:
    return [receipt["evidence"] for receipt in outcome.events("receipt")]


# Errors.


def raises(run: Run, always: bool = False) -> None:
    worker = run.worker("worker", slots=2, backoff=(0.05, 0.05))
    jobs = [run.enqueue(name, max_attempts=2) for name in ("a", "b")]
    for job in jobs:
        job.until_started(by=worker)
    run.fault(Errors({jobs[0]: fail("no a"), jobs[1]: fail("no b", "permanent")}, always=always))
    for job in jobs:
        job.finish()
    run.until_over(jobs, within=20)


def test_each_handler_raises_its_own_error_once(perform: Perform) -> None:
    outcome = perform(raises)
    assert outcome.verdict == "pass", outcome.said
    assert evidence(outcome) == [{"raised": {"a": "no a", "b": "no b"}}]
    assert sorted(event["error"] for event in outcome.events("raised")) == ["no a", "no b"]
    assert [event["job"] for event in outcome.events("finished")] == ["a"]


def test_a_handler_raises_always(perform: Perform) -> None:
    outcome = perform(lambda run: raises(run, always=True))
    assert outcome.verdict == "pass", outcome.said
    assert sorted(event["error"] for event in outcome.events("raised")) == ["no a", "no a", "no b"]
    assert not outcome.events("finished")
    assert {event["job"]: event["row"]["state"] for event in outcome.events("row")} == {"a": "failed", "b": "failed"}


def again(run: Run) -> None:
    worker = run.worker("worker", backoff=(0.05, 0.05))
    job = run.enqueue(max_attempts=3)
    job.until_started(by=worker)
    run.fault(Errors({job: fail("no")}, times=2))
    job.finish()
    run.until_over([job], within=20)


def test_a_handler_raises_so_often_and_no_more(perform: Perform) -> None:
    outcome = perform(again)
    assert outcome.verdict == "pass", outcome.said
    assert evidence(outcome) == [{"raised": {"job": "no"}}]
    assert [event["execution"] for event in outcome.events("raised")] == [1, 2]
    assert [event["execution"] for event in outcome.events("finished")] == [3]


def test_no_handler_raises_in_a_sham(perform: Perform) -> None:
    outcome = perform(raises, fault=False)
    assert outcome.verdict == "pass", outcome.said
    assert not outcome.events("raised")
    assert sorted(event["job"] for event in outcome.events("finished")) == ["a", "b"]


def test_a_handler_that_does_not_raise_leaves_no_receipt(perform: Perform, monkeypatch: pytest.MonkeyPatch) -> None:
    order = Job.order
    monkeypatch.setattr(base, "RECEIPT_WITHIN", 0.1)
    monkeypatch.setattr(Job, "order", lambda job, *how, **who: job.name == "a" and order(job, *how, **who))
    outcome = perform(raises)
    assert outcome.verdict == "inconclusive"
    assert "b did not raise" in outcome.said


def test_a_handler_that_does_not_run_can_raise_nothing(perform: Perform) -> None:
    outcome = perform(lambda run: run.fault(Errors({run.enqueue("idle"): fail("no")})))
    assert outcome.verdict == "inconclusive"
    assert "idle not running" in outcome.said


# Stale statistics.

BELIEVED = "SELECT reltuples::bigint FROM pg_class WHERE oid = 'jobs'::regclass"


def stale(run: Run, first: int = 1, more: int = 4) -> None:
    run.load(first, "first")
    run.execute("ANALYZE jobs")
    with run.fault(StaleStatistics(run, "jobs")):
        run.load(more, "more") if more else None
        assert run.execute("ANALYZE (SKIP_LOCKED) jobs") == "00000"
        run.observe("meanwhile", table=run.query(BELIEVED))
    run.execute("ANALYZE (SKIP_LOCKED) jobs")
    run.observe("afterwards", table=run.query(BELIEVED))


@pytest.mark.parametrize(("fault", "meanwhile"), [(True, "1"), (False, "5")])
def test_no_analyze_comes_through(fault: bool, meanwhile: str, perform: Perform) -> None:
    outcome = perform(stale, fault=fault)
    assert outcome.verdict == "pass", outcome.said
    assert evidence(outcome) == ([{"rows": 5, "believed": 1}] if fault else [])
    assert [seen["rows"] for seen in outcome.events("observation")] == [[[meanwhile]], [["5"]]]


def test_statistics_that_are_right_leave_no_receipt(perform: Perform) -> None:
    outcome = perform(lambda run: stale(run, more=0))
    assert outcome.verdict == "inconclusive"
    assert "the planner believes in 1 rows of jobs, and there are 1" in outcome.said
