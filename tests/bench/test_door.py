"""The door lets one in at a time, and only while there is room."""

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from bench import door
from bench.door import Door, room


def times(user: float = 0, system: float = 0, idle: float = 0, nice: float = 0) -> Any:
    return SimpleNamespace(user=user, system=system, idle=idle, nice=nice)


@pytest.mark.parametrize(
    ("after", "share"),
    [
        (times(user=3, system=1), 0.0),
        (times(user=1, system=1, idle=2), 0.5),
        (times(user=1, nice=3), 0.75),
        (times(), 0.0),
    ],
)
def test_room_is_what_nobody_of_importance_used(after: Any, share: float) -> None:
    assert room(times(), after) == pytest.approx(share)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the door sees, look by look; a look takes no time."""
    seen: list[Any] = []
    monkeypatch.setattr(door, "LOOK", 0.0)
    monkeypatch.setattr(psutil, "cpu_times", lambda: seen.pop(0))
    return seen


def test_nobody_is_let_in_while_the_processors_are_taken(looks: list[Any]) -> None:
    looks += [times(), times(user=1), times(user=2), times(user=2, idle=1), times(user=9)]
    Door().pass_through()
    assert looks == [times(user=9)]  # three looks, and no more


def test_somebody_is_let_in_at_last(looks: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    clock: Iterator[float] = iter([0.0, 1.0, door.PATIENCE])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    looks += [times(user=i) for i in range(3)]
    Door().pass_through()
    assert not looks


def test_an_open_door_holds_nobody_up() -> None:
    it = Door()
    it.open()
    threads = [threading.Thread(target=it.pass_through) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert not any(thread.is_alive() for thread in threads)
