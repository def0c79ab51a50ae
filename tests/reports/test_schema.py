"""The schema takes what a run writes, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

import reports
from tests.reports.results import Result, mixed, sound

SCHEMA = json.loads((Path(reports.__file__).parent / "result.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("result", [sound(), mixed()])
def test_takes_results(result: Result) -> None:
    VALIDATOR.validate(json.loads(json.dumps(result)))


SPOILED: dict[str, Callable[[Result], object]] = {
    "another format": lambda r: r.update(format=2),
    "an unknown field": lambda r: r.update(extra=1),
    "no scenarios": lambda r: r.pop("scenarios"),
    "an exit code of none": lambda r: r.update(exit_code=9),
    "a status of none": lambda r: r["scenarios"][0].update(status="fine"),
    "an unknown field of an arm": lambda r: r["scenarios"][0]["arms"][0].update(x=1),
    "an arm of no kind": lambda r: r["scenarios"][0]["arms"][0].update(id="sound"),
    "a failure with no anomaly": lambda r: r["scenarios"][0]["arms"][0].update(verdict="fail"),
    "no reason for no verdict": lambda r: r["scenarios"][0]["arms"][0].update(verdict="inconclusive"),
    "a sound arm with a twin": lambda r: r["scenarios"][0]["arms"][0].update(twin="X"),
    "half a figure": lambda r: r["scenarios"][0]["arms"][0].update(figures=[["recovered in"]]),
    "a negative time": lambda r: r.update(wall_seconds=-1),
}


@pytest.mark.parametrize("what", SPOILED)
def test_refuses(what: str) -> None:
    result = sound()
    SPOILED[what](result)
    assert not VALIDATOR.is_valid(result)
