"""One JSON Schema (draft 2020-12) a message, and a validator for as much of the language as they use.

It is our own so that `leaseproof lint` needs no package, and so that a violation is told in the contract's words: the
rule is the description that stands beside the field. The tests hold it against the jsonschema package.
"""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

Schema = Mapping[str, Any]

FOLDER = Path(__file__).parent

_TYPES: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "string": ("a string", (str,)),
    "integer": ("a whole number", (int,)),
    "number": ("a number", (int, float)),
    "boolean": ("true or false", (bool,)),
    "null": ("null", (type(None),)),
    "array": ("a list", (list,)),
    "object": ("an object", (dict,)),
}
"""What each type is called, and what `json.loads` makes of it."""

_KEYWORDS = frozenset(
    [
        *("$schema", "$id", "title", "description", "type", "const", "enum", "minLength", "pattern"),
        *("required", "properties", "additionalProperties", "items", "minItems", "maxItems", "uniqueItems"),
        *("minimum", "maximum", "exclusiveMinimum"),
    ]
)


@dataclass(frozen=True)
class Violation:
    """One field of a message that is not as its schema has it: what is wrong, the rule, and the cure."""

    what: str
    rule: str
    cure: str


def names() -> list[str]:
    """The names of all schemas, such as `enqueue.request`."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


@cache
def load(name: str) -> Schema:
    """A schema by its name. Raises FileNotFoundError, and ValueError where it uses what the validator does not know."""
    schema: Schema = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    for each in _all(schema):
        if strange := each.keys() - _KEYWORDS:
            raise ValueError(f"{name}: this validator does not know {', '.join(sorted(strange))}")
    return schema


def violations(name: str, message: object) -> list[Violation]:
    """All that is wrong with a message, in reading order; of a list, its first wrong entry."""
    schema = load(name)
    return list(_check(schema, message, "", schema["description"]))


def _all(schema: Schema) -> Iterator[Schema]:
    yield schema
    below = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for each in below:
        if isinstance(each, dict):
            yield from _all(each)


def _check(schema: Schema, value: object, path: str, rule: str) -> Iterator[Violation]:
    rule = schema.get("description", rule)
    if not _is_one(schema, value):
        plain = value is None or "enum" in schema or "const" in schema
        what = _shown(value) if plain else f"{_kind(value)}: {_shown(value)}"
        cure = f"send {expected(schema)}{_meant(schema, value)}"
        yield Violation(f"{path or 'the message'} is {what}", rule, cure)
        return
    if isinstance(value, dict):
        yield from _check_object(schema, value, path, rule)
    elif isinstance(value, list):
        yield from _check_list(schema, value, path, rule)
    elif wrong := _out_of_bounds(schema, value):
        yield Violation(f"{path} is {_shown(value)}", rule, f"send {wrong}")


def _check_object(schema: Schema, value: Mapping[str, object], path: str, rule: str) -> Iterator[Violation]:
    properties, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
    for field in schema.get("required", []):
        if field not in value:
            its = properties[field]
            yield Violation(f"{_at(path, field)} is missing", its.get("description", rule), f"send {expected(its)}")
    for field, its_value in value.items():
        if field in properties:
            yield from _check(properties[field], its_value, _at(path, field), rule)
        elif isinstance(rest, dict):
            yield from _check(rest, its_value, _at(path, field), rule)
        elif rest is False:
            known = f"; known are: {', '.join(properties) or 'no fields'}"
            cure = f"leave it out{_nearest(field, properties) or known}"
            yield Violation(f"{_at(path, field)} is not in the contract", rule, cure)


def _check_list(schema: Schema, value: list[object], path: str, rule: str) -> Iterator[Violation]:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        yield Violation(f"{path} has {len(value)} entries", rule, f"send {expected(schema)}")
    if schema.get("uniqueItems") and len({json.dumps(each, sort_keys=True) for each in value}) < len(value):
        yield Violation(f"{path} has an entry twice: {_shown(value)}", rule, "send each once")
    wrong = (list(_check(schema.get("items", {}), each, f"{path}[{i}]", rule)) for i, each in enumerate(value))
    yield from next(filter(None, wrong), [])


def _is_one(schema: Schema, value: object) -> bool:
    """Whether a value is of the schema's type, or one of its values."""
    if "const" in schema:
        return _same(value, schema["const"])
    if "enum" in schema:
        return any(_same(value, each) for each in schema["enum"])
    wanted = schema.get("type", list(_TYPES))
    return any(_is_of(value, each) for each in ([wanted] if isinstance(wanted, str) else wanted))


def _same(value: object, other: object) -> bool:
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def _is_of(value: object, wanted: str) -> bool:
    if isinstance(value, bool):  # which Python takes for a number
        return wanted == "boolean"
    if wanted == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[wanted][1])


def _out_of_bounds(schema: Schema, value: object) -> str:
    """What must be sent instead of a number or a string of the right type; empty when it is in bounds."""
    if isinstance(value, str):
        short = len(value) < schema.get("minLength", 0)
        return expected(schema) if short or not re.search(schema.get("pattern", ""), value) else ""
    if isinstance(value, int | float):
        least, above, most = (schema.get(key) for key in ("minimum", "exclusiveMinimum", "maximum"))
        out = (least is not None and value < least) or (above is not None and value <= above)
        return expected(schema) if out or (most is not None and value > most) else ""
    return ""


def expected(schema: Schema) -> str:
    """What a schema takes, in words."""
    if "const" in schema:
        return _shown(schema["const"])
    if "enum" in schema:
        return f"one of {', '.join(map(_shown, schema['enum']))}"
    wanted = schema.get("type", [])
    words = " or ".join(_TYPES[each][0] for each in ([wanted] if isinstance(wanted, str) else wanted))
    for keyword, text in _BOUNDS.items():
        if keyword in schema:
            words += text.format(schema[keyword])
    fields = schema.get("required", []) if wanted == "object" else []
    return (words or "anything") + (f" with {', '.join(fields)}" if fields else "")


_BOUNDS = {
    "minItems": ", at least {} long",
    "maxItems": ", at most {} long",
    "minimum": ", at least {}",
    "exclusiveMinimum": ", more than {}",
    "maximum": ", at most {}",
    "minLength": " of at least {} character",
    "pattern": " like {}",
}


def _at(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field


def _kind(value: object) -> str:
    return next(words for name, (words, _) in _TYPES.items() if _is_of(value, name))


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _meant(schema: Schema, value: object) -> str:
    return _nearest(value, schema.get("enum", ())) if isinstance(value, str) else ""


def _nearest(value: str, known: Any) -> str:
    near = difflib.get_close_matches(value, [each for each in known if isinstance(each, str)], n=1)
    return f"; did you mean {near[0]}?" if near else ""
