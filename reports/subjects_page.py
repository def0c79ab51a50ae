"""Subjects by scenario as a page of Markdown: the matrix, who was asked, and a section on each fail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reports.signs import UNICODE, clean
from reports.subjects import (
    again,
    anomalies,
    bound,
    compared,
    figures_of,
    smoke_of,
    tally,
    title,
    told,
    unsupported,
    why,
)

PER_TABLE = 6
"""Subjects beside one another: a wider table is scrolled, and its head is out of sight."""

HEAD = """\
# Queues under faults

Made by `leaseproof validate` with `--markdown`, and not by hand. A cell is shown only where queue_core and its twins
prove the scenario in the same run: then the check is known to be able to pass and to fail.

{about}

{key}
"""

KEY = {
    "pass": "`pass` holds",
    "fail": "**fail** leads to what was seen",
    "inconclusive": "`?` left no verdict",
    "unsupported": "`-` is unsupported, for the reason below",
    "error": "`error` is the adapter's fault or the bench's, and none of the queue's",
    "unproven": "`unproven` shows nothing, since the scenario was not proven",
}

Entry = Mapping[str, Any]


def subjects_page(result: Entry) -> str:
    """The result of `leaseproof validate` as a page."""
    parts = [
        HEAD.format(key=_key(result), about=_about(result)),
        *_matrix(result),
        *_subjects(result),
        *_fails(result),
        *_without_verdict(result),
        *_figures(result),
        *_unsupported(result),
        *_expected(result),
    ]
    return "\n".join(parts)


def _key(result: Entry) -> str:
    seen = {cell["verdict"] for subject in result["subjects"] for cell in subject["cells"]}
    return "\n".join(f"- {words}" for verdict, words in KEY.items() if verdict in seen)


def _about(result: Entry) -> str:
    environment = result["environment"]
    on = ", ".join(f"{name} {environment[name]}" for name in environment)
    return (
        f"{result['started'][:10]}, leaseproof {result['leaseproof']}, a lease of {result['lease']:g} s; {_text(on)}."
    )


def _matrix(result: Entry) -> list[str]:
    """The matrix, in tables of a few subjects each."""
    subjects = result["subjects"]
    names = list(dict.fromkeys(subject["name"] for subject in subjects))
    parts = ["## The matrix", ""]
    for first in range(0, len(names), PER_TABLE):
        mine = [subject for subject in subjects if subject["name"] in names[first : first + PER_TABLE]]
        parts += _table(["scenario", *(f"{s['name']}<br>{s['profile']}" for s in mine)], _rows(result, mine))
    return parts


def _rows(result: Entry, subjects: Sequence[Entry]) -> Iterable[list[str]]:
    for scenario in told(result):
        cells = ((s, cell) for s in subjects for cell in s["cells"] if cell["scenario"] == scenario["name"])
        yield [scenario["name"], *(_cell(subject, cell) for subject, cell in cells)]


def _cell(subject: Entry, cell: Entry) -> str:
    match cell["verdict"]:
        case "fail":
            return f"[**fail**](#{_anchor(_heading(subject, cell))}) {_text(', '.join(anomalies(cell)))}"
        case "inconclusive":
            return "?"
        case "unsupported":
            return "-"
        case verdict:
            return str(verdict)


def _subjects(result: Entry) -> list[str]:
    """Who was asked: version, profile and settings, the bound that it declares, and how it came out."""
    rows = []
    for subject in result["subjects"]:
        settings = dict(subject["settings"])
        about, docs = settings.pop("about", ""), settings.pop("docs", "")
        said = "; ".join(f"{key} {value}" for key, value in settings.items())
        what = ". ".join(text.rstrip(".") for text in (about, said) if text)
        profile = f"[{subject['profile']}]({docs})" if docs else subject["profile"]
        version = _text(subject["describe"].get("version", ""))
        numbers = [str(n) for n in tally(subject).values()]
        rows.append([subject["name"], version, profile, _text(what), bound(subject), *numbers])
    heads = ["subject", "version", "profile", "settings", "back within", *tally({"cells": []})]
    return ["## The subjects", "", *_table(heads, rows)]


def _heading(subject: Entry, cell: Entry) -> str:
    return f"{title(subject)}, {cell['scenario']}"


def _fails(result: Entry) -> list[str]:
    known = {
        (entry["subject"], entry["profile"], entry["scenario"]): entry
        for entry in (result["expected"] or {}).get("known", [])
    }
    parts = []
    for subject in result["subjects"]:
        for cell in subject["cells"]:
            if cell["verdict"] == "fail":
                record = known.get((subject["name"], subject["profile"], cell["scenario"]))
                said = why(cell, record)
                parts += [
                    f"### {_heading(subject, cell)}",
                    "",
                    *([f"{_text(said[0].upper() + said[1:])}.", ""] if said else []),
                ]
                for arm in cell["arms"]:
                    parts += _arm(result, subject, cell, arm) if arm["verdict"] == "fail" else []
                parts.append("")
    return ["## What fails", "", *parts] if parts else []


def _arm(result: Entry, subject: Entry, cell: Entry, arm: Entry) -> list[str]:
    shown = [
        f"  - `{a['name']}`: {_text(a['text'])} (events {', '.join(map(str, a['events']))})" for a in arm["anomalies"]
    ]
    head = f"- {'With' if arm['fault'] else 'Without'} the fault; `{arm['history']}`"
    return [head, *shown, f"  - again: `{again(result, subject, cell['scenario'], arm['id'])}`"]


def _without_verdict(result: Entry) -> list[str]:
    """What is in doubt, and whose adapter broke: each reason once for a subject."""
    parts: list[str] = []
    for subject in result["subjects"]:
        parts += [f"- {title(subject)}: smoke: {_text(smoke_of(subject))}"] if subject["smoke"] else []
        reasons: dict[tuple[str, str], list[str]] = {}
        for cell in subject["cells"]:
            if cell["verdict"] in ("inconclusive", "error"):
                reasons.setdefault((cell["verdict"], cell["reason"]), []).append(cell["scenario"])
        for (verdict, reason), scenarios in reasons.items():
            parts.append(f"- {title(subject)}, {', '.join(scenarios)}: {verdict}: {_text(reason)}")
    unproven = [s for s in result["scenarios"] if s["status"] != "proven"]
    parts += [f"- {scenario['name']} is not proven here: {_text(scenario['why'])}" for scenario in unproven]
    return ["## Without a verdict", "", *parts, ""] if parts else []


def _figures(result: Entry) -> list[str]:
    rows = [
        [cell["scenario"], title(subject), _text(f"{name} {value}")]
        for scenario in told(result)
        for subject in result["subjects"]
        for cell in subject["cells"]
        if cell["scenario"] == scenario["name"]
        for name, value in figures_of(cell)
    ]
    return ["## Figures", "", *_table(["scenario", "subject", "figure"], rows)] if rows else []


def _unsupported(result: Entry) -> list[str]:
    parts = []
    for reason, subjects in unsupported(result).items():
        names = list(dict.fromkeys(name for names in subjects.values() for name in names))
        whose = "all" if len(subjects) == len(result["subjects"]) else ", ".join(subjects)
        parts.append(f"- {', '.join(names)}: {_text(reason)} ({whose})")
    return ["## Unsupported", "", *parts, ""] if parts else []


def _expected(result: Entry) -> list[str]:
    if result["expected"] is None:
        return []
    parts = [f"- {kind}: {_text(compared(e))}" for kind in ("new", "mended") for e in result["expected"][kind]]
    return [f"## Against {result['expected']['file']}", "", *(parts or ["Nothing is new, and nothing mended."]), ""]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def _text(value: object) -> str:
    """A text of the subject's that formats nothing."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", clean(value, UNICODE))


def _anchor(heading: str) -> str:
    """Where a heading is found in a page."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
