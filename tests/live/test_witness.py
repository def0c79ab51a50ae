"""The witness's protocol over raw sockets, and the puppet that ships for Python against it."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import psutil
import pytest

from bench.children import environment
from bench.events import ending, starts
from bench.history import Event, History
from bench.orders import FINISH, Order, effect
from bench.puppet import OrderedFailure, obey
from bench.witness import Desk, Witness
from tests.live.conftest import PATIENCE


@pytest.fixture(scope="module")
def witness() -> Iterator[Witness]:
    with Witness() as witness:
        yield witness


@pytest.fixture
def desk(witness: Witness) -> Iterator[Desk]:
    desk = witness.desk(History())
    yield desk
    witness.dismiss(desk)


class Line:
    """One raw connection."""

    def __init__(self, witness: Witness) -> None:
        host, _, port = witness.address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE)
        self.lines = self.socket.makefile("rb")

    def send(self, raw: bytes) -> None:
        self.socket.sendall(raw)

    def say(self, **message: Any) -> None:
        self.send(json.dumps(message).encode() + b"\n")

    def hear(self) -> Any:
        """The next order; None when the witness has hung up."""
        try:
            line = self.lines.readline()
        except ConnectionResetError:
            return None
        return json.loads(line) if line else None

    def close(self) -> None:
        self.lines.close()
        self.socket.close()


Connect = Callable[[], Line]


@pytest.fixture
def connect(witness: Witness) -> Iterator[Connect]:
    opened: list[Line] = []

    def connect() -> Line:
        opened.append(Line(witness))
        return opened[-1]

    yield connect
    for line in opened:
        line.close()


Start = Callable[..., Line]


@pytest.fixture
def start(connect: Connect, desk: Desk) -> Start:
    """A puppet that has said who it is, and was heard."""

    def start(job: str = "job", worker: str = "worker", **more: Any) -> Line:
        before = len(starts(desk.history.events(), job))
        line = connect()
        line.say(event="started", token=desk.token, job=job, worker=worker, pid=1, **more)
        assert until(desk, lambda events: len(starts(events, job)) > before)
        return line

    return start


def until(desk: Desk, found: Callable[[Sequence[Event]], Any]) -> Any:
    return desk.history.until(found, PATIENCE)


def seen(desk: Desk, kind: str, count: int = 1) -> list[dict[str, Any]]:
    """Wait for events of a kind; all of them, without their times."""
    assert until(desk, lambda events: sum(e["event"] == kind for e in events) >= count)
    return [
        {k: v for k, v in e.items() if k not in ("t", "event")} for e in desk.history.events() if e["event"] == kind
    ]


def kinds(desk: Desk) -> list[str]:
    return [event["event"] for event in desk.history.events()]


WHO = {"execution": 1, "job": "job", "worker": "worker"}


# Who is heard at all.


@pytest.mark.parametrize(
    "hello",
    [
        b'{"event": "started", "job": "job", "worker": "worker", "pid": 1}\n',
        b'{"event": "started", "job": "job", "worker": "worker", "pid": 1, "token": "0123456789abcdef"}\n',
        b'{"event": "started", "job": "job", "worker": "worker", "pid": 1, "token": null}\n',
        b'{"event": "ready", "worker": "worker", "pid": 1, "token": {}}\n',
        b"GET / HTTP/1.1\r\n",
        b"[1, 2]\n",
        b"\xff\xfe\x00\n",
        b"\n",
    ],
)
def test_who_shows_no_valid_token_is_hung_up_on(hello: bytes, connect: Connect, desk: Desk) -> None:
    line = connect()
    line.send(hello)
    assert line.hear() is None
    assert kinds(desk) == []


def test_who_says_nothing_is_hung_up_on(connect: Connect, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.witness.HELLO_WITHIN", 0.05)
    assert connect().hear() is None
    assert kinds(desk) == []


def test_a_dismissed_desk_hears_nobody(witness: Witness, connect: Connect, desk: Desk) -> None:
    witness.dismiss(desk)
    line = connect()
    line.say(event="ready", token=desk.token, worker="worker", pid=1)
    assert line.hear() is None
    assert kinds(desk) == []


def test_a_token_opens_its_own_desk_alone(witness: Witness, desk: Desk, start: Start) -> None:
    other = witness.desk(History())
    start()
    assert kinds(desk) == ["started"]
    assert kinds(other) == []


def test_it_listens_on_loopback_alone(witness: Witness) -> None:
    port = int(witness.address.rpartition(":")[2])
    mine = [c.laddr for c in psutil.Process().net_connections("tcp") if c.status == psutil.CONN_LISTEN]
    assert [address.ip for address in mine if address.port == port] == ["127.0.0.1"]


RUBBISH = [
    (b"what?\n", "Expecting value"),
    (b"\xff\xff\n", "codec can't decode"),
    (b"[1]\n", "a message is a JSON object"),
    (b'{"event": "tired"}\n', "event 'tired'"),
    (b'{"what": 1}\n', "event None"),
    (b'{"event": "effect"}\n', "a message lacks the field 'key'"),
    (b"x" * 100_000 + b"\n", "limit"),
    (b"[" * 50_000 + b"\n", "recursion"),
    (b"{}\n", "event None"),
]


@pytest.mark.parametrize(("raw", "words"), RUBBISH, ids=[raw[:12].decode(errors="replace") for raw, _ in RUBBISH])
def test_rubbish_from_a_puppet_is_the_adapters_trouble(raw: bytes, words: str, start: Start, desk: Desk) -> None:
    line = start()
    line.send(raw)
    (trouble,) = seen(desk, "trouble")
    assert trouble["kind"] == "adapter"
    assert "the witness was sent rubbish" in trouble["text"]
    assert words in trouble["text"]
    assert line.hear() is None


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"event": "hello"}, "it is `ready` or `started`"),
        ({"event": "started", "worker": "worker", "pid": 1}, "job"),
        ({"event": "ready", "pid": 1}, "worker"),
    ],
)
def test_a_hello_that_is_none(message: dict[str, Any], words: str, connect: Connect, desk: Desk) -> None:
    line = connect()
    line.say(**message, token=desk.token)
    (trouble,) = seen(desk, "trouble")
    assert words in trouble["text"]
    assert line.hear() is None


def test_rubbish_from_a_worker(connect: Connect, desk: Desk) -> None:
    line = connect()
    line.say(event="ready", token=desk.token, worker="w", pid=1)
    line.say(event="effect", key="k")
    (trouble,) = seen(desk, "trouble")
    assert "worker w sent event 'effect'; it is `renewed`, `outcome` or `reclaimed`" in trouble["text"]


# A worker's line.


def test_what_a_worker_tells(connect: Connect, desk: Desk) -> None:
    line = connect()
    line.say(event="ready", token=desk.token, worker="w", pid=7)
    line.say(event="renewed", kept=["a"], lost=["b"])
    line.say(event="outcome", job="a", attempt=2, accepted=False)
    assert seen(desk, "ready") == [{"worker": "w", "pid": 7}]
    assert seen(desk, "renewed") == [{"worker": "w", "kept": ["a"], "lost": ["b"]}]
    assert seen(desk, "outcome") == [{"worker": "w", "job": "a", "attempt": 2, "accepted": False}]


def test_a_worker_may_leave(connect: Connect, desk: Desk, start: Start) -> None:
    line = connect()
    line.say(event="ready", token=desk.token, worker="w", pid=7)
    seen(desk, "ready")
    line.close()
    start()
    assert kinds(desk) == ["ready", "started"]


# A puppet's line.


def test_a_start_is_written_down(start: Start, desk: Desk) -> None:
    start(attempt=3)
    start("other", "worker-2")
    assert seen(desk, "started") == [
        {**WHO, "pid": 1, "attempt": 3},
        {"execution": 2, "job": "other", "worker": "worker-2", "pid": 1, "attempt": None},
    ]


def test_without_a_plan_a_puppet_holds_until_it_is_told(start: Start, desk: Desk) -> None:
    line = start()
    desk.tell("job", FINISH)
    assert line.hear() == FINISH
    assert kinds(desk) == ["started", "ordered"]
    line.say(event="finished")
    assert seen(desk, "finished") == [WHO]


def test_a_plan_is_obeyed_by_every_execution(start: Start, desk: Desk) -> None:
    desk.plan(["job"], [effect("a"), FINISH])
    for number in (1, 2):
        line = start()
        assert [line.hear(), line.hear()] == [effect("a"), FINISH]
        assert [o["order"] for o in seen(desk, "ordered", 2 * number)][-2:] == [effect("a"), FINISH]


def test_an_order_to_all_is_for_those_to_come_too(start: Start, desk: Desk) -> None:
    first = start()
    desk.tell("job", effect("late"))
    assert first.hear() == effect("late")
    assert start().hear() == effect("late")


def test_an_order_to_one_worker_is_for_now_and_for_it_alone(start: Start, desk: Desk) -> None:
    mine, theirs = start(worker="mine"), start(worker="theirs")
    desk.tell("job", effect("x"), worker="mine")
    desk.tell("job", FINISH)
    assert [mine.hear(), mine.hear()] == [effect("x"), FINISH]
    assert theirs.hear() == FINISH
    assert start(worker="mine").hear() == FINISH


def test_an_order_is_for_its_job_alone(start: Start, desk: Desk) -> None:
    line, other = start("a"), start("b")
    desk.tell("a", effect("a"))
    desk.tell("b", effect("b"))
    assert line.hear() == effect("a")
    assert other.hear() == effect("b")


def test_a_job_may_last(start: Start, desk: Desk) -> None:
    desk.plan(["job"], lasts=0.05)
    assert start().hear() == FINISH
    began, ordered = desk.history.events()
    assert ordered["t"] - began["t"] >= 0.04


def test_an_order_for_the_next_executions_comes_first_and_once_each(start: Start, desk: Desk) -> None:
    running = start()
    desk.tell_next("job", effect("first"), 2)
    desk.tell("job", FINISH)
    assert running.hear() == FINISH
    for _ in range(2):
        line = start()
        assert [line.hear(), line.hear()] == [effect("first"), FINISH]
    assert start().hear() == FINISH


def test_a_new_plan_takes_the_end_of_the_old_one_away(start: Start, desk: Desk) -> None:
    desk.plan(["job"], lasts=1.0)
    line = start()
    desk.plan(["job"])
    desk.plan(["other"], lasts=1.0)
    assert start("other").hear() == FINISH
    assert [event["execution"] for event in seen(desk, "ordered")] == [2]
    desk.plan(["job"], lasts=0.0)
    assert line.hear() == FINISH


def test_effects_are_booked(start: Start, desk: Desk) -> None:
    line = start()
    line.say(event="effect", key="paid")
    assert seen(desk, "effect") == [{"execution": 1, "job": "job", "worker": "worker", "key": "paid", "under": None}]


def test_a_failure_is_written_down(start: Start, desk: Desk) -> None:
    line = start()
    line.say(event="raised", error="out of paper")
    line.close()
    assert seen(desk, "raised") == [{**WHO, "error": "out of paper"}]


def test_a_finish_is_no_death(start: Start, desk: Desk) -> None:
    line = start()
    line.say(event="finished")
    line.close()
    assert seen(desk, "finished") == [WHO]
    start("other")
    assert kinds(desk) == ["started", "finished", "started"]


@pytest.mark.parametrize("last", [b"", b'{"event": "fini', b'{"event": "finished"}'])
def test_a_line_that_closes_in_the_middle_is_a_death(last: bytes, start: Start, desk: Desk) -> None:
    line = start()
    line.send(last)
    line.close()
    assert seen(desk, "died") == [WHO]
    assert kinds(desk) == ["started", "died"]


def test_a_reset_is_a_death(start: Start, desk: Desk) -> None:
    line = start()
    line.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    line.close()
    assert seen(desk, "died") == [WHO]


def test_after_a_finish_nothing_more_is_heard(start: Start, desk: Desk) -> None:
    line = start()
    line.say(event="finished")
    line.say(event="finished")
    assert seen(desk, "finished")
    assert line.hear() is None
    desk.tell("job", FINISH)
    assert kinds(desk) == ["started", "finished"]


def test_an_order_that_can_not_be_sent_is_its_senders_fault(start: Start, desk: Desk) -> None:
    start()
    with pytest.raises(TypeError):
        desk.tell("job", {"order": "effect", "key": b"no JSON"})


def test_orders_after_the_end_are_dropped(start: Start, desk: Desk) -> None:
    desk.plan(["job"], lasts=1.0)
    start().close()
    seen(desk, "died")
    desk.tell("job", effect("late"), worker="worker")
    desk.plan(["other"], lasts=1.0)
    start("other").hear()
    assert [event["execution"] for event in seen(desk, "ordered")] == [2]


def test_many_at_once(start: Start, desk: Desk) -> None:
    lines = [start(f"job-{number}") for number in range(100)]
    for number in range(100):
        desk.tell(f"job-{number}", effect(str(number)))
    assert [line.hear() for line in lines] == [effect(str(number)) for number in range(100)]


# The puppet for Python.


@pytest.fixture
def _env(witness: Witness, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in variables(witness, desk).items():
        monkeypatch.setenv(name, value)


def variables(witness: Witness, desk: Desk) -> dict[str, str]:
    return {"LEASEPROOF_WITNESS": witness.address, "LEASEPROOF_TOKEN": desk.token, "LEASEPROOF_WORKER": "worker"}


@pytest.mark.usefixtures("_env")
def test_the_puppet_obeys(desk: Desk) -> None:
    orders: list[Order] = [
        effect("once"),
        {"order": "hold"},
        {"order": "sleep", "seconds": 0.05},
        {"order": "spin", "seconds": 0.05},
        {"order": "block", "seconds": 0.25},
        FINISH,
    ]
    desk.plan(["job"], orders)
    blocked: list[float] = []
    obey("job", 2, block=blocked.append)
    assert seen(desk, "started") == [{**WHO, "pid": os.getpid(), "attempt": 2}]
    assert seen(desk, "effect") == [{"execution": 1, "job": "job", "worker": "worker", "key": "once", "under": None}]
    assert seen(desk, "finished") == [WHO]
    assert blocked == [0.25]
    events = desk.history.events()
    assert ending(events, events[0])["t"] - events[0]["t"] >= 0.09


@pytest.mark.parametrize("kind", ["transient", "permanent", "rate-limited"])
@pytest.mark.usefixtures("_env")
def test_the_puppet_fails_as_it_is_told(kind: str, desk: Desk) -> None:
    desk.plan(["job"], [{"order": "fail", "kind": kind, "text": "no paper", "retry_in": 1.5}])
    with pytest.raises(OrderedFailure, match="no paper") as raised:
        obey("job")
    assert (raised.value.kind, raised.value.retry_in) == (kind, 1.5)
    assert seen(desk, "raised") == [{**WHO, "error": "no paper"}]


@pytest.mark.usefixtures("_env")
def test_the_puppet_waits_for_an_order(desk: Desk) -> None:
    puppet = threading.Thread(target=obey, args=("job",))
    puppet.start()
    seen(desk, "started")
    desk.tell("job", FINISH)
    puppet.join(PATIENCE)
    assert seen(desk, "finished") == [WHO]


def test_the_puppet_exits_as_it_is_told(witness: Witness, desk: Desk) -> None:
    desk.plan(["job"], [{"order": "exit", "status": 9}])
    code = "from bench.puppet import obey; obey('job')"
    done = subprocess.run([sys.executable, "-c", code], env=environment(variables(witness, desk)), check=False)
    assert done.returncode == 9
    assert seen(desk, "died") == [WHO]


def test_the_puppet_does_not_outlive_the_witness() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEASEPROOF_WITNESS", f"127.0.0.1:{server.getsockname()[1]}")
        patch.setenv("LEASEPROOF_TOKEN", "")
        patch.setenv("LEASEPROOF_WORKER", "worker")
        threading.Thread(target=lambda: server.accept()[0].close()).start()
        with pytest.raises(ConnectionError):
            obey("job")
