"""The record of what is known: the findings that a run is held against, each with a reason and a link."""

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench import cells
from bench.cells import Cell
from bench.subject import KNOWN

FORMAT = 1

HEAD = """\
# What is known of these queues, for `leaseproof validate ... --expect`: a run exits with 0 when its findings are these
# and no others. Each has a reason and a link. `--write-expect` brings the anomalies up to date, and keeps the reasons,
# the links and the comments. What is listed as `sometimes` may come or not.
"""

_LISTS = ("fault", "sham", "sometimes")

Key = tuple[str, str, str]
"""Subject, profile and scenario."""


class ExpectError(Exception):
    """A record that cannot be used; names the file, the finding and the cure."""


@dataclass(frozen=True)
class Finding:
    """One failed cell: the anomalies with the `fault` and without it, in the `sham`; `comments` are a file's lines.

    `sometimes` are anomalies that some runs show and others don't: neither is news.
    """

    subject: str
    profile: str
    scenario: str
    fault: tuple[str, ...] = ()
    sham: tuple[str, ...] = ()
    sometimes: tuple[str, ...] = ()
    reason: str = ""
    link: str = ""
    comments: Sequence[str] = field(default=(), compare=False)

    @property
    def key(self) -> Key:
        return self.subject, self.profile, self.scenario

    @property
    def shown(self) -> list[str]:
        """What it showed, each anomaly in words."""
        return [*self.fault, *(f"{name} without the fault" for name in self.sham)]

    def to_json(self) -> dict[str, Any]:
        about = {"subject": self.subject, "profile": self.profile, "scenario": self.scenario}
        lists = {name: list(getattr(self, name)) for name in _LISTS}
        return {**about, **lists, "reason": self.reason, "link": self.link}

    def to_toml(self) -> str:
        fields = {name: value for name, value in self.to_json().items() if value or name != "sometimes"}
        values = (f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items())
        return "\n".join([*self.comments, "[[finding]]", *values, ""])


_FIELDS: Mapping[str, type] = {name: list if name in _LISTS else str for name in Finding("", "", "").to_json()}


def load(path: Path) -> list[Finding]:
    """Read a record, or those of all the subjects in a folder. Raises ExpectError."""
    if path.is_dir():
        return [finding for record in sorted(path.glob(f"*/{KNOWN}")) for finding in load(record)]
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except OSError as error:
        raise ExpectError(f"cannot read {path}: {error.strerror}; --write-expect makes it") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ExpectError(f"{path} is not TOML: {error}") from error
    if table.pop("format", None) != FORMAT:
        raise ExpectError(f"{path} does not say `format = {FORMAT}`, the one that this leaseproof reads")
    entries = table.pop("finding", [])
    if table or not isinstance(entries, list):
        raise ExpectError(f"{path} has {', '.join(table) or 'a finding'} where only [[finding]] tables belong")
    comments = _comments(text)
    if len(comments) != len(entries):
        comments = [[] for _ in entries]
    found = [_finding(path, entry, lines) for entry, lines in zip(entries, comments, strict=True)]
    keys = [finding.key for finding in found]
    for key in keys:
        if keys.count(key) > 1:
            raise ExpectError(f"{path} has two findings for {' '.join(key)}")
    return found


def _finding(path: Path, entry: Any, comments: Sequence[str]) -> Finding:
    if not isinstance(entry, dict):
        raise ExpectError(f"{path}: a finding is a table, not {entry!r}")
    name = " ".join(str(entry.get(field, "?")) for field in ("subject", "profile", "scenario"))
    for key, kind in _FIELDS.items():
        value = entry.get(key, kind())
        if not isinstance(value, kind) or (isinstance(value, list) and not all(isinstance(a, str) for a in value)):
            words = "a list of strings" if kind is list else "a string"
            raise ExpectError(f"{path}: {name}: {key} is {value!r}; it is {words}")
    if strange := entry.keys() - _FIELDS.keys():
        raise ExpectError(f"{path}: {name} has the unknown key {min(strange)!r}; known are: {', '.join(_FIELDS)}")
    if missing := [key for key in ("subject", "profile", "scenario") if not entry.get(key)]:
        raise ExpectError(f"{path}: {name} lacks {', '.join(missing)}")
    lists = {key: tuple(entry.get(key, ())) for key in _LISTS}
    return Finding(**{**entry, **lists}, comments=comments)


def _comments(text: str) -> list[list[str]]:
    """The comment lines of each finding: those above it, and those inside of it. Not the file's own, at its head."""
    found: list[list[str]] = []
    above: list[str] = []
    for line in text.splitlines():
        if line.startswith("#"):
            above.append(line)
        elif line.strip() == "[[finding]]":
            found.append(above)
            above = []
        elif line.strip():
            if found:
                found[-1] += above
            above = []
    if found:
        found[-1] += above
    return found


def check_explained(path: Path, findings: Iterable[Finding]) -> None:
    """Refuse a record of findings that nobody explained. Raises ExpectError."""
    for finding in findings:
        missing = [name for name in ("reason", "link") if not getattr(finding, name).strip()]
        if missing:
            raise ExpectError(
                f"{path}: {' '.join(finding.key)} has no {' and no '.join(missing)}; a finding needs both"
            )


def found(result: Mapping[str, Any]) -> list[Finding]:
    """The findings of a run, from its validate.json."""
    return [
        Finding(
            subject["name"],
            subject["profile"],
            cell["scenario"],
            fault=_names(cell, fault=True),
            sham=_names(cell, fault=False),
        )
        for subject, cell in _cells(result)
        if cell["verdict"] == "fail"
    ]


def _cells(result: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Cell]]:
    """All cells, each with its subject."""
    return ((subject, cell) for subject in result["subjects"] for cell in subject["cells"])


def _names(cell: Mapping[str, Any], fault: bool) -> tuple[str, ...]:
    arms = [arm for arm in cell["arms"] if arm["fault"] == fault]
    return tuple(sorted({anomaly["name"] for arm in arms for anomaly in arm["anomalies"]}))


def _judged(result: Mapping[str, Any]) -> set[Key]:
    """The cells of which this run can say that they are mended, if they are no finding."""
    no_verdict = ("inconclusive", "error", "unproven")
    return {
        (subject["name"], subject["profile"], cell["scenario"])
        for subject, cell in _cells(result)
        if cell["verdict"] not in no_verdict
    }


def compare(result: Mapping[str, Any], known: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
    """What is new in a run, and what of the known is mended: each finding with those anomalies alone.

    What the run had no verdict on, or did not try, is neither; nor is what comes only sometimes.
    """
    before, after = ({finding.key: finding for finding in each} for each in (known, found(result)))
    judged = _judged(result)
    new = [_without(finding, before.get(key)) for key, finding in after.items()]
    mended = [_without(finding, after.get(key)) for key, finding in before.items() if key in judged]
    return [finding for finding in new if finding.shown], [finding for finding in mended if finding.shown]


def _without(finding: Finding, other: Finding | None) -> Finding:
    """A finding less the anomalies of another one of its cell, and less those that only one of the two need show."""
    other = other or Finding(*finding.key)
    rare = (*finding.sometimes, *other.sometimes)
    fault, sham = (
        tuple(name for name in mine if name not in (*theirs, *rare))
        for mine, theirs in ((finding.fault, other.fault), (finding.sham, other.sham))
    )
    return replace(finding, fault=fault, sham=sham)


def updated(result: Mapping[str, Any], known: Iterable[Finding]) -> list[Finding]:
    """The findings of a run with what is said of them already; and the known ones that it had no verdict on."""
    before = {finding.key: finding for finding in known}
    after = {finding.key: finding for finding in found(result)}
    judged = _judged(result)
    kept = {
        key: replace(finding, fault=after[key].fault, sham=after[key].sham) if key in after else finding
        for key, finding in before.items()
        if key in after or key not in judged or finding.sometimes
    }
    return list((after | kept).values())


def write(path: Path, findings: Iterable[Finding]) -> None:
    """Write a record, sorted; in a folder, one for each of its subjects. Raises OSError."""
    if path.is_dir():
        by_subject: dict[str, list[Finding]] = {record.parent.name: [] for record in path.glob(f"*/{KNOWN}")}
        for finding in findings:
            by_subject.setdefault(finding.subject, []).append(finding)
        for subject, mine in by_subject.items():
            write(path / subject / KNOWN, mine)
        return
    entries = [finding.to_toml() for finding in sorted(findings, key=lambda finding: finding.key)]
    path.write_text("\n".join([f"{HEAD}format = {FORMAT}\n", *entries]), encoding="utf-8")


def held(result: Mapping[str, Any], path: Path, known: Sequence[Finding]) -> dict[str, Any]:
    """A run held against a record: what it says of that, and an exit code of 0 where nothing is new or mended.

    What has no verdict, and what the reference pair does not prove, is no more expected than it would be without.
    """
    new, mended = compare(result, known)
    mine = {(subject["name"], subject["profile"], cell["scenario"]) for subject, cell in _cells(result)}
    expected = {
        "file": str(path),
        "known": [finding.to_json() for finding in known if finding.key in mine],
        "new": [finding.to_json() for finding in new],
        "mended": [finding.to_json() for finding in mended],
    }
    return {**result, "expected": expected, "exit_code": exit_code(result, expected)}


def exit_code(result: Mapping[str, Any], expected: Mapping[str, Any]) -> int:
    """What a run exits with that was held against a record."""
    rest = cells.verdict(
        [scenario["status"] for scenario in result["scenarios"]],
        [cell for _, cell in _cells(result) if cell["verdict"] != "fail"],
    )
    return 1 if expected["new"] or expected["mended"] else cells.EXIT_CODES[rest]
