"""Claims that go on where the last one ended, and come back to the head of the queue."""

import psycopg
import pytest

from queue_core import NewJob, Queue, place
from queue_core.place import HEAD, Place

LAST = {"turn": "2026-01-01", "id": 7}


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look from the head that takes so long that its place lasts until it is given up for another reason."""
    monkeypatch.setattr(place, "TIMES", 1e9)
    monkeypatch.setattr(place, "LONGEST", 1e9)


def looked_twice(at: Place) -> None:
    for _ in range(2):
        assert at.begin("q") is HEAD
        at.end(LAST, began=0.0)


def test_begins_at_the_head() -> None:
    assert Place().begin("q") is HEAD


def test_one_long_look_gives_no_place(slow: None) -> None:
    at = Place()
    at.begin("q")
    at.end(LAST, began=0.0)
    assert at.begin("q") is HEAD


def test_two_long_looks_give_one(slow: None) -> None:
    at = Place()
    looked_twice(at)
    assert at.begin("q") == LAST


def test_another_queue_has_not_that_place(slow: None) -> None:
    at = Place()
    looked_twice(at)
    assert at.begin("other") is HEAD
    assert at.begin("q") is HEAD


def test_given_up_when_too_few_are_found(slow: None) -> None:
    at = Place()
    looked_twice(at)
    at.begin("q")
    at.end(None, began=0.0)
    assert at.begin("q") is HEAD


def test_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "LONGEST", 0.0)
    at = Place()
    looked_twice(at)
    assert at.begin("q") is HEAD


def test_a_claim_goes_on_and_comes_back(dsn: str, slow: None) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        queue = Queue(connection)
        queue.install()
        first = queue.enqueue_many([NewJob("x")] * 4)
        claimed = [queue.claim("a", 1, 60)[0].id for _ in range(3)]
        urgent = queue.enqueue("x", priority=9)
        assert [*claimed, queue.claim("a", 1, 60)[0].id] == first  # it comes in before the place
        assert [job.id for job in queue.claim("a", 1, 60)] == [urgent]  # nothing is left there: back to the head
        assert queue.claim("a", 1, 60) == []
