"""The cases of every kit: each a small conversation between the real witness and a program written with the kit.

A language brings two programs in tests/kits/LANGUAGE/, and a class in tests/kits/test_LANGUAGE.py:

    class TestGo(Cases):
        kit = Kit(worker=["{out}/worker"], control=["{out}/control"], build=[[...]], programs={"go": "apt-get ..."})

The worker program runs puppets. Its arguments are what to do, and names of jobs:

    run JOB...       one after another: the first has attempt 1, the second 2, and so on; every tool of the kit's
    together JOB...  the same, all at once in this process
    bare JOB         without an attempt, and without any tool
    tick JOB         as run; the tick is 2026-10-03T12:00:00+00:00
    line             the worker's own line, no job: it says ready, renewed (kept "job" and "задача", lost "other"),
                     outcome ("job", attempt 2, accepted), outcome ("job", no attempt, not accepted), and reclaimed
                     ("2", "3"); then it reads its stdin to the end, and hangs up

It ends with 0 when all are over, and prints a JSON line for the end of each job:

    {"job": "job", "end": "returned"}
    {"job": "job", "end": "failed", "kind": "permanent", "text": "no paper", "retry_in": null}     an ordered failure
    {"job": "job", "end": "error", "text": "the witness hung up in the middle of a job"}           any other error

The tools are, as far as the kit has them: `key`: "key of JOB"; `lost`: no when it is first asked in this process, and
yes from then on; `once`: a set of keys that this process keeps; `connection`: prints {"job": "job", "connection":
"taken"} and, when it is given back, {"job": "job", "connection": "back"}.

Where a puppet is ordered what it can't do (a tool that the adapter has not given it, an order or a guard that the kit
does not know), it sends {"event": "unable", "text": WHY}, which the witness writes down as the adapter's trouble, hangs
up and raises.

The control program answers with the kit's loop: `echo` (the request without `id` and `request`, as `got`),
`nothing` (no answer of its own: null, nil, None), `fail` (an exception with `text`) and `print` (`text` to its stdout
as a library would, which the kit leads to stderr: stdout is for answers alone).
"""

import contextlib
import itertools
import json
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import psutil
import pytest

from bench.events import ending, starts
from bench.history import Event, History
from bench.orders import BORROW, CLOCK, FINISH, Order, effect, fail, leave, spin
from bench.witness import Desk, Witness
from tests.kits.conftest import PATIENCE, WORKER, Kit, Program, Start

SHORT = 0.15
"""Seconds that an order lasts."""

LONG = 3600.0
"""Seconds that an order lasts which no case waits for."""

EARLY = 0.002
"""Seconds that a timer may be early: some count whole milliseconds, from another clock's tick."""

WHO = {"execution": 1, "job": "job", "worker": WORKER}

RETURNED = {"job": "job", "end": "returned"}


def sleep(seconds: float) -> Order:
    return {"order": "sleep", "seconds": seconds}


def block(seconds: float) -> Order:
    return {"order": "block", "seconds": seconds}


def until(desk: Desk, found: Callable[[Sequence[Event]], Any]) -> Any:
    return desk.history.until(found, PATIENCE)


def seen(desk: Desk, kind: str, count: int = 1) -> list[dict[str, Any]]:
    """Wait for so many events of a kind; all of them, without their times."""
    assert until(desk, lambda events: sum(e["event"] == kind for e in events) >= count), desk.history.events()
    return [
        {k: v for k, v in e.items() if k not in ("t", "event")} for e in desk.history.events() if e["event"] == kind
    ]


def kinds(desk: Desk) -> list[str]:
    """What has happened, but for the bench's own part in it."""
    return [event["event"] for event in desk.history.events() if event["event"] != "ordered"]


def effects(desk: Desk) -> list[tuple[str, str, str | None]]:
    return [(e["event"], e["key"], e["under"]) for e in desk.history.events() if e["event"] in ("effect", "withheld")]


class Cases:
    """Every kit's tests."""

    kit: Kit

    # The puppet: its beginning, and its ends.

    def test_a_job_is_started_and_finished(self, start: Start, desk: Desk) -> None:
        desk.plan(["job"], [FINISH])
        worker = start(self.kit.worker, "run", "job")
        assert worker.hear() == RETURNED
        assert worker.end() == 0
        assert seen(desk, "started") == [{**WHO, "pid": worker.pid, "attempt": 1}]
        assert seen(desk, "finished") == [WHO]
        assert kinds(desk) == ["started", "finished"]

    def test_it_holds_until_it_is_told(self, start: Start, desk: Desk) -> None:
        worker = start(self.kit.worker, "run", "job")
        seen(desk, "started")
        desk.tell("job", {"order": "hold"})
        desk.tell("job", effect("a"))
        seen(desk, "effect")
        assert kinds(desk) == ["started", "effect"]
        desk.tell("job", FINISH)
        assert worker.hear() == RETURNED
        assert seen(desk, "finished") == [WHO]

    def test_an_attempt_that_is_not_known_is_null(self, start: Start, desk: Desk) -> None:
        desk.plan(["job"], [FINISH])
        worker = start(self.kit.worker, "bare", "job")
        assert worker.hear() == RETURNED
        assert [event["attempt"] for event in seen(desk, "started")] == [None]

    @pytest.mark.parametrize(
        "order",
        [
            fail("no paper"),
            fail("bad address", "permanent"),
            fail("slow down", "rate-limited", 1.5),
            fail('«quoted» "\\\n'),
        ],
        ids=["transient", "permanent", "rate-limited", "unicode"],
    )
    def test_it_fails_as_it_is_told(self, order: Order, start: Start, desk: Desk) -> None:
        desk.plan(["job"], [order])
        worker = start(self.kit.worker, "run", "job")
        told = {key: order[key] for key in ("kind", "text", "retry_in")}
        assert worker.hear() == {"job": "job", "end": "failed", **told}
        assert worker.end() == 0
        assert seen(desk, "raised") == [{**WHO, "error": order["text"]}]
        assert kinds(desk) == ["started", "raised"]

    def test_it_exits_as_it_is_told(self, start: Start, desk: Desk) -> None:
        desk.plan(["job"], [leave(9)])
        worker = start(self.kit.worker, "run", "job")
        assert worker.hear() is None
        assert worker.end() == 9
        assert seen(desk, "died") == [WHO]

    def test_it_does_not_outlive_the_witness(self, start: Start) -> None:
        with Witness() as witness:
            desk = witness.desk(History())
            more = {"LEASEPROOF_WITNESS": witness.address, "LEASEPROOF_TOKEN": desk.token}
            worker = start(self.kit.worker, "run", "job", **more)
            seen(desk, "started")
        assert worker.hear()["end"] == "error"
        assert worker.end() == 0

    def test_half_an_order_is_none(self, start: Start) -> None:
        with raw_witness() as (server, address):
            worker = start(self.kit.worker, "run", "job", LEASEPROOF_WITNESS=address)
            with server.accept()[0] as line, line.makefile("rb") as said:
                said.readline()
                line.sendall(b'{"order": "finish"}')  # and no end of the line
            assert worker.hear()["end"] == "error"
            assert worker.end() == 0

    def test_an_order_may_come_in_pieces(self, start: Start) -> None:
        with raw_witness() as (server, address):
            worker = start(self.kit.worker, "run", "job", LEASEPROOF_WITNESS=address)
            with server.accept()[0] as line, line.makefile("rb") as said:
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                said.readline()
                orders = [effect(f"ключ {number} 🦊") for number in range(20)] + [FINISH]
                for byte in "".join(json.dumps(order, ensure_ascii=False) + "\n" for order in orders).encode():
                    line.sendall(bytes([byte]))
                assert [json.loads(said.readline()).get("key") for _ in orders] == [o.get("key") for o in orders]
            assert worker.hear() == RETURNED

    # In the names and texts, all that JSON and UTF-8 can say.

    @pytest.mark.parametrize("job", ["задача 7", "日本語", "naïve café", "🦊", 'a "quoted" \\ name'])
    def test_a_name_may_be_any_text(self, job: str, start: Start, desk: Desk) -> None:
        desk.plan([job], [effect(f"mail to {job}"), FINISH])
        worker = start(self.kit.worker, "run", job)
        assert worker.hear() == {"job": job, "end": "returned"}
        assert seen(desk, "finished") == [{**WHO, "job": job}]
        assert effects(desk) == [("effect", f"mail to {job}", None)]

    def test_an_order_may_be_long(self, start: Start, desk: Desk) -> None:
        key = "ключ" * 2000
        desk.plan(["job"], [effect(key), FINISH])
        self.returns(start(self.kit.worker, "run", "job"), desk)
        assert effects(desk) == [("effect", key, None)]

    # Effects, and what a handler does against a repeat.

    def test_effects_are_made_in_order(self, start: Start, desk: Desk) -> None:
        desk.plan(["job"], [effect("a"), effect("b"), effect("a"), FINISH])
        self.returns(start(self.kit.worker, "run", "job"), desk)
        assert effects(desk) == [("effect", "a", None), ("effect", "b", None), ("effect", "a", None)]

    def test_guarded_by_the_key_an_effect_is_made_under_it(self, start: Start, desk: Desk) -> None:
        self.need("key")
        desk.plan(["job"], [effect("mail", "key"), FINISH])
        self.returns(start(self.kit.worker, "run", "job"), desk)
        assert effects(desk) == [("effect", "mail", "key of job")]

    def test_guarded_by_the_table_an_effect_is_made_once(self, start: Start, desk: Desk) -> None:
        self.need("once")
        desk.plan(["job"], [effect("a", "once"), effect("b", "once"), effect("a", "once"), FINISH])
        self.returns(start(self.kit.worker, "run", "job"), desk)
        assert effects(desk) == [("effect", "a", None), ("effect", "b", None), ("withheld", "a", None)]

    def test_guarded_by_its_ownership_an_effect_is_made_by_the_owner_alone(self, start: Start, desk: Desk) -> None:
        self.need("lost")
        desk.plan(["job"], [effect("a", "owner"), effect("b", "owner"), FINISH])
        self.returns(start(self.kit.worker, "run", "job"), desk)
        assert effects(desk) == [("effect", "a", None), ("withheld", "b", None)]

    @pytest.mark.parametrize("end", [FINISH, fail("no paper")], ids=["finished", "raised"])
    def test_a_borrowed_connection_is_kept_to_the_end(self, end: Order, start: Start, desk: Desk) -> None:
        self.need("connection")
        worker = start(self.kit.worker, "run", "job")
        desk.tell("job", BORROW)
        assert worker.hear() == {"job": "job", "connection": "taken"}
        assert seen(desk, "borrowed") == [WHO]
        desk.tell("job", effect("a"))
        seen(desk, "effect")
        assert worker.is_quiet
        desk.tell("job", end)
        assert worker.hear() == {"job": "job", "connection": "back"}
        assert worker.hear()["end"] in ("returned", "failed")
        assert kinds(desk)[:3] == ["started", "borrowed", "effect"]

    def test_a_scheduled_job_says_its_tick(self, start: Start, desk: Desk) -> None:
        self.need("tick")
        desk.plan(["job"], [FINISH])
        worker = start(self.kit.worker, "tick", "job")
        assert worker.hear() == RETURNED
        assert [event["tick"] for event in seen(desk, "started")] == ["2026-10-03T12:00:00+00:00"]

    def test_a_job_that_is_not_scheduled_says_none(self, start: Start, desk: Desk) -> None:
        desk.plan(["job"], [FINISH])
        self.returns(start(self.kit.worker, "run", "job"), desk)
        assert "tick" not in seen(desk, "started")[0]

    @pytest.mark.parametrize(
        "order",
        [
            effect("a", "key"),
            effect("a", "once"),
            effect("a", "owner"),
            effect("a", "charm"),
            BORROW,
            {"order": "dance"},
        ],
        ids=["key", "once", "owner", "another guard", "borrow", "another order"],
    )
    def test_what_it_is_not_able_to_do_is_the_adapters_trouble(self, order: Order, start: Start, desk: Desk) -> None:
        desk.plan(["job"], [order, FINISH])
        worker = start(self.kit.worker, "bare", "job")
        assert worker.hear()["end"] == "error"
        assert worker.end() == 0
        (trouble,) = seen(desk, "trouble")
        assert trouble["kind"] == "adapter"
        assert "unable" in trouble["text"]
        assert effects(desk) == []
        assert "finished" not in kinds(desk)

    # Its clocks.

    def test_it_says_what_its_wall_clock_says(self, start: Start, desk: Desk) -> None:
        desk.plan(["job"], [CLOCK, FINISH])
        self.returns(start(self.kit.worker, "run", "job"), desk)
        (said,) = seen(desk, "clock")
        assert -PATIENCE < said["wall"] - said["ours"] < EARLY

    @pytest.mark.parametrize("order", [sleep(SHORT), spin(SHORT), block(SHORT)], ids=["sleep", "spin", "block"])
    def test_an_order_lasts_as_long_as_it_is_told(self, order: Order, start: Start, desk: Desk) -> None:
        desk.plan(["job"], [order, FINISH])
        self.returns(start(self.kit.worker, "run", "job"), desk)
        events = desk.history.events()
        (began,) = starts(events, "job")
        assert ending(events, began)["t"] - began["t"] >= SHORT - EARLY

    def test_to_spin_burns_cpu(self, start: Start, desk: Desk) -> None:
        worker = start(self.kit.worker, "run", "job")
        seen(desk, "started")
        before = burnt(worker)
        for count in range(1, 41):  # The machine may have others to run.
            desk.tell("job", spin(0.25))
            desk.tell("job", CLOCK)
            seen(desk, "clock", count)
            if burnt(worker) - before >= 0.1:
                return
        pytest.fail(f"in ten seconds it has burnt {burnt(worker) - before:g} s of CPU")

    # More than one job in a process.

    def test_a_process_runs_one_job_after_another(self, start: Start, desk: Desk) -> None:
        desk.plan(["first"], [effect("a"), fail("no paper")])
        desk.plan(["second"], [effect("b"), FINISH])
        worker = start(self.kit.worker, "run", "first", "second")
        assert worker.hear()["end"] == "failed"
        assert worker.hear() == {"job": "second", "end": "returned"}
        assert worker.end() == 0
        seen(desk, "finished")
        assert kinds(desk) == ["started", "effect", "raised", "started", "effect", "finished"]
        assert [(event["job"], event["attempt"]) for event in seen(desk, "started")] == [("first", 1), ("second", 2)]

    def test_a_process_runs_two_jobs_at_once(self, start: Start, desk: Desk) -> None:
        worker = start(self.kit.worker, "together", "a", "b")
        assert {event["job"] for event in seen(desk, "started", 2)} == {"a", "b"}
        desk.tell("b", effect("of b"))
        seen(desk, "effect")
        desk.tell("a", effect("of a"))
        seen(desk, "effect", 2)
        assert effects(desk) == [("effect", "of b", None), ("effect", "of a", None)]
        desk.tell("b", FINISH)
        assert worker.hear() == {"job": "b", "end": "returned"}
        desk.tell("a", fail("no paper"))
        assert worker.hear()["end"] == "failed"
        assert worker.end() == 0

    def test_a_job_that_sleeps_holds_up_no_other(self, start: Start, desk: Desk) -> None:
        self.goes_on_beside(sleep(LONG), start, desk)

    def test_a_thread_that_is_blocked_holds_up_no_other(self, start: Start, desk: Desk) -> None:
        if self.kit.loop:
            pytest.skip("its jobs share an event loop")
        self.goes_on_beside(block(LONG), start, desk)

    @pytest.mark.parametrize("order", [block(0.5), spin(0.5)], ids=["block", "spin"])
    def test_a_loop_that_is_held_up_holds_up_every_job(self, order: Order, start: Start, desk: Desk) -> None:
        if not self.kit.loop:
            pytest.skip("its jobs share no event loop")
        start(self.kit.worker, "together", "blocker", "busy")
        seen(desk, "started", 2)
        clocks: list[float] = []  # its own, since the witness may be late
        over = False
        while not over or len(clocks) < 3:
            over = "effect" in kinds(desk)
            for step in (sleep(0.005), CLOCK):
                desk.tell("busy", step)
            clocks = [event["wall"] for event in seen(desk, "clock", len(clocks) + 1)]
            if len(clocks) == 1:
                desk.tell("blocker", order)
                desk.tell("blocker", effect("over"))
        assert max(after - before for before, after in itertools.pairwise(clocks)) >= 0.5 - EARLY

    # The worker's own line.

    def test_a_worker_tells_what_it_learns(self, start: Start, desk: Desk) -> None:
        desk.names["2"] = "by its name"
        worker = start(self.kit.worker, "line")
        seen(desk, "reclaimed")
        assert kinds(desk) == ["ready", "renewed", "outcome", "outcome", "reclaimed"]
        assert seen(desk, "ready") == [{"worker": WORKER, "pid": worker.pid}]
        assert seen(desk, "renewed") == [{"worker": WORKER, "kept": ["job", "задача"], "lost": ["other"]}]
        assert seen(desk, "outcome") == [
            {"worker": WORKER, "job": "job", "attempt": 2, "accepted": True},
            {"worker": WORKER, "job": "job", "attempt": None, "accepted": False},
        ]
        (reclaimed,) = seen(desk, "reclaimed")
        assert (reclaimed["ids"], reclaimed["jobs"]) == (["2", "3"], ["by its name", "3"])
        assert worker.end() == 0
        assert "trouble" not in kinds(desk)

    # The control loop.

    def test_it_answers(self, start: Start) -> None:
        control = start(self.kit.control)
        control.say(id=1, request="echo", text="mail", number=1.5, list=["a", {"b": None}], yes=True)
        got = {"text": "mail", "number": 1.5, "list": ["a", {"b": None}], "yes": True}
        assert control.hear() == {"id": 1, "answer": {"got": got}}

    def test_each_answer_has_the_id_of_its_request(self, start: Start) -> None:
        control = start(self.kit.control)
        for id in (7, 3, 1_000_000, 4):
            control.say(id=id, request="echo")
        assert [control.hear()["id"] for _ in range(4)] == [7, 3, 1_000_000, 4]

    @pytest.mark.parametrize(
        "value",
        [
            "задача",
            "🦊 and \u2028",
            'a "quoted" \\ name\n\t',
            "\x00\x1f",
            "",
            {},
            [],
            [[]],
            0,
            -7,
            1e300,
            2**53 - 1,
            False,
            None,
        ],
        ids=repr,
    )
    @pytest.mark.parametrize("escaped", [True, False], ids=["ascii", "utf-8"])
    def test_a_value_comes_back_as_it_was_sent(self, value: object, escaped: bool, start: Start) -> None:
        control = start(self.kit.control)
        request = {"id": 1, "request": "echo", "value": value}
        control.write(json.dumps(request, ensure_ascii=escaped).encode() + b"\n")
        assert control.hear() == {"id": 1, "answer": {"got": {"value": value}}}

    def test_a_request_and_its_answer_may_be_long(self, start: Start) -> None:
        control = start(self.kit.control)
        jobs = [{"job": f"задача {number}"} for number in range(20_000)]
        control.say(id=1, request="echo", jobs=jobs)
        assert control.hear() == {"id": 1, "answer": {"got": {"jobs": jobs}}}

    def test_no_answer_is_an_empty_one(self, start: Start) -> None:
        control = start(self.kit.control)
        control.say(id=1, request="nothing")
        assert control.hear() == {"id": 1, "answer": {}}

    def test_an_exception_is_an_error_and_not_the_end(self, start: Start) -> None:
        control = start(self.kit.control)
        control.say(id=1, request="fail", text='the "table" is gone: «jobs»')
        answer = control.hear()
        assert answer["id"] == 1
        assert 'the "table" is gone: «jobs»' in answer["error"]
        assert "answer" not in answer
        control.say(id=2, request="nothing")
        assert control.hear() == {"id": 2, "answer": {}}

    def test_an_unknown_request_is_an_error(self, start: Start) -> None:
        control = start(self.kit.control)
        control.say(id=1, request="conjure")
        answer = control.hear()
        assert answer["id"] == 1
        assert "conjure" in answer["error"]

    def test_what_a_request_prints_goes_to_the_log(self, start: Start) -> None:
        control = start(self.kit.control)
        control.say(id=1, request="print", text="hello from a library")
        assert control.hear() == {"id": 1, "answer": {}}
        assert control.end() == 0
        assert "hello from a library" in control.log.read_text(encoding="utf-8")

    def test_it_stops_when_it_is_told(self, start: Start) -> None:
        control = start(self.kit.control)
        control.say(id=1, request="stop")
        assert control.hear() == {"id": 1, "answer": {}}
        assert control.hear() is None
        assert control.process.wait(PATIENCE) == 0

    def test_it_stops_when_its_stdin_ends(self, start: Start) -> None:
        control = start(self.kit.control)
        control.say(id=1, request="nothing")
        assert control.hear() == {"id": 1, "answer": {}}
        assert control.end() == 0

    # What more than one case needs.

    def need(self, tool: str) -> None:
        if tool not in self.kit.tools:
            pytest.skip(f"this kit has no tool `{tool}`")

    def returns(self, worker: Program, desk: Desk) -> None:
        """The job of the program ends as it was told; wait until the witness has heard that, too."""
        assert worker.hear() == RETURNED
        seen(desk, "finished")

    def goes_on_beside(self, order: Order, start: Start, desk: Desk) -> None:
        start(self.kit.worker, "together", "idle", "busy")
        seen(desk, "started", 2)
        desk.tell("idle", effect("on"))
        desk.tell("idle", order)
        seen(desk, "effect")
        for number in range(10):
            desk.tell("busy", effect(f"{number}"))
            seen(desk, "effect", 2 + number)
        assert [event["job"] for event in seen(desk, "effect")] == ["idle"] + ["busy"] * 10


@contextlib.contextmanager
def raw_witness() -> Iterator[tuple[socket.socket, str]]:
    """A witness's socket and its address, to send what the real one never does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        yield server, f"127.0.0.1:{server.getsockname()[1]}"


def burnt(program: Program) -> float:
    """CPU seconds of a program so far."""
    times = psutil.Process(program.pid).cpu_times()
    return times.user + times.system
