"""The parts of a lint that need no process: what goes over the wire, ids that were never given out, what stops it."""

import io
import json
import re
from pathlib import Path

import pytest

from bench.lint import TROUBLE, _blamed
from bench.lint.control import unknown
from bench.lint.findings import Finding, Findings
from bench.lint.options import TRIALS
from bench.lint.wire import Wire
from bench.lint.work import ORDERS
from bench.schemas import load


@pytest.fixture
def wire() -> Wire:
    return Wire(Findings(), io.StringIO())


def line(**message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


def told(wire: Wire) -> list[tuple[str, str, str]]:
    return [(finding.where, finding.what, finding.blame) for finding in wire.findings]


# Control.


def test_an_answer_is_held_against_the_schema_of_what_was_asked(wire: Wire) -> None:
    ear = wire.control()
    ear.from_bench(line(id=1, request="reclaim"))
    ear.from_subject(line(id=1, answer={"ids": []}))
    ear.from_bench(line(id=2, request="prepare"))
    ear.from_subject(line(id=2, answer={"ids": []}))
    assert told(wire) == [("control, the answer to `prepare`", "answer.ids is not in the contract", "adapter")]


def test_what_the_bench_sends_is_held_against_a_schema_too_and_is_its_own_fault(wire: Wire) -> None:
    wire.control().from_bench(line(id=1, request="enqueue", jobs=[]))
    assert told(wire) == [("control, the request `enqueue`", "jobs has 0 entries", "bench")]


@pytest.mark.parametrize("id", [2, None, "1", 1.5, True, [], {}])
def test_an_answer_to_nothing(id: object, wire: Wire) -> None:
    ear = wire.control()
    ear.from_bench(line(id=1, request="prepare"))
    ear.from_subject(line(id=id, answer={}))
    ((where, what, _),) = told(wire)
    if id is not True:  # which Python takes for 1
        assert (where, f"no request with the id {json.dumps(id)} waits" in what) == ("control", True)


def test_an_answer_comes_once(wire: Wire) -> None:
    ear = wire.control()
    ear.from_bench(line(id=1, request="prepare"))
    ear.from_subject(line(id=1, answer={}))
    ear.from_subject(line(id=1, answer={}))
    assert len(told(wire)) == 1


@pytest.mark.parametrize("raw", [b"hello\n", b"\n", b"5\n", b"[]\n", b"{\n", b'{"id": 1, "answer": {}}', b"\xff\xfe\n"])
def test_what_is_no_answer_on_stdout(raw: bytes, wire: Wire) -> None:
    ear = wire.control()
    ear.from_bench(line(id=1, request="prepare"))
    ear.from_subject(raw)
    ((where, what, _),) = told(wire)
    assert where == "control, stdout"
    assert what.startswith("printed ")


def test_an_error_is_an_answer(wire: Wire) -> None:
    ear = wire.control()
    ear.from_bench(line(id=1, request="prepare"))
    ear.from_subject(line(id=1, error="no disk"))
    assert told(wire) == []


# The witness.

HELLO = {"token": "t", "worker": "w", "pid": 1}


@pytest.fixture
def told_token(wire: Wire) -> Wire:
    options = {"slots": 1, "prefetch": 0, "poll": 0.1, "reclaim_every": None, "grace": None, "backoff": None}
    options |= {"queue": None, "listen": False, "version": 1}
    wire.launched(
        "worker", {"LEASEPROOF_TOKEN": "t", "LEASEPROOF_WORKER": "w", "LEASEPROOF_OPTIONS": json.dumps(options)}
    )
    return wire


def test_a_worker_and_a_puppet(told_token: Wire) -> None:
    worker, puppet = told_token.witness(), told_token.witness()
    worker.from_subject(line(event="ready", **HELLO))
    assert told_token.open == {"w"}
    puppet.from_subject(line(event="started", job="j", attempt=None, **HELLO))
    puppet.from_bench(line(order="finish"))
    puppet.from_subject(line(event="finished"))
    worker.from_subject(line(event="outcome", job="j", attempt=None, accepted=True))
    worker.hung_up()
    puppet.hung_up()
    assert told_token.open == set()
    assert told(told_token) == []


def test_another_token(told_token: Wire) -> None:
    told_token.witness().from_subject(line(event="ready", **{**HELLO, "token": "x"}))
    assert told(told_token) == [("the line of worker w, `ready`", 'its token is "x"', "adapter")]


@pytest.mark.parametrize(
    ("first", "then", "what"),
    [
        (None, {"event": "reddy"}, 'sent \'{"event": "reddy"}\''),
        (None, {}, "sent '{}'"),
        ("ready", {"event": "finished"}, 'sent \'{"event": "finished"}\''),
        ("ready", {"event": "renewed", "kept": []}, "lost is missing"),
        ("started", {"event": "outcome"}, 'sent \'{"event": "outcome"}\''),
        ("started", {"event": "clock", "wall": "noon"}, 'wall is a string: "noon"'),
    ],
)
def test_what_nobody_may_say(first: str | None, then: dict[str, object], what: str, told_token: Wire) -> None:
    ear = told_token.witness()
    if first:
        ear.from_subject(line(event=first, **HELLO, **({"job": "j"} if first == "started" else {})))
    ear.from_subject(json.dumps(then).encode() + b"\n")
    assert [finding[1] for finding in told(told_token)] == [what]


def test_an_order_that_is_none_is_the_benchs_fault(told_token: Wire) -> None:
    told_token.witness().from_bench(line(order="sleep", seconds=-1))
    assert [(what, blame) for _, what, blame in told(told_token)] == [("seconds is -1", "bench")]


def test_options_are_held_against_their_schema(wire: Wire) -> None:
    wire.launched(
        "scheduler", {"LEASEPROOF_TOKEN": "t", "LEASEPROOF_WORKER": "s", "LEASEPROOF_OPTIONS": '{"job": "j"}'}
    )
    wire.launched("control", {})
    assert [finding.blame for finding in wire.findings] == ["bench", "bench"]


def test_all_is_written_down() -> None:
    transcript = io.StringIO()
    wire = Wire(Findings(), transcript)
    ear = wire.control()
    ear.from_bench(line(id=1, request="prepare"))
    ear.from_subject(b"\xffugh\n")
    first, second = (json.loads(text) for text in transcript.getvalue().splitlines())
    assert (first["line"], first["from"], json.loads(first["text"])["id"]) == ("control 1", "bench", 1)
    assert (second["from"], second["text"]) == ("subject", "\N{REPLACEMENT CHARACTER}ugh")
    assert wire.heard == 2


def test_a_finding_is_found_once() -> None:
    findings = Findings()
    for blame in ("nobody", "adapter", "adapter"):
        findings.add("here", "this", "A rule.", "a cure", blame)
    assert list(findings) == [Finding("here", "this", "A rule.", "a cure", b) for b in ("nobody", "adapter")]
    assert len(findings.wrong()) == 1


# Ids.


@pytest.mark.parametrize(
    "id",
    [
        *("1", "999", "x0", "a", "Z", "z9", "job:17", "0190c2f8-5b1d-7e4e-9f4a-3c2b1a0f9e8d", "1700000000000-0"),
        *("5F", "arq:in:ffff", "müll-ü", "=="),
    ],
)
def test_an_unknown_id_is_of_the_same_form_and_another_one(id: str) -> None:
    other = unknown(id, {id})
    assert other != id
    assert other.isdecimal() == id.isdecimal()
    assert len(other) >= len(id)
    if re.fullmatch("[0-9a-f-]+", id):
        assert re.fullmatch("[0-9a-f-]+", other)


def test_an_unknown_id_is_none_of_the_known() -> None:
    known = {f"x{i}" for i in range(9)}
    assert unknown("x0", known) not in known


# What is declared, and what stops a lint.


def test_every_option_is_tried_or_told_or_ordered() -> None:
    options = load("describe.answer")["properties"]["answer"]["properties"]["options"]["items"]["enum"]
    ordered = {option for option, _, _ in ORDERS if option}
    of_workers = {"grace", "backoff", "listen"}  # each is told to every worker where it is declared
    assert set(options) - {*TRIALS, *ordered, *of_workers} == {"aging"}  # which only `prepare` could be told


@pytest.mark.parametrize("pattern", [pattern for pattern, _, _ in TROUBLE if pattern])
def test_what_stops_a_lint_has_its_rule_and_its_cure(pattern: str) -> None:
    where, what, rule, cure = _blamed(f"the control process {pattern} x", Path("out"))
    assert (where, rule.endswith("."), "{" in cure) == ("control", True, False)
    assert what


def test_what_nobody_thought_of_stops_it_too() -> None:
    assert _blamed("worker w fell over", Path("out")) == (
        "worker",
        "worker w fell over",
        *_blamed("x", Path("out"))[2:],
    )
