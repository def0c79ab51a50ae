"""A run as JUnit XML, for whatever reads the results of tests: in the dialect that pytest writes.

| in a run | in the XML |
|---|---|
| a pass, and a twin that failed as it must | a pass |
| a fail, a twin that did not fail as it must, a scenario that is unproven | failure |
| inconclusive, and an error of the adapter or the bench | error |
| unsupported, and what a reference that proves nothing leaves open | skipped, with the reason |
| a fail that the record of `--expect` knows | skipped, with its reason and its link |
| what is known and did not come again | failure: the record is to be mended |

A known fail is skipped and not passed, for the queue does not hold there, and each reader of JUnit shows what was
skipped, and why; it is no failure either, or a queue with a known weakness could never have a green build. So a file
without failures and errors and an exit code of 0 are the same thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from reports.outcome import Key, again, cells_of, outcome
from reports.signs import UNICODE, clean
from reports.subjects import again as again_of_subject
from reports.subjects import anomalies, smoke_of, title, why

REFERENCE = "queue_core, the reference"

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A testcase. `kind` is `failure`, `error` or `skipped`, and empty for a pass; `body` is its text, in lines."""

    name: str
    seconds: float
    kind: str = ""
    message: str = ""
    body: Sequence[str] = ()


def junit(result: Entry) -> str:
    """The result of a run: a suite a scenario, with its arms; or a suite a subject in a profile, with its cells."""
    root = ElementTree.Element("testsuites", name="leaseproof")
    suites = _of_subjects(result) if "subjects" in result else _of_scenarios(result)
    for name, settings, cases in suites:
        root.append(_suite(result, name, settings, list(cases)))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _suite(result: Entry, name: str, settings: Entry, cases: Sequence[Case]) -> ElementTree.Element:
    def count(kind: str) -> str:
        return str(sum(case.kind == kind for case in cases))

    suite = ElementTree.Element(
        "testsuite",
        name=_line(name),
        errors=count("error"),
        failures=count("failure"),
        skipped=count("skipped"),
        tests=str(len(cases)),
        time=f"{sum(case.seconds for case in cases):.3f}",
        timestamp=_line(result["started"]).removesuffix("Z"),
    )
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in {**_settings(result), **settings}.items():
        ElementTree.SubElement(properties, "property", name=_line(key), value=_line(value))
    for case in cases:
        found = ElementTree.SubElement(
            suite, "testcase", classname=f"leaseproof.{_line(name)}", name=_line(case.name), time=f"{case.seconds:.3f}"
        )
        text = "\n".join(_line(line) for line in case.body)
        if case.kind:
            ElementTree.SubElement(found, case.kind, message=_line(case.message)).text = text
        elif text:  # of a pass: what its twin showed, or what its smoke said
            ElementTree.SubElement(found, "system-out").text = text
    return suite


def _line(value: object) -> str:
    """A text on one line, without what XML forbids; the signs that XML means something by are escaped on writing."""
    return clean(value, UNICODE)


def _settings(result: Entry) -> dict[str, object]:
    """What was run on what: not on which host, which is nobody's matter."""
    told = ("lease", "longest", "article", "full", "seed", "jobs")
    return {
        "leaseproof": result["leaseproof"],
        **result["environment"],
        **{key: result[key] for key in told if key in result},
    }


Suites = Iterator[tuple[str, Entry, Iterable[Case]]]
"""Of each the name, what was set, and the cases."""


def _of_scenarios(result: Entry) -> Suites:
    settings = {
        "subject": f"{result['subject']['subject']} {result['subject'].get('version', '')}".strip(),
        "profile": result["profile"],
    }
    repeat = again(result)
    for scenario in result["scenarios"]:
        cases = (_case(arm, repeat(scenario, arm)) for arm in scenario["arms"])
        yield scenario["name"], settings, cases


def _case(arm: Entry, repeat: str) -> Case:
    kind = {"inconclusive": "error", "error": "error", "unsupported": "skipped"}.get(arm["verdict"], "")
    if not kind and not arm["as_expected"]:
        kind = "failure"
    message = outcome(arm) if kind == "failure" else arm["reason"]
    body = _evidence(arm, repeat if kind in ("failure", "error") else "")
    if not kind and arm["verdict"] == "fail":
        body = ["It failed, as it must:", *body]
    return Case(arm["id"], arm["seconds"], kind, message, body if kind or arm["anomalies"] else [])


def _evidence(arm: Entry, repeat: str) -> list[str]:
    """Each anomaly and its events, the reason, the history, and how to run it again."""
    lines = []
    for it in arm["anomalies"]:
        events = f" (events {', '.join(map(str, it['events']))})" if it["events"] else ""
        lines.append(f"{it['name']}: {it['text']}{events}")
    lines += arm["reason"].splitlines()
    lines += [f"history: {arm['history']}"] if arm["history"] else []
    return [*lines, f"again: {repeat}"] if repeat else lines


# Subjects.


def _of_subjects(result: Entry) -> Suites:
    records = {what: cells_of(result, what) for what in ("known", "new", "mended")}
    yield REFERENCE, {}, map(_proof, result["scenarios"])
    for subject in result["subjects"]:
        settings = {
            "subject": f"{subject['name']} {subject['describe'].get('version', '')}".strip(),
            "profile": subject["profile"],
            **{f"profile.{key}": value for key, value in subject["settings"].items()},
        }
        cases = [_smoke(subject)] if subject["smoke"] else []
        cases += [_cell_case(result, subject, cell, records) for cell in subject["cells"]]
        yield title(subject), settings, cases


def _proof(scenario: Entry) -> Case:
    """Whether the reference pair proves a scenario."""
    seconds = sum(arm["seconds"] for arm in scenario["arms"])
    kind = {"unproven": "failure", "error": "error", "inconclusive": "error", "partial": "skipped"}
    body = [
        line
        for arm in scenario["arms"]
        if not arm["as_expected"]
        for line in (f"{arm['id']}: {outcome(arm)}", *_evidence(arm, ""))
    ]
    return Case(scenario["name"], seconds, kind.get(scenario["status"], ""), scenario["why"], body)


def _smoke(subject: Entry) -> Case:
    """A smoke that went wrong is no finding of the queue's, and is not part of the exit code: it is a note."""
    return Case("smoke", 0.0, body=[smoke_of(subject)])


def _cell_case(result: Entry, subject: Entry, cell: Entry, records: Mapping[str, Mapping[Key, Entry]]) -> Case:
    """A cell; held against the record, if the run was."""
    key = (subject["name"], subject["profile"], cell["scenario"])
    known, new, mended = (records[what].get(key) for what in ("known", "new", "mended"))
    verdict = cell["verdict"]
    kind = {"pass": "", "inconclusive": "error", "error": "error"}.get(verdict, "skipped")
    message = cell["reason"]
    if verdict == "fail":
        told = f"{known['reason']} ({known['link']})" if known else why(cell)
        kind, message = ("skipped", "known: ") if known else ("failure", "")
        message += ": ".join(filter(None, [", ".join(anomalies(cell)), told]))
    if new and known:
        kind, message = "failure", f"new, beside what is known: {_shown(new)}"
    elif new:
        kind, message = "failure", f"new: {message}"
    elif mended:
        kind, message = "failure", f"mended: {_shown(mended)}; take it out of {result['expected']['file']}"
    body = []
    for arm in cell["arms"]:
        if arm["verdict"] not in ("pass", "unsupported"):
            body += [f"with{'' if arm['fault'] else 'out'} the fault: {outcome(arm)}"]
            body += _evidence(arm, again_of_subject(result, subject, cell["scenario"], arm["id"]))
    body = body or cell["reason"].splitlines()
    return Case(cell["scenario"], sum(arm["seconds"] for arm in cell["arms"]), kind, message, body)


def _shown(entry: Entry) -> str:
    return ", ".join([*entry["fault"], *(f"{name} without the fault" for name in entry["sham"])])
