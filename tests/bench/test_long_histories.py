"""Histories of many jobs: a check looks at each event a few times, whatever their number."""

from collections.abc import Iterator
from typing import Any

import pytest

from bench.checks import Check
from bench.history import Event
from bench.verdict import judge
from tests.bench.histories import (
    END,
    KILLED,
    STALLED,
    Run,
    enqueued,
    event,
    exited,
    history,
    injected,
    receipt,
    reclaimed,
    row,
    spawned,
    wait,
)
from tests.bench.test_checks import CHECKS

JOBS = 20_000
LOOKS = 12
"""At each event, of any check."""


class Counting(list[Event]):
    """A history that counts how many of its events were looked at."""

    looks = 0

    def __iter__(self) -> Iterator[Event]:
        for each in super().__iter__():
            self.looks += 1
            yield each

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        self.looks += len(found) if isinstance(at, slice) else 1
        return found


def load() -> Iterator[Event]:
    """Jobs that end well; every tenth after a worker was killed, and every hundredth after that was told to stop."""
    for number in range(1, JOBS + 1):
        job, worker, rival = f"load-{number}", f"worker-{number % 8}", f"rival-{number}"
        mine, late = Run(2 * number, worker, job), Run(2 * number + 1, rival, job)
        yield enqueued(job, "load")
        if number % 10 == 0:
            yield from [spawned(rival, pid=late.number), late.started, late.kept, row(job=job, leased_by=rival)]
            if number % 100 == 0:
                yield from [injected("SIGTERM", rival, step=number), receipt(number)]
            yield from [late.died, exited(rival, KILLED, pid=late.number), row(job=job, lease_alive="f")]
            yield reclaimed(job, since=0)
        yield from [mine.started, mine.kept, mine.effect(job), mine.told_to_finish, mine.finished, mine.accepted]
        yield wait(True, job, "1 L")
    for number in range(1, JOBS + 1):
        yield row("done", f"load-{number}", leased_by=None, attempt=2 if number % 10 == 0 else 1)


def crash_loop() -> Iterator[Event]:
    """One job that every worker dies of, and that is reclaimed each time."""
    yield enqueued()
    for number in range(1, JOBS // 20):
        run = Run(number, f"worker-{number % 8}")
        yield from [run.started, run.kept, row(lease_alive="t"), run.died, row(lease_alive="f"), run.refused]
        yield reclaimed("job", since=0)


@pytest.fixture(scope="module", params=[load, crash_loop])
def events(request: pytest.FixtureRequest) -> Counting:
    step = [injected(), receipt()]
    return Counting(history(*request.param(), *step, STALLED, END))


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_looks_a_few_times_at_each_event(check: Check, events: Counting) -> None:
    events.looks = 0
    for anomaly in check(events):
        assert anomaly.text
    assert 0 < events.looks <= LOOKS * len(events)


def test_so_does_the_judge(events: Counting) -> None:
    events.looks = 0
    assert judge(events, CHECKS).verdict == "fail"
    assert events.looks <= LOOKS * len(events) * len(CHECKS)


def test_a_check_that_scans_for_each_job_looks_too_often() -> None:
    some = Counting(history(*[event("started", job=f"job-{number}") for number in range(100)]))
    assert [sum(each["job"] == begun["job"] for each in some[1:]) for begun in some[1:]] == [1] * 100
    assert some.looks > LOOKS * len(some)
