"""The badge says in a few words, and in a colour, what the run's exit code says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reports.badge import badge
from tests.reports.hostile import TEXTS, results
from tests.reports.results import Result, mixed, sound
from tests.reports.test_cross import broken as broken_cross
from tests.reports.test_cross import crossed
from tests.reports.test_subjects import compared
from tests.reports.validations import cell, clean, subject, validation
from tests.reports.validations import mixed as mixed_subjects


def read(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(badge(result))
    return found


def test_it_has_what_shields_asks_for_and_no_more() -> None:
    assert read(sound()) == {
        "schemaVersion": 1,
        "label": "leaseproof",
        "message": "6 of 6 proven",
        "color": "brightgreen",
        "isError": False,
    }


KNOWN = {"file": "known.toml", "known": [], "new": [], "mended": []}
ONE_FAIL = validation(subject("rq", "default", cell("worker-death", "fail", "lost")))


@pytest.mark.parametrize(
    ("result", "message", "colour"),
    [
        (mixed(), "3 of 6 proven, 2 unproven, 1 inconclusive", "red"),
        (sound() | {"verdict": "inconclusive", "exit_code": 3}, "6 of 6 proven", "yellow"),
        (sound() | {"verdict": "partial"}, "6 of 6 proven", "blue"),
        (crossed(), "12 of 12 arms as due", "brightgreen"),
        (broken_cross(), "11 of 12 arms as due", "red"),
        (clean(), "2 pass, 0 fail", "brightgreen"),
        (mixed_subjects(), "2 pass, 2 fail, 1 without verdict, 4 errors", "red"),
        (compared(), "2 pass, 1 new fail, 1 known fail, 1 mended, 1 without verdict, 4 errors", "red"),
        (ONE_FAIL | {"expected": KNOWN, "exit_code": 0}, "0 pass, 1 known fail", "brightgreen"),
        (clean() | {"expected": KNOWN}, "2 pass, 0 fail", "brightgreen"),
    ],
)
def test_what_it_says_of_a_run(result: Result, message: str, colour: str) -> None:
    assert (read(result)["message"], read(result)["color"]) == (message, colour)


def test_a_broken_adapter_is_an_error_whose_colour_nobody_overrides() -> None:
    found = read(mixed_subjects() | {"exit_code": 4})
    assert (found["color"], found["isError"]) == ("orange", True)


@pytest.mark.parametrize("name", TEXTS)
def test_no_subject_gets_a_word_in(name: str) -> None:
    for result in results(TEXTS[name]):
        assert len(read(result)["message"]) < 80
