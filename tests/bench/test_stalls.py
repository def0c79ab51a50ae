"""The stall meter, on a clock that is driven by hand."""

import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bench import stalls
from bench.stalls import TICK, WORTH_KEEPING, StallMeter, measure

START = 100.0


class Clock:
    """Stands in for `time`: each sleep lasts longer than asked for by the next of `overshoots`, the last for ever."""

    def __init__(self, overshoots: list[float]) -> None:
        self.time = START
        self.over = threading.Event()
        self._left = overshoots
        self._held = threading.Event()

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        if not self._left:
            self.over.set()
            self._held.wait()
            return
        self.time += seconds + self._left.pop(0)

    def release(self) -> None:
        self._held.set()


@contextmanager
def asleep(monkeypatch: pytest.MonkeyPatch, overshoots: list[float]) -> Iterator[tuple[StallMeter, Clock]]:
    """A meter that has lived through these overshoots and sleeps, and its clock."""
    clock = Clock(overshoots)
    monkeypatch.setattr(stalls, "time", clock)
    with StallMeter() as meter:
        assert clock.over.wait(60.0)
        try:
            yield meter, clock
        finally:
            clock.release()


@contextmanager
def measured(monkeypatch: pytest.MonkeyPatch, overshoots: list[float]) -> Iterator[StallMeter]:
    """A meter that has lived through these overshoots."""
    with asleep(monkeypatch, overshoots) as (meter, _):
        yield meter


def test_the_longest_stall_and_when_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    with measured(monkeypatch, [0.0, 0.1, 0.3, 0.2]) as meter:
        stall, at = meter.longest()
    assert stall == pytest.approx(0.3)
    assert at == pytest.approx(START + 3 * TICK + 0.4)


def test_a_machine_that_never_stalls(monkeypatch: pytest.MonkeyPatch) -> None:
    with measured(monkeypatch, [0.0] * 5) as meter:
        assert meter.longest() == (0.0, 0.0)
        assert meter.longest(since=7.0) == (0.0, 7.0)


def test_what_is_not_worth_keeping_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    with measured(monkeypatch, [WORTH_KEEPING * 0.9]) as meter:
        assert meter.longest() == (0.0, 0.0)
    with measured(monkeypatch, [WORTH_KEEPING * 1.1]) as meter:
        assert meter.longest()[0] == pytest.approx(WORTH_KEEPING * 1.1)


def test_only_what_ended_since_then_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    first = START + TICK + 0.5
    second = first + TICK + 0.1
    with measured(monkeypatch, [0.5, 0.1]) as meter:
        assert meter.longest(since=first - 0.25)[0] == pytest.approx(0.5), "it was under way then"
        assert meter.longest(since=first + 0.001)[0] == pytest.approx(0.1)
        assert meter.longest(since=second + 0.001) == (0.0, second + 0.001)


def test_a_stall_that_is_still_under_way_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    with asleep(monkeypatch, [0.1]) as (meter, clock):
        clock.time += TICK + 0.5
        stall, at = meter.longest()
        assert stall == pytest.approx(0.5)
        assert at == clock.time
        assert meter.longest(since=clock.time - 0.001) == (stall, at), "it had begun before"


def test_the_first_stall_may_be_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    with asleep(monkeypatch, []) as (meter, clock):
        clock.time += TICK + 0.2
        assert meter.longest()[0] == pytest.approx(0.2)


def test_a_sleep_that_is_not_over_is_no_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    with asleep(monkeypatch, [0.0]) as (meter, clock):
        clock.time += TICK
        assert meter.longest(since=7.0) == (0.0, 7.0)
        clock.time += WORTH_KEEPING * 0.9
        assert meter.longest(since=7.0) == (0.0, 7.0)


def test_of_a_stall_that_ended_and_one_under_way_the_longer_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    with asleep(monkeypatch, [0.3]) as (meter, clock):
        ended = clock.time
        clock.time += TICK + 0.2
        stall, at = meter.longest()
        assert stall == pytest.approx(0.3)
        assert at == ended
        stall, at = meter.longest(since=ended + 0.001)
        assert stall == pytest.approx(0.2)
        assert at == clock.time
        clock.time += 0.2
        stall, at = meter.longest()
        assert stall == pytest.approx(0.4)
        assert at == clock.time


def test_measure_gives_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock([0.1, 0.2, 0.0])
    asked = []

    class Event(threading.Event):
        """Its wait is over when the clock has run down."""

        def wait(self, timeout: float | None = None) -> bool:
            asked.append(timeout)
            over = clock.over.wait(60.0)
            clock.release()
            return over

    monkeypatch.setattr(stalls, "time", clock)
    monkeypatch.setattr(stalls, "threading", types.SimpleNamespace(Event=Event, Thread=threading.Thread))
    assert measure(0.25) == pytest.approx(0.2)
    assert asked == [0.25]
