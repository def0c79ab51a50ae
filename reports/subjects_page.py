"""Subjects by scenario as a page of Markdown: the matrix, who was asked, and a section on each fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reports.findings import MOST_ANOMALIES
from reports.markup import anchor, code, link, table, text
from reports.outcome import Key, cells_of
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

MOST_EVENTS = 20

Entry = Mapping[str, Any]


def subjects_page(result: Entry) -> str:
    """The result of `leaseproof validate` as a page."""
    found = [line for _, lines in fails(result) for line in lines]
    parts = [
        HEAD.format(key=_key(result), about=about(result)),
        *(["## The matrix", ""] if result["subjects"] else []),
        *(line for lines in matrix(result, _cell) for line in lines),
        *_subjects(result),
        *(["## What fails", "", *found] if found else []),
        *without_verdict(result),
        *_figures(result),
        *_unsupported(result),
        *against(result),
    ]
    return "\n".join(parts)


def _key(result: Entry) -> str:
    seen = {cell["verdict"] for subject in result["subjects"] for cell in subject["cells"]}
    return "\n".join(f"- {words}" for verdict, words in KEY.items() if verdict in seen)


def about(result: Entry) -> str:
    """When it was run, and on what."""
    on = ", ".join(f"{name} {value}" for name, value in result["environment"].items())
    bench = f"{text(result['started'][:10])}, leaseproof {text(result['leaseproof'])}"
    return f"{bench}, a lease of {result['lease']:g} s; {text(on)}."


def matrix(result: Entry, cell: Callable[[Entry, Entry], str]) -> Iterator[list[str]]:
    """The matrix, in tables of a few subjects each; `cell` is told a subject and its cell."""
    names = list(dict.fromkeys(subject["name"] for subject in result["subjects"]))
    for first in range(0, len(names), PER_TABLE):
        mine = [subject for subject in result["subjects"] if subject["name"] in names[first : first + PER_TABLE]]
        heads = [f"{text(subject['name'])}<br>{text(subject['profile'])}" for subject in mine]
        rows = (
            [
                text(scenario["name"]),
                *(cell(s, c) for s in mine for c in s["cells"] if c["scenario"] == scenario["name"]),
            ]
            for scenario in told(result)
        )
        yield table(["scenario", *heads], rows)


def _cell(subject: Entry, cell: Entry) -> str:
    match cell["verdict"]:
        case "fail":
            return f"[**fail**](#{anchor(_heading(subject, cell))}) {text(', '.join(anomalies(cell)))}"
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
        what, docs = str(settings.pop("about", "")), settings.pop("docs", "")
        said = "; ".join(f"{key} {value}" for key, value in settings.items())
        what = ". ".join(words.rstrip(".") for words in (what, said) if words)
        version = text(subject["describe"].get("version", ""))
        numbers = [str(n) for n in tally(subject).values()]
        profile = link(subject["profile"], docs)
        rows.append([text(subject["name"]), version, profile, text(what), bound(subject), *numbers])
    heads = ["subject", "version", "profile", "settings", "back within", *tally({"cells": []})]
    return ["## The subjects", "", *table(heads, rows)]


def _heading(subject: Entry, cell: Entry) -> str:
    return f"{title(subject)}, {cell['scenario']}"


def fails(result: Entry) -> Iterator[tuple[Key, list[str]]]:
    """A section on each cell that fails."""
    known = cells_of(result, "known")
    for subject in result["subjects"]:
        for cell in subject["cells"]:
            if cell["verdict"] == "fail":
                key = (subject["name"], subject["profile"], cell["scenario"])
                said = why(cell, known.get(key))
                lines = [f"### {text(_heading(subject, cell))}", ""]
                lines += [f"{text(said[0].upper() + said[1:])}.", ""] if said else []
                for arm in cell["arms"]:
                    lines += _arm(result, subject, cell, arm) if arm["verdict"] == "fail" else []
                yield key, [*lines, ""]


def _arm(result: Entry, subject: Entry, cell: Entry, arm: Entry) -> list[str]:
    head = f"- {'With' if arm['fault'] else 'Without'} the fault; {code(arm['history'])}"
    again_ = code(again(result, subject, cell["scenario"], arm["id"]))
    return [head, *shown(arm), f"  - again: {again_}"]


def shown(arm: Entry) -> list[str]:
    """What an arm showed, each anomaly with its events, as items of a list in a list."""
    lines = []
    for it in arm["anomalies"][:MOST_ANOMALIES]:
        events = f" (events {', '.join(map(str, it['events'][:MOST_EVENTS]))})" if it["events"] else ""
        lines.append(f"  - {code(it['name'])}: {text(it['text'])}{events}")
    more = len(arm["anomalies"]) - MOST_ANOMALIES
    return [*lines, f"  - {more} more, which `leaseproof check` tells"] if more > 0 else lines


def without_verdict(result: Entry) -> list[str]:
    """What is in doubt, and whose adapter broke: each reason once for a subject."""
    parts: list[str] = []
    for subject in result["subjects"]:
        parts += [f"- {text(title(subject))}: smoke: {text(smoke_of(subject))}"] if subject["smoke"] else []
        reasons: dict[tuple[str, str], list[str]] = {}
        for cell in subject["cells"]:
            if cell["verdict"] in ("inconclusive", "error"):
                reasons.setdefault((cell["verdict"], cell["reason"]), []).append(cell["scenario"])
        for (verdict, reason), scenarios in reasons.items():
            parts.append(f"- {text(title(subject))}, {text(', '.join(scenarios))}: {verdict}: {text(reason)}")
    unproven = [s for s in result["scenarios"] if s["status"] != "proven"]
    parts += [f"- {text(scenario['name'])} is not proven here: {text(scenario['why'])}" for scenario in unproven]
    return ["## Without a verdict", "", *parts, ""] if parts else []


def _figures(result: Entry) -> list[str]:
    rows = [
        [text(cell["scenario"]), text(title(subject)), text(f"{name} {value}")]
        for scenario in told(result)
        for subject in result["subjects"]
        for cell in subject["cells"]
        if cell["scenario"] == scenario["name"]
        for name, value in figures_of(cell)
    ]
    return ["## Figures", "", *table(["scenario", "subject", "figure"], rows)] if rows else []


def _unsupported(result: Entry) -> list[str]:
    parts = [f"- {text(names)}: {text(reason)} ({text(whose)})" for reason, names, whose in unsupported(result)]
    return ["## Unsupported", "", *parts, ""] if parts else []


def against(result: Entry) -> list[str]:
    """How the findings compare with the record of the known ones."""
    if result["expected"] is None:
        return []
    parts = [f"- {kind}: {text(compared(e))}" for kind in ("new", "mended") for e in result["expected"][kind]]
    heading = f"## Against the record in {text(result['expected']['file'])}"
    return [heading, "", *(parts or ["Nothing is new, and nothing mended."]), ""]
