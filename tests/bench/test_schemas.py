"""The schemas: they are schemas, they take the document's examples, and they refuse what the friendly check refuses."""

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from bench import contract, schemas
from tests.fakes.sane import Sane

Message = dict[str, Any]

PROTOCOL = Path(__file__).resolve().parents[2] / "docs" / "protocol.md"


def valid(name: str, message: object) -> bool:
    """Whether a message is as its schema has it, by our validator and by the jsonschema package: they must agree."""
    ours = not schemas.violations(name, message)
    theirs = jsonschema.Draft202012Validator(dict(schemas.load(name))).is_valid(message)
    assert ours == theirs, f"{name}: ours says {ours}, jsonschema says {theirs}, of {message}"
    return ours


@pytest.mark.parametrize("name", schemas.names())
def test_each_is_a_schema_with_a_title_and_a_description(name: str) -> None:
    schema = schemas.load(name)
    jsonschema.Draft202012Validator.check_schema(dict(schema))
    assert schema["$id"] == f"urn:leaseproof:1:{name}"
    assert schema["title"]
    assert schema["description"]


def test_a_keyword_that_the_validator_does_not_know_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.json").write_text('{"properties": {"a": {"items": {"format": "date"}}}}')
    monkeypatch.setattr(schemas, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match="x: this validator does not know format"):
        schemas.load("x")


# The document's examples.


def examples() -> Iterator[tuple[str, str, Message]]:
    """The messages in the document's code blocks, in their order: their place, their arrow, and each message."""
    chapter, section = "", ""
    parts = re.compile(
        r"^(?P<level>##+) (?P<title>[^\n]*)|^```(?P<language>\w*)\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL
    )
    for part in parts.finditer(PROTOCOL.read_text(encoding="utf-8")):
        if part["level"]:
            section = part["title"]
            chapter = section if part["level"] == "##" else chapter
        elif not part["language"]:
            for message in re.split(r"\n(?=\S)", part["code"].strip()):
                yield f"{chapter}: {section}", message[:2], json.loads(message[3:])


def named() -> Iterator[tuple[str, Message]]:
    """Each example, with the schema that it must satisfy."""
    asked: dict[int, str] = {}
    for place, arrow, message in examples():
        if place.startswith("Control"):
            if arrow == "->":
                asked[message["id"]] = message["request"]
                yield f"{message['request']}.request", message
            else:
                yield "error" if "error" in message else f"{asked[message['id']]}.answer", message
        elif arrow == "<-":
            yield f"order.{message['order']}", message
        else:
            line = "worker" if "own line" in place else "puppet"
            yield f"{line}.{message['event']}", message


EXAMPLES = list(named())


@pytest.mark.parametrize(("name", "message"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_an_example_of_the_document_satisfies_its_schema(name: str, message: Message) -> None:
    assert schemas.violations(name, message) == []
    assert valid(name, message)


def test_every_message_has_an_example() -> None:
    assert set(schemas.names()) - {name for name, _ in EXAMPLES} == {"options.worker", "options.scheduler"}


def test_every_description_of_a_request_is_the_documents() -> None:
    text = " ".join(PROTOCOL.read_text(encoding="utf-8").split())
    for name in schemas.names():
        for field, its in schemas.load(name).get("properties", {}).items():
            assert field in text, f"{name}: {field}"
            assert "description" in its or "const" in its or field == "answer", f"{name}: {field} is not described"


# What bench/contract.py refuses.

DESCRIBE: Message = Sane.describe
ROW = {"id": "1", "state": "queued"}


def row(column: str, value: object) -> Message:
    return {"id": "1", "state": "queued", column: value}


def without(field: str) -> Message:
    return {key: value for key, value in DESCRIBE.items() if key != field}


REQUIRED = ("subject", "version", "protocol", "slack", "drain", *contract.CHOICES)

DRAINS: list[Any] = [{}, [], {"exit_codes": 0}, {"exit_codes": ["0"]}]
DRAINS += [{"exit_codes": [0], "forced_codes": codes} for codes in (None, 75, ["75"], [7.5])]

NO_STRINGS: list[Any] = [True, 1, 0.5, []]

LISTS: list[Any] = ["renewed", None, [1], {"a": "b"}]

DESCRIBES: list[Message] = [
    *(without(field) for field in REQUIRED),
    *(DESCRIBE | {field: None} for field in REQUIRED),
    *(DESCRIBE | {field: "magic"} for field in ("protocol", "slack", "drain", *contract.CHOICES)),
    *(DESCRIBE | {field: 5} for field in ("subject", "version", "protocol", "drain", *contract.CHOICES)),
    *(DESCRIBE | {field: value} for field in ("tells", "options", "columns") for value in LISTS),
    *(DESCRIBE | {field: value} for field in ("lease", "reclaim_every") for value in (0, -1.5, "1", [1])),
    *(DESCRIBE | {"drain": drain} for drain in DRAINS),
]

ENQUEUES: list[Message] = [{}, {"ids": None}, {"ids": "1"}, {"ids": [1]}, {"ids": []}, {"ids": ["1", "1"]}, {"id": "1"}]

INSPECTS: list[Message] = [
    *({}, {"rows": None}, {"rows": {}}, {"rows": []}, {"rows": [5]}, {"rows": [{}]}, {"rows": [{"state": "done"}]}),
    *({"rows": [{"id": "1"}]}, {"rows": [ROW, 5]}, {"rows": [{"id": 1, "state": "done"}]}),
    *({"rows": [row("state", state)]} for state in ("undead", None, 5, "Done")),
    *({"rows": [row(column, value)]} for column in ("lease_alive", "attempt", "mine") for value in NO_STRINGS),
]

RECLAIMS: list[Message] = [{}, {"ids": "1"}, {"ids": [1]}, {"ids": {"1": "2"}}]

Check = Callable[[Message], object]

REFUSED: list[tuple[str, Check, Message]] = [
    *(("describe", contract.check_describe, answer) for answer in DESCRIBES),
    *(("enqueue", lambda answer: contract.check_enqueue(answer, 2), answer) for answer in ENQUEUES),
    *(("inspect", lambda answer: contract.check_inspect(answer, ["1"]), answer) for answer in INSPECTS),
    *(("reclaim", contract.check_reclaim, answer) for answer in RECLAIMS),
]


@pytest.mark.parametrize(("request_", "check", "answer"), REFUSED, ids=lambda value: getattr(value, "__name__", None))
def test_what_the_friendly_check_refuses_the_schema_does(request_: str, check: Check, answer: Message) -> None:
    with pytest.raises(contract.AdapterFault):
        check(answer)
    assert not valid(f"{request_}.answer", {"id": 1, "answer": answer})


RELATIONS: list[tuple[str, Check, Message]] = [
    ("enqueue", lambda answer: contract.check_enqueue(answer, 2), {"ids": ["1"]}),
    ("enqueue", lambda answer: contract.check_enqueue(answer, 1), {"ids": ["1", "2"]}),
    ("inspect", lambda answer: contract.check_inspect(answer, ["1", "2"]), {"rows": [ROW]}),
    ("inspect", lambda answer: contract.check_inspect(answer, ["2"]), {"rows": [ROW]}),
]


@pytest.mark.parametrize(("request_", "check", "answer"), RELATIONS)
def test_how_an_answer_goes_with_its_request_only_the_friendly_check_sees(
    request_: str, check: Check, answer: Message
) -> None:
    with pytest.raises(contract.AdapterFault):
        check(answer)
    assert valid(f"{request_}.answer", {"id": 1, "answer": answer})


# What the schemas refuse besides, and how it is told.


def spoiled(message: Message) -> Iterator[Message]:
    """A message with each field of it left out, of another kind, and misspelt."""
    for field in message:
        rest = {key: value for key, value in message.items() if key != field}
        yield rest | {f"{field}x": message[field]}
        yield rest | {field: None if isinstance(message[field], bool) else True}
        yield rest | {field: [[message[field]]]}


@pytest.mark.parametrize(("name", "message"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_a_spoiled_example_is_refused(name: str, message: Message) -> None:
    for bad in spoiled(message):
        assert not valid(name, bad), bad
    inner = next((key for key in ("answer", "jobs", "rows") if key in message), "")
    if inner == "answer":
        for bad in spoiled(message["answer"]):
            assert not valid(name, message | {"answer": bad}), bad


@pytest.mark.parametrize("message", [None, 5, "x", [], [{}], True, {}])
@pytest.mark.parametrize("name", schemas.names())
def test_what_is_no_message_at_all(name: str, message: object) -> None:
    assert not valid(name, message)


@pytest.mark.parametrize(
    ("change", "what", "cure"),
    [
        ({"slack": None}, "answer.slack is null", "send a number, at least 0"),
        ({"slack": -1}, "answer.slack is -1", "send a number, at least 0"),
        ({"ownership": "lese"}, 'answer.ownership is "lese"', "did you mean lease?"),
        ({"protocol": 2}, "answer.protocol is 2", "send 1"),
        ({"tels": []}, "answer.tels is not in the contract", "leave it out; did you mean tells?"),
        ({"mascot": []}, "answer.mascot is not in the contract", "leave it out; known are: subject, version"),
        (
            {"tells": ["renewed", "renewed"]},
            'answer.tells has an entry twice: ["renewed", "renewed"]',
            "send each once",
        ),
        ({"drain": {"exit_codes": []}}, "answer.drain.exit_codes has 0 entries", "send a list, at least 1 long"),
        ({"drain": {"exit_codes": [0, "x"]}}, 'answer.drain.exit_codes[1] is a string: "x"', "send a whole number"),
    ],
)
def test_a_violation_is_told_with_its_rule_and_its_cure(change: Message, what: str, cure: str) -> None:
    answer = {"id": 1, "answer": deepcopy(DESCRIBE) | change}
    (violation,) = schemas.violations("describe.answer", answer)
    assert violation.what == what
    assert cure in violation.cure
    assert violation.rule.endswith(".")


def test_a_field_that_is_missing_is_told_by_its_own_rule() -> None:
    (violation,) = schemas.violations("describe.answer", {"id": 1, "answer": without("slack")})
    assert violation.what == "answer.slack is missing"
    assert violation.rule == "Seconds that the queue itself adds to lease and reclaim interval."
