"""The faults that bring work: each on the real queue, and with no receipt where the queue does not have it."""

from collections.abc import Callable
from typing import Any

import pytest

from bench import runner
from bench.checks.ending import recovered
from bench.faults.flood import Flood
from bench.faults.flow import Flow
from bench.faults.release import NewRelease
from bench.job import Job
from bench.orders import FINISH
from bench.scenario import Scenario
from bench.script import Run
from bench.subject import Worker
from tests.live.conftest import Outcome, Play

SOON = (0.1, 0.1)


def scenario(script: Callable[[Run], None]) -> Scenario:
    return Scenario("load", "-", 1, "test", "-", "-", [], [recovered], run=script)


def evidence(outcome: Outcome) -> dict[str, Any]:
    (receipt,) = outcome.events("receipt")
    found: dict[str, Any] = receipt["evidence"]
    return found


def flood(run: Run) -> None:
    flood = Flood(run, "load", 5)
    with run.fault(flood):
        run.worker("worker", slots=2)
        run.until_state(flood.jobs[:2], "running", within=2)
        run.observe("two of them hold, the others wait", *flood.jobs)
    run.all_finished_within(flood.jobs, 4, bound="they were told to end")


def flow(run: Run) -> None:
    low = run.enqueue("low", orders=[FINISH])
    flow = Flow(run, "urgent", every=0.1, priority=1)
    with run.fault(flow):
        run.worker("worker")
        flow.go_on(3)
        run.observe("urgent ones have come", low, *flow.jobs)
    run.all_finished_within([low, *flow.jobs], 4, bound="the flow is over")


def release(run: Run) -> None:
    run.worker("old")
    release = NewRelease(run, "new", version=2, backoff=SOON, max_attempts=3)
    run.fault(release)
    for job in release.jobs:
        job.finish()
    run.all_finished_within(release.jobs, 4, bound="the new release is idle")


def test_a_flood_holds_until_it_is_lifted(play: Play) -> None:
    outcome = play(scenario(flood))
    assert outcome.verdict == "pass", outcome.said
    assert evidence(outcome) == {"put in": 5, "queued": 5}
    (seen,) = outcome.events("observation")
    assert [row[1] for row in seen["rows"]] == ["running", "running", "queued", "queued", "queued"]
    assert outcome.events("finished")[0]["t"] > seen["t"]


def test_a_flow_leaves_no_gap(play: Play) -> None:
    outcome = play(scenario(flow))
    assert outcome.verdict == "pass", outcome.said
    found = evidence(outcome)
    assert found.pop("came") == 4
    assert sum(found.values()) == 4
    events = [(event["event"], event.get("job")) for event in outcome.arm.events]
    for number in (1, 2, 3):
        assert events.index(("enqueued", f"urgent-{number + 1}")) < events.index(("finished", f"urgent-{number}"))
    assert events.index(("started", "urgent-4")) < events.index(("started", "low"))


def test_a_new_release_is_at_work(play: Play) -> None:
    outcome = play(scenario(release))
    assert outcome.verdict == "pass", outcome.said
    found = evidence(outcome)
    (start,) = outcome.events("started")
    assert found == {"pid": start["pid"], "version": 2, "began": "new-form"}
    assert start["worker"] == "new"


def empty(run: Run) -> None:
    """A flood that the queue knows nothing of."""
    load = run.load

    def lose(*args: Any, **wishes: Any) -> list[Job]:
        jobs = load(*args, **wishes)
        run.execute("DELETE FROM jobs WHERE id > 3")
        return jobs

    vars(run)["load"] = lose
    flood(run)


def dry(run: Run) -> None:
    """A flow of one."""
    with run.fault(Flow(run, "urgent", every=0.1)):
        run.worker("worker")


def untaken(run: Run) -> None:
    """A flow that nobody takes anything of."""
    flow = Flow(run, "urgent", every=0.1)
    with run.fault(flow):
        flow.jobs += run.load(3)


def gone(run: Run) -> None:
    """A new release that ends as soon as it has begun a job."""
    start = run.worker

    def start_and_die(*args: Any, **options: Any) -> Worker:
        worker = start(*args, **options)
        vars(worker)["tree"] = list
        return worker

    vars(run)["worker"] = start_and_die
    release(run)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (empty, "the queue does not have all 5 of load to do: {'queued': 3, 'absent': 2}"),
        (dry, "urgent was no flow: 1 jobs came, {"),
        (untaken, "urgent was no flow: 4 jobs came, {'queued': 4}"),
        (gone, "new is not there, or not at work"),
    ],
)
def test_a_fault_that_brings_nothing_has_no_receipt(
    script: Callable[[Run], None], reason: str, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "TRIES", 1)
    outcome = play(scenario(script))
    assert outcome.verdict == "inconclusive"
    assert reason in outcome.said
    assert outcome.events("receipt") == []


@pytest.mark.parametrize("script", [flood, flow, release])
def test_a_sham_brings_nothing(script: Callable[[Run], None], play: Play) -> None:
    outcome = play(scenario(script), fault=False)
    assert outcome.verdict == "pass", outcome.said
    assert {event["job"] for event in outcome.events("enqueued")} <= {"low"}
