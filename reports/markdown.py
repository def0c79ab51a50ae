"""A run as Markdown: whole, for a file, or as much of it as GitHub takes for the summary of a step."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from reports.cross import arm_of, crossed, declared, lines_of
from reports.findings import NEVER_FINE
from reports.markup import code, folded, table, text
from reports.matrix import effort
from reports.outcome import Key, again, cells_of, headline, outcome
from reports.signs import UNICODE, sign_of
from reports.subjects import anomalies, mark, meanings, tally, title
from reports.subjects_page import about, against, fails, matrix, shown, subjects_page, without_verdict

ROOM = 1_000_000
"""Bytes that GitHub surely takes for a step: its limit is 1 MiB, and of what is longer it shows nothing at all."""

CUT = "\n*Cut here, since GitHub takes 1 MiB of a step: the whole is in the run's folder.*\n"

Entry = Mapping[str, Any]
Blocks = Iterator[Sequence[str]]
"""Lines that stay together: a table, a section."""


def markdown(result: Entry) -> str:
    """The result of a run, whole: of subjects, the page that docs/ has of them."""
    return subjects_page(result) if "subjects" in result else _joined(_of_scenarios(result))


def summary(result: Entry, room: int = ROOM) -> str:
    """The result of a run for the summary of a step, in at most so many bytes; what is known already is folded."""
    found: list[Sequence[str]] = []
    left = room - len(CUT.encode())
    for block in _of_subjects(result) if "subjects" in result else _of_scenarios(result):
        left -= len(_joined([block]).encode())
        if left < 0:
            return (_joined(found) + CUT) if room > len(CUT.encode()) else ""
        found.append(block)
    return _joined(found)


def _joined(blocks: Iterable[Sequence[str]]) -> str:
    return "".join(f"{line}\n" for block in blocks for line in block)


# A run of scenarios.


def _of_scenarios(result: Entry) -> Blocks:
    scenarios = result["scenarios"]
    who = f"{result['subject']['subject']} {result['subject'].get('version', '')}".strip()
    yield [f"# leaseproof: {headline(result)}", "", f"{text(who)}, {text(result['profile'])}. {about(result)}", ""]
    cross = crossed(result)
    odd = [scenario for scenario in scenarios if _needs_words(scenario, cross)]
    yield ["## What did not come out as it must", ""] if odd else []
    for scenario in odd:
        yield _told(result, scenario)
    yield ["## The matrix", ""]
    yield _crossed(scenarios) if cross else _matrix(scenarios)
    arms = [arm for scenario in scenarios for arm in scenario["arms"]]
    yield [_key(arms, "in its own scenario alone" if cross else "with the fault"), ""]
    yield [*(f"- {text(words)}" for words in declared(scenarios)), ""] if cross else []
    figures = [
        [text(scenario["name"]), text(f"{name} {value}")]
        for scenario in scenarios
        for arm in scenario["arms"]
        if arm["id"] == "sound-fault"
        for name, value in arm["figures"]
    ]
    yield folded("Figures", table(["scenario", "figure"], figures)) if figures else []
    yield [f"{text('; '.join(effort(result, arms, UNICODE, '')))}."]


def _matrix(scenarios: Sequence[Entry]) -> list[str]:
    rows = []
    for scenario in scenarios:
        arms = {arm["id"]: arm for arm in scenario["arms"]}
        status = text(scenario["status"])
        head = [
            text(scenario["name"]),
            status if status == "proven" else f"**{status}**",
            *(_cell(arms.get(f"sound-{side}")) for side in ("fault", "sham")),
        ]
        for twin in scenario["twins"] or [{"name": ""}]:
            cells = [_cell(arms.get(f"{twin['name']}-{side}")) for side in ("fault", "sham")]
            rows.append([*head, text(twin["name"]), *cells])
            head = [""] * 4
    return table(["scenario", "status", "sound: fault", "sham", "twin", "twin: fault", "sham"], rows)


def _crossed(scenarios: Sequence[Entry]) -> list[str]:
    rows = [[text(line), *(_cell(arm_of(scenario, line)) for scenario in scenarios)] for line in lines_of(scenarios)]
    return table(["twin", *(text(scenario["name"]) for scenario in scenarios)], rows)


def _cell(arm: Entry | None) -> str:
    """An arm in a sign and a word; what is not as it must be is bold."""
    if arm is None:
        return ""
    sign, _ = sign_of(arm["verdict"], arm["as_expected"], UNICODE)
    found = anomalies({"arms": [arm]})
    word = found[0] + (f" +{len(found) - 1}" if len(found) > 1 else "") if found else arm["verdict"]
    return f"{sign} {text(word)}" if arm["as_expected"] else f"**{sign} {text(word)}**"


def _key(arms: Sequence[Entry], where: str) -> str:
    seen = {sign_of(arm["verdict"], arm["as_expected"], UNICODE)[0] for arm in arms}
    words = {
        UNICODE.ok: f"as it must be: a twin must fail {where}",
        UNICODE.bad: "not as it must be",
        UNICODE.unsure: "no verdict",
        UNICODE.absent: "unsupported",
        UNICODE.error: "error of the adapter or the bench",
    }
    return "; ".join(f"{text(sign)} {said}" for sign, said in words.items() if sign in seen) + "."


def _needs_words(scenario: Entry, cross: bool) -> bool:
    """Whether something is to be told of it. Of a cross all scenarios are parts, for no sham is in it."""
    odd = any(not arm["as_expected"] or arm["verdict"] in NEVER_FINE for arm in scenario["arms"])
    return odd or (not cross and scenario["status"] != "proven")


def _told(result: Entry, scenario: Entry) -> list[str]:
    """A section on a scenario: each arm that needs a word, with its history and the command that repeats it."""
    lines = [f"### {text(scenario['name'])}: {text(scenario['status'])}", ""]
    for arm in scenario["arms"]:
        if not arm["as_expected"] or arm["verdict"] in NEVER_FINE:
            lines.append(f"- {code(arm['id'])}: {text(outcome(arm))}")
            lines += [f"  - {text(arm['reason'])}"] if arm["reason"] else []
            lines += shown(arm)
            lines += [f"  - history: {code(arm['history'])}"] if arm["history"] else []
            lines.append(f"  - again: {code(again(result)(scenario, arm))}")
    return [*(lines if len(lines) > 2 else [*lines, f"{text(scenario['why'])}."]), ""]


# A run of subjects.


def _of_subjects(result: Entry) -> Blocks:
    yield [f"# leaseproof: {headline(result)}", "", about(result), ""]
    yield against(result)
    known = cells_of(result, "known").keys() - cells_of(result, "new").keys()
    yield from matrix(result, lambda subject, cell: _subjects_cell(known, subject, cell))
    yield [_subjects_key(result), ""]
    yield folded("The subjects", _tally(result))
    told = [(key in known, lines) for key, lines in fails(result)]
    yield ["## What fails", ""] if any(not old for old, _ in told) else []
    yield from (lines for old, lines in told if not old)
    yield without_verdict(result)
    old_lines = [line for old, lines in told if old for line in lines]
    yield folded("What fails, and is known", old_lines) if old_lines else []
    arms = [arm for subject in result["subjects"] for cell in subject["cells"] for arm in cell["arms"]]
    arms += [arm for scenario in result["scenarios"] for arm in scenario["arms"]]
    yield [f"{text('; '.join(effort(result, arms, UNICODE, '')))}."]


def _subjects_cell(known: Collection[Key], subject: Entry, cell: Entry) -> str:
    sign = text(mark(cell, UNICODE)[0])
    if cell["verdict"] != "fail":
        return sign
    found = text(", ".join(anomalies(cell)))
    old = (subject["name"], subject["profile"], cell["scenario"]) in known
    return f"{sign} known: {found}" if old else f"**{sign} {found}**"


def _subjects_key(result: Entry) -> str:
    seen = {mark(cell, UNICODE)[0] for subject in result["subjects"] for cell in subject["cells"]}
    words = meanings(UNICODE) | {UNICODE.waiting: "not proven in this run"}
    return "; ".join(f"{text(sign)} {said}" for sign, said in words.items() if sign in seen) + "."


def _tally(result: Entry) -> list[str]:
    rows = [
        [text(title(s)), text(s["describe"].get("version", "")), *map(str, tally(s).values())]
        for s in result["subjects"]
    ]
    return table(["subject", "version", *tally({"cells": []})], rows)
