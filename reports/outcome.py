"""What became of a run, for a reader who has one line for it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from reports.cross import again as again_in_cross
from reports.cross import crossed
from reports.findings import Again, repeated
from reports.matrix import count
from reports.signs import STATUS, UNICODE, clean, listed

Entry = Mapping[str, Any]
Key = tuple[str, str, str]
"""Subject, profile and scenario: a cell."""


def headline(result: Entry) -> str:
    """The run in a few words, such as `54 of 54 proven`, or `31 pass, 2 fail`."""
    if "subjects" in result:
        return _of_subjects(result)
    scenarios = result["scenarios"]
    if crossed(result):
        arms = [arm for scenario in scenarios for arm in scenario["arms"]]
        return f"{sum(arm['as_expected'] for arm in arms)} of {count(len(arms), 'arm')} as due"
    statuses = [str(scenario["status"]) for scenario in scenarios]
    others = dict.fromkeys([*STATUS, *statuses])
    parts = [f"{statuses.count('proven')} of {len(statuses)} proven"]
    parts += [f"{statuses.count(s)} {s}" for s in others if s != "proven" and s in statuses]
    return clean(", ".join(parts), UNICODE)


def _of_subjects(result: Entry) -> str:
    verdicts = [cell["verdict"] for subject in result["subjects"] for cell in subject["cells"]]
    fails = verdicts.count("fail")
    parts = [f"{verdicts.count('pass')} pass"]
    if result["expected"] is None or not fails:
        parts += [f"{fails} fail"]
    if result["expected"] is not None:
        new, mended = (cells_of(result, key) for key in ("new", "mended"))
        known = fails - len(new)
        parts += [f"{len(new)} new {'fail' if len(new) == 1 else 'fails'}"] if new else []
        parts += [f"{known} known {'fail' if known == 1 else 'fails'}"] if known else []
        parts += [f"{len(mended)} mended"] if mended else []
    unproven = sum(scenario["status"] == "unproven" for scenario in result["scenarios"])
    for n, words in (
        (unproven, f"{count(unproven, 'scenario')} unproven"),
        (verdicts.count("inconclusive"), f"{verdicts.count('inconclusive')} without verdict"),
        (verdicts.count("error"), count(verdicts.count("error"), "error")),
    ):
        parts += [words] if n else []
    return ", ".join(parts)


def cells_of(result: Entry, what: str) -> dict[Key, Entry]:
    """What the record has of each cell that it names: as `known`, `new` or `mended`."""
    return {key_of(entry): entry for entry in (result["expected"] or {}).get(what, [])}


def key_of(entry: Entry) -> Key:
    """Of which cell a finding in a record is."""
    return str(entry["subject"]), str(entry["profile"]), str(entry["scenario"])


def again(result: Entry) -> Again:
    """How an arm of a run of scenarios is repeated, be that run a cross or not."""
    return partial(again_in_cross, result["scenarios"]) if crossed(result) else repeated(result)


def outcome(arm: Entry) -> str:
    """What came out of an arm in words, and what had to where that is another thing."""
    verdict, expected = str(arm["verdict"]), str(arm["expected"])
    shown = listed(dict.fromkeys(str(anomaly["name"]) for anomaly in arm["anomalies"]))
    said = f"it showed {shown}" if verdict == "fail" else "it passed" if verdict == "pass" else verdict
    if arm["as_expected"] or verdict not in ("pass", "fail"):
        return clean(said, UNICODE)
    due = "it must pass" if expected == "pass" else f"it must show {expected}"
    return clean(f"{due}, and {said}", UNICODE)


def proofs(arm: Entry) -> tuple[int, ...]:
    """The numbers of the events that prove an arm's anomalies."""
    return tuple(sorted({n for anomaly in arm["anomalies"] for n in anomaly["events"]}))
