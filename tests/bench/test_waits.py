"""How a script waits for what the queue says of a job, asked of a queue whose answers are given in advance."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench.contract import Row
from bench.history import History
from bench.job import Job
from bench.script import Run
from bench.waits import SETTLED, Waits


class Clocked(History):
    """A history whose time passes only when it is let pass."""

    time = 0.0

    def now(self) -> float:
        return self.time


class Asked(Waits):
    """A queue that answers with one state after another, and then with the last for ever."""

    history: Clocked

    def __init__(self, *states: str) -> None:
        self.history = Clocked()
        self.lease = 1.0
        self.states = list(states)
        self.job = Job(cast(Run, SimpleNamespace(history=self.history)), "job", "1")

    def rows(self, jobs: Sequence[Job]) -> list[Row]:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return [Row({"id": "1", "state": state}) for _ in jobs]

    def let_pass(self, leases: float) -> None:
        self.history.time += leases * self.lease

    def executed(self, ending: str, **about: Any) -> None:
        self.history.add("started", job="job", worker="worker", pid=1, attempt=1, execution=1)
        self.history.add(ending, execution=1, job="job", worker="worker", **about)


@pytest.mark.parametrize("between", ["absent", "failed"])
def test_a_job_that_is_tried_again_is_not_over_between_two_attempts(between: str) -> None:
    asked = Asked("absent", between, between, "queued", "running", "failed")
    asked.executed("raised", error="no")
    assert asked.until_over([asked.job], within=10)
    assert asked.states == ["failed"]


def test_one_that_stays_failed_is_over() -> None:
    asked = Asked("failed")
    asked.executed("raised", error="no")
    assert asked.until_over([asked.job], within=10)
    assert SETTLED <= asked.history.now() < SETTLED + 0.1


@pytest.mark.parametrize("state", ["done", "absent"])
def test_one_that_was_finished_is_over_at_once_though_its_queue_may_have_no_record_of_it(state: str) -> None:
    asked = Asked(state)
    asked.executed("finished")
    assert asked.until_over([asked.job], within=10)
    assert asked.history.now() == 0


def test_one_that_runs_is_not_over_though_its_queue_has_no_record_of_it() -> None:
    asked = Asked("absent")
    asked.history.add("started", job="job", worker="worker", pid=1, attempt=1, execution=1)
    assert not asked.until_over([asked.job], within=10)
