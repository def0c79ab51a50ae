"""Texts that a subject may say, to the harm of the report that they are in; and results that are full of them."""

from __future__ import annotations

from typing import Any

from tests.reports.results import Result
from tests.reports.results import mixed as scenarios
from tests.reports.validations import mixed as subjects

TEXTS = {
    "script": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "markup": "</details>**b** _i_ `c` ~~s~~ # h [a](javascript:alert(1)) ![i](x) | a | &lt; \\| \\",
    "xml": "a]]>b<!--c-->&amp;\"'<![CDATA[",
    "controls": "a\x00b\x07c\x1b[2J\x0b\ufffe\uffff\ud800 \u202ed\u2066 e\r\n\n- f\n\n```\n# g",
    "long": "w" * 10_000,
    "empty": "",
}

KEPT = ("id", "code", "verdict", "expected", "status", "started", "format")


def spoilt(value: Any, text: str) -> Any:
    """The same with a text in place of each text, but for the words that a report goes by."""
    if isinstance(value, dict):
        return {key: it if key in KEPT and isinstance(it, str) else spoilt(it, text) for key, it in value.items()}
    if isinstance(value, list):
        return [spoilt(it, text) for it in value]
    return text if isinstance(value, str) else value


def results(text: str) -> list[Result]:
    """A run of scenarios and one of subjects that say nothing else but this."""
    return [spoilt(scenarios(), text), spoilt(subjects(), text)]
