"""A network's faults, on queue_core's worker and a real server: each leaves a receipt, and one that isn't, none."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bench import backends, runner
from bench.checks.ending import nothing_lost
from bench.events import renewals
from bench.faults.base import Fault
from bench.faults.black_hole import BlackHole
from bench.faults.cut import Cut
from bench.faults.refuse import Refuse
from bench.job import Job
from bench.relay import Relay
from bench.scenario import Scenario, Script
from bench.script import Run
from bench.subject import Worker
from tests.live.conftest import Outcome, Play, until


def scenario(script: Script) -> Scenario:
    return Scenario("network", "-", 24, "test", "a network fault", "none", [], [nothing_lost], run=script)


def pids(run: Run, role: str = "") -> list[int]:
    """The worker's backends."""
    return [backend.pid for backend in backends.of(run.dsn, "worker", role)]


@contextmanager
def at_work(run: Run) -> Iterator[tuple[Relay, Worker, Job]]:
    """A worker behind a relay, in the middle of a job, which it ends at the end."""
    with Relay(run.dsn) as relay:
        worker, job = run.worker("worker", via=relay, listen=True), run.enqueue()
        job.until_started(by=worker)
        until(lambda: len(pids(run, "listen")) == 1, "it listens")
        yield relay, worker, job
        job.finish()
        job.until_finished(by=worker)
        run.until_over([job])


def evidence(outcome: Outcome) -> list[dict[str, Any]]:
    assert outcome.verdict == "pass", outcome.said
    assert [event["injected"] for event in outcome.events("fault")] == [True]
    return [event["evidence"] for event in outcome.events("receipt")]


# The black hole.


def test_a_black_hole_is_counted_by_what_it_swallowed(play: Play) -> None:
    seen: list[Any] = []

    def script(run: Run) -> None:
        with at_work(run) as (relay, worker, job):
            before = pids(run)
            with run.fault(BlackHole(relay, worker, during=job)):
                kept = renewals(run.history.events(), "worker", "job")
                until(lambda: relay.swallowed > 0, "it has spoken")
                assert pids(run) == before
                assert renewals(run.history.events(), "worker", "job") == kept
                assert job.is_running
            seen.append((relay.swallowed, relay.cut))
            job.until_renewed(by=worker)

    (receipt,) = evidence(play(scenario(script)))
    assert (receipt["swallowed"], receipt["cut"]) == seen[0]
    assert receipt["swallowed"] > 0
    assert receipt["cut"] > 0


def test_a_black_hole_that_is_never_lifted_has_its_receipt_all_the_same(play: Play) -> None:
    def script(run: Run) -> None:
        with Relay(run.dsn) as relay:
            worker, job = run.worker("worker", via=relay), run.enqueue()
            job.until_started(by=worker)
            run.fault(BlackHole(relay, worker, during=job))
            until(lambda: relay.swallowed > 0, "it has spoken")

    outcome = play(scenario(script))
    (receipt,) = outcome.events("receipt")
    assert receipt["evidence"]["swallowed"] > 0
    assert receipt["evidence"]["cut"] == 0


# The cut.


def test_a_cut_is_counted_by_the_ports_that_are_gone(play: Play) -> None:
    before: dict[int, int] = {}

    def script(run: Run) -> None:
        with at_work(run) as (relay, worker, job):
            before.update((backend.port, backend.pid) for backend in backends.of(run.dsn, "worker"))
            run.fault(Cut(relay, worker, during=job))
            assert before.keys().isdisjoint(relay.ports())
            until(lambda: set(before.values()).isdisjoint(pids(run)), "the server has noticed")
            job.until_renewed(by=worker)
            assert len(pids(run, "heartbeat")) == 1

    (receipt,) = evidence(play(scenario(script)))
    assert sorted(receipt["ports"]) == sorted(before)


# The refusal.


def test_a_refusal_is_counted_by_what_was_cut_and_what_is_refused(play: Play) -> None:
    before: list[backends.Backend] = []

    def script(run: Run) -> None:
        with at_work(run) as (relay, worker, job):
            before.extend(backends.of(run.dsn, "worker", "listen"))
            others = pids(run, "main") + pids(run, "heartbeat")
            with run.fault(Refuse(relay, run, worker)):
                assert pids(run, "listen") == []
                until(lambda: relay.refused > 0, "it tried again")
                job.until_renewed(by=worker)
                assert set(others) <= set(pids(run))
            until(lambda: len(pids(run, "listen")) == 1, "it listens again")

    cut, lifted = evidence(play(scenario(script)))
    assert cut == {"pids": [before[0].pid], "roles": ["listen"], "ports": [before[0].port]}
    assert lifted["refused"] > 0


# What leaves no receipt, and what has no ground.

Make = Callable[[Relay, Run, Worker, Job], Fault]


def black_hole(relay: Relay, run: Run, worker: Worker, job: Job) -> Fault:
    return BlackHole(relay, worker, during=job)


def cut(relay: Relay, run: Run, worker: Worker, job: Job) -> Fault:
    return Cut(relay, worker, during=job)


def refuse(relay: Relay, run: Run, worker: Worker, job: Job) -> Fault:
    return Refuse(relay, run, worker)


@pytest.mark.parametrize(
    ("make", "inert", "reason"),
    [
        (
            black_hole,
            "bench.relay.Relay.swallow",
            "nothing was sent to or by worker that the relay could have swallowed",
        ),
        (cut, "bench.relay.Relay.reset", "the relay still has the connections of worker that were to be cut"),
        (refuse, "bench.relay.Relay.refuse", "the server still has the connections of worker that were to be cut"),
    ],
)
@pytest.mark.usefixtures("_impatient")
def test_a_fault_that_does_nothing_has_none(
    make: Make, inert: str, reason: str, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inert, lambda *_: None)

    def script(run: Run) -> None:
        with at_work(run) as (relay, worker, job), run.fault(make(relay, run, worker, job)):
            job.until_renewed(by=worker)

    outcome = play(scenario(script))
    assert outcome.verdict == "inconclusive"
    assert reason in outcome.said
    assert outcome.events("receipt") == []


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "TRIES", 1)
    monkeypatch.setattr("bench.faults.base.RECEIPT_WITHIN", 0.1)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (black_hole, "worker is not connected through the relay"),
        (cut, "worker is not connected through the relay"),
        (refuse, "worker has no connection to cut"),
        (lambda relay, run, worker, job: Refuse(relay, run, worker, only="main"), "worker has no connection to cut"),
    ],
)
@pytest.mark.usefixtures("_impatient")
def test_there_must_be_something_to_cut(make: Make, reason: str, play: Play) -> None:
    def script(run: Run) -> None:
        worker, job = run.worker("worker"), run.enqueue()
        job.until_started(by=worker)
        with Relay(run.dsn) as relay:
            run.fault(make(relay, run, worker, job))

    outcome = play(scenario(script))
    assert outcome.verdict == "inconclusive"
    assert reason in outcome.said
    assert [event["injected"] for event in outcome.events("fault")] == [False]


@pytest.mark.parametrize("make", [black_hole, cut])
@pytest.mark.usefixtures("_impatient")
def test_they_wait_for_the_middle_of_the_job(make: Make, play: Play) -> None:
    def script(run: Run) -> None:
        with Relay(run.dsn) as relay:
            run.fault(make(relay, run, run.worker("worker", via=relay), Job(run, "none", "0")))

    outcome = play(scenario(script))
    assert outcome.verdict == "inconclusive"
    assert "worker is not in the middle of none" in outcome.said


@pytest.mark.parametrize("make", [black_hole, cut, refuse])
def test_a_sham_does_nothing(make: Make, play: Play) -> None:
    seen: list[Any] = []

    def script(run: Run) -> None:
        with at_work(run) as (relay, worker, job):
            before = pids(run)
            with run.fault(make(relay, run, worker, job)):
                job.until_renewed(by=worker)
            seen.append((pids(run) == before, relay.swallowed, relay.cut, relay.refused))

    outcome = play(scenario(script), fault=False)
    assert outcome.verdict == "pass", outcome.said
    assert seen == [(True, 0, 0, 0)]
