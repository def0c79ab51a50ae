"""The log: what is written is read, what was cut is known to be cut, and who waits is woken."""

import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import bench.history
from bench.checks.ending import nothing_lost, recovered
from bench.checks.ownership import handed_out_once, no_overlap
from bench.history import Closed, Event, History, HistoryError, dump, is_complete, load
from bench.verdict import judge
from tests.bench.histories import QUEUED, Run, row, whole

CHECKS = [no_overlap, handed_out_once, recovered, nothing_lost]
LONG = 60.0
"""Seconds that a wait may last which is over at once unless the code is broken."""

DEEP = b"[" * 100_000
"""A line that no JSON reader follows to its end."""

a = Run(1, "A", "Auftrag für Łukasz \U0001f411\u2028")


def write(folder: Path, content: bytes) -> Path:
    path = folder / "history.jsonl"
    path.write_bytes(content)
    return path


def small() -> list[Event]:
    """A history that passes; its text is not all ASCII."""
    return whole({**QUEUED, "job": a.job}, a.started, a.kept, a.finished, row("done", job=a.job))


def test_what_is_dumped_is_loaded(tmp_path: Path) -> None:
    events = small()
    content = dump(events)
    assert content.count(b"\n") == len(events)
    assert a.job.encode() in content
    assert load(write(tmp_path, content)) == events
    assert is_complete(events)


def test_a_history_cut_anywhere_never_passes(tmp_path: Path) -> None:
    content = dump(small())
    assert judge(load(write(tmp_path, content)), CHECKS).verdict == "pass"
    header = content.index(b"\n")
    for length in range(header):
        with pytest.raises(HistoryError):
            load(write(tmp_path, content[:length]))
    for length in range(header, len(content) - 1):  # One less still has the whole last line.
        events = load(write(tmp_path, content[:length]))
        lines = content[:length].count(b"\n")
        assert len(events) in (lines, lines + 1)
        assert events == small()[: len(events)]
        assert not is_complete(events)
        assert judge(events, CHECKS).verdict == "inconclusive"


def test_a_cut_inside_a_character_is_a_cut(tmp_path: Path) -> None:
    content = dump(small())
    for character in ("ü".encode(), "\u2028".encode(), "\U0001f411".encode()):
        for length in range(1, len(character)):
            cut = content[: content.index(character) + length]
            assert load(write(tmp_path, cut)) == small()[: cut.count(b"\n")]


@pytest.mark.parametrize("text", ["\ud800", "\\\ud800", "\\ud800", "ü \udfff \U0001f411"])
def test_half_a_surrogate_is_written_and_read(tmp_path: Path, text: str) -> None:
    events = [*small()[:-1], {"t": 9.0, "event": "trouble", "kind": "adapter", "text": text}]
    content = dump(events)
    assert content.decode().count("\n") == len(events)
    assert load(write(tmp_path, content)) == events


def test_a_last_line_without_its_line_break_is_whole(tmp_path: Path) -> None:
    content = dump(small())
    assert load(write(tmp_path, content[:-1])) == small()


def test_a_last_line_that_was_cut_is_dropped(tmp_path: Path) -> None:
    content = dump(small())
    assert load(write(tmp_path, content[:-3])) == small()[:-1]


@pytest.mark.parametrize("rubbish", [b"\xff", b'{"t":9,"event":"\xff"}', DEEP], ids=["a byte", "an event", "deep"])
def test_rubbish_without_a_line_break_is_a_cut(tmp_path: Path, rubbish: bytes) -> None:
    events = load(write(tmp_path, dump(small()[:-1]) + rubbish))
    assert events == small()[:-1]
    assert not is_complete(events)


def test_nothing_follows_the_end(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="something follows its end"):
        load(write(tmp_path, dump(small()) + b'{"t":9,"ev'))


HEADER = b'{"t":0,"event":"header","format":1}\n'

UNREADABLE = {
    "empty": (b"", "its first line is not a header"),
    "not UTF-8": (HEADER + b'{"t":1,"event":"\xff"}\n', "line 2 is not an event"),
    "not UTF-8 in a longer file": (
        HEADER + b'{"t":1,"event":"\xff"}\n{"t":2,"event":"end"}\n',
        "line 2 is not an event",
    ),
    "nested too deep": (HEADER + DEEP + b"\n", "line 2 is not an event"),
    "an event that is nested too deep": (
        HEADER + b'{"t":1,"event":"row","row":' + DEEP + b"\n",
        "line 2 is not an event",
    ),
    "binary": (b"\x00\x01\x02\n", "line 1 is not an event"),
    "not JSON": (b"hello\n", "line 1 is not an event"),
    "not JSON in the middle": (HEADER + b'hello\n{"t":2,"event":"end"}\n', "line 2 is not an event"),
    "an empty line in the middle": (HEADER + b'\n{"t":2,"event":"end"}\n', "line 2 is not an event"),
    "not an object": (HEADER + b"[1, 2]\n", "line 2 is not an event"),
    "no time": (HEADER + b'{"event":"end"}\n', "line 2 is not an event"),
    "a time that is none": (HEADER + b'{"t":"1","event":"end"}\n', "line 2 is not an event"),
    "no kind": (HEADER + b'{"t":1}\n', "line 2 is not an event"),
    "a kind that is none": (HEADER + b'{"t":1,"event":7}\n', "line 2 is not an event"),
    "no header": (b'{"t":0,"event":"end"}\n', "its first line is not a header"),
    "a header that is not the first": (b'{"t":0,"event":"end"}\n' + HEADER, "its first line is not a header"),
    "no format": (b'{"t":0,"event":"header"}\n', "format None"),
    "another format": (b'{"t":0,"event":"header","format":2}\n', "format 2; this leaseproof reads format 1"),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_is_not_a_history_is_told_so(tmp_path: Path, what: str) -> None:
    content, message = UNREADABLE[what]
    path = write(tmp_path, content)
    with pytest.raises(HistoryError) as caught:
        load(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="No such file"):
        load(tmp_path / "none.jsonl")
    with pytest.raises(HistoryError, match="directory"):
        load(tmp_path)


def test_only_an_end_completes() -> None:
    assert not is_complete([])
    assert not is_complete(small()[:-1])


def test_add_stamps_and_keeps() -> None:
    history = History()
    first = history.add("ready", worker="A", pid=7)
    assert list(first) == ["t", "event", "worker", "pid"]
    history.events().clear()
    assert history.events() == [first]
    assert json.loads(dump([first])) == first
    assert 0 <= first["t"] <= history.now()


def test_concurrent_adds_are_in_the_order_of_their_times() -> None:
    history, begin = History(), threading.Barrier(8)

    def add(worker: int) -> None:
        begin.wait()
        for number in range(100):
            history.add("effect", worker=worker, number=number)

    threads = [threading.Thread(target=add, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = history.events()
    assert len(events) == 800
    assert [event["t"] for event in events] == sorted(event["t"] for event in events)
    for worker in range(8):
        assert [event["number"] for event in events if event["worker"] == worker] == list(range(100))


class Waiter:
    """A wait on a thread of its own; `looked` is set once it has found nothing, and waits."""

    def __init__(self, history: History) -> None:
        self.looked = threading.Event()
        self.result: object = None
        self._history = history
        self._thread = threading.Thread(target=self._wait)
        self._thread.start()
        assert self.looked.wait(LONG)

    def _wait(self) -> None:
        try:
            self.result = self._history.until(self._found, LONG)
        except Closed as closed:
            self.result = closed

    def _found(self, events: Sequence[Event]) -> list[Event]:
        self.looked.set()
        return [event for event in events if event["event"] == "ready"]

    def outcome(self) -> object:
        self._thread.join(LONG)
        assert not self._thread.is_alive()
        return self.result


def test_until_returns_what_is_there_already() -> None:
    history = History()
    event = history.add("ready")
    assert history.until(lambda events: events[0], 0) is event


def test_until_is_woken_by_an_event_from_another_thread() -> None:
    history = History()
    waiter = Waiter(history)
    history.add("spawned")
    event = history.add("ready")
    assert waiter.outcome() == [event]


@pytest.mark.parametrize("within", [-1.0, 0.0, 0.001])
def test_until_returns_the_last_falsy_value_when_its_time_is_over(within: float) -> None:
    assert History().until(lambda events: events[:], within) == []


def test_until_looks_at_least_once() -> None:
    assert History().until(lambda _: True, -1.0)


def test_until_is_interrupted() -> None:
    history = History()
    waiter = Waiter(history)
    assert not history.interrupted
    history.interrupt()
    assert isinstance(waiter.outcome(), Closed)
    assert history.interrupted


def long_history() -> History:
    history = History()
    for number in range(bench.history.LONG + 1):
        history.add("effect", number=number)
    return history


def test_a_long_history_is_not_looked_through_for_each_event() -> None:
    history = long_history()
    since, looks = history.now(), []

    def found(events: Sequence[Event]) -> bool:
        looks.append(len(events))
        return bool(events[-1]["event"] == "ready")

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(history.until, found, LONG)
        for number in range(5000):
            history.add("effect", number=number)
        history.add("ready")
        assert waiting.result(LONG)
    assert looks[-1] == len(history.events())
    assert len(looks) <= (history.now() - since) / bench.history.PAUSE + 2


def test_what_comes_between_two_looks_is_not_missed() -> None:
    history = long_history()
    for _ in range(20):
        waiter = Waiter(history)
        history.add("effect")
        event = history.add("ready")
        assert waiter.outcome() == [event]
        history = long_history()


def test_an_interrupt_does_not_wait_for_the_next_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.history, "PAUSE", 10 * LONG)
    history, looked = long_history(), threading.Event()
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(history.until, lambda _: looked.set(), 10 * LONG)
        assert looked.wait(LONG)
        history.add("effect")
        history.interrupt()
        with pytest.raises(Closed):
            waiting.result(LONG)


def test_nobody_waits_after_an_interrupt_even_for_what_is_there() -> None:
    history = History()
    history.add("ready")
    history.interrupt()
    with pytest.raises(Closed):
        history.until(lambda events: events, 0)


def test_what_happens_after_an_interrupt_is_still_kept() -> None:
    history = History()
    history.interrupt()
    history.add("exited")
    assert [event["event"] for event in history.events()] == ["exited"]
