"""The matrices of the page, as rows of cells: scenarios by arms, and scenarios by subjects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.html.links import followed, slug, subject_slugs
from reports.signs import UNICODE, sign_of
from reports.subjects import anomalies, bound, figures_of, mark, smoke_of, tally, title

Json = Mapping[str, Any]

FEW = 8
"""So many subjects beside one another have their cells in words."""

SOME = 24
"""So many have the names of their profiles; more have letters."""


@dataclass(frozen=True)
class Cell:
    """One cell: where its evidence is (`key`), how it came out (`kind`: a class of the style sheet), and in words.

    `words` has one anomaly, `more` is how many others there are, and `label` has all of it.
    """

    key: str
    kind: str
    sign: str
    words: str
    more: int
    label: str


@dataclass(frozen=True)
class Twin:
    """A twin's line in a scenario: the member that it lacks, and how it came out with the fault and without."""

    name: str
    member: str
    cells: Sequence[Cell | None]


@dataclass(frozen=True)
class ScenarioRow:
    """A scenario by its arms."""

    key: str
    name: str
    claim: str
    status: str
    why: str
    figures: Sequence[tuple[str, str]]
    sound: Sequence[Cell | None]
    twins: Sequence[Twin]

    @property
    def sign(self) -> str:
        return status_sign(self.status)

    @property
    def cells(self) -> list[Cell]:
        """Those that there are."""
        return [cell for cell in (*self.sound, *(c for twin in self.twins for c in twin.cells)) if cell]


@dataclass(frozen=True)
class Column:
    """A subject in one of its profiles."""

    slug: str
    subject: Json

    @property
    def name(self) -> str:
        return str(self.subject["name"])

    @property
    def profile(self) -> str:
        return str(self.subject["profile"])

    @property
    def title(self) -> str:
        return title(self.subject)

    @property
    def version(self) -> str:
        return str(self.subject["describe"].get("version", ""))

    @property
    def about(self) -> str:
        return str(self.subject["settings"].get("about", ""))

    @property
    def docs(self) -> str:
        return followed(self.subject["settings"].get("docs", ""))

    @property
    def bound(self) -> str:
        return bound(self.subject)

    @property
    def trouble(self) -> str:
        """What is wrong with its adapter."""
        return str(self.subject["error"]) or (smoke_of(self.subject) if self.subject["smoke"] else "")

    @property
    def tally(self) -> Mapping[str, int]:
        return tally(self.subject)

    def cell(self, scenario: str) -> Json | None:
        """Its cell in a scenario."""
        return next((cell for cell in self.subject["cells"] if cell["scenario"] == scenario), None)


@dataclass(frozen=True)
class GridRow:
    """A scenario by subjects, one cell a column; `status` is what the reference pair made of it."""

    key: str
    name: str
    claim: str
    status: str
    cells: Sequence[Cell | None]

    @property
    def sign(self) -> str:
        return status_sign(self.status)


STATUSES = {
    "proven": ("pass", UNICODE.ok),
    "clean": ("pass", UNICODE.ok),
    "mended": ("pass", UNICODE.ok),
    "unproven": ("fail", UNICODE.bad),
    "finding": ("fail", UNICODE.bad),
    "new": ("fail", UNICODE.bad),
    "inconclusive": ("inconclusive", UNICODE.unsure),
    "error": ("error", UNICODE.error),
}
"""The kind and the sign of what a scenario, a run or a comparison came to."""


def status_kind(status: str) -> str:
    """The kind of a status, or of a run's verdict."""
    return STATUSES.get(status, ("unsupported", ""))[0]


def status_sign(status: str) -> str:
    """The sign of a status, or of a run's verdict."""
    return STATUSES.get(status, ("", UNICODE.waiting))[1]


def kind_of(arm: Json) -> str:
    """How an arm came out: a twin that fails as it must is `due`, and whatever must not be is `fail`."""
    if arm["verdict"] not in ("pass", "fail"):
        return str(arm["verdict"])
    if not arm["as_expected"]:
        return "fail"
    return "due" if arm["verdict"] == "fail" else "pass"


def outcome(arm: Json) -> tuple[str, int]:
    """What an arm showed, or its verdict, in a word; and how many more anomalies there are."""
    found = anomalies({"arms": [arm]}) if arm["verdict"] == "fail" else []
    return (found[0], len(found) - 1) if found else (str(arm["verdict"]), 0)


def side_of(arm: Json, of_stranger: bool = False) -> str:
    """Whose arm it is and with what, in words."""
    what = "with the fault" if arm["fault"] else "sham"
    return what if of_stranger else f"twin {arm['twin']}, {what}" if arm["twin"] else f"sound, {what}"


def in_words(arm: Json) -> str:
    """An arm's outcome as one says it."""
    shown = ", ".join(anomalies({"arms": [arm]}))
    match kind_of(arm):
        case "due":
            return f"fails as it must, {shown}"
        case "fail" if arm["verdict"] == "pass":
            return f"pass, where {arm['expected']} was due"
        case "fail":
            return f"fail, {shown}"
        case _:
            return str(arm["verdict"])


def arm_key(scenario: Json, arm: Json) -> str:
    """Where an arm is found in the page."""
    return f"{slug(scenario['name'])}/{slug(arm['id'])}"


# Scenarios by arms.


def scenario_rows(result: Json) -> list[ScenarioRow]:
    """A row a scenario, with a line for each twin that is its own or that was tried in it."""
    return [_scenario_row(scenario) for scenario in result["scenarios"]]


def _scenario_row(scenario: Json) -> ScenarioRow:
    arms = {arm["id"]: arm for arm in scenario["arms"]}
    members = {twin["name"]: twin["member"] for twin in scenario["twins"]}
    tried = dict.fromkeys([*members, *(arm["twin"] for arm in scenario["arms"] if arm["twin"])])

    def cells(side: str) -> list[Cell | None]:
        return [_arm_cell(scenario, arms.get(f"{side}-{what}")) for what in ("fault", "sham")]

    return ScenarioRow(
        key=slug(scenario["name"]),
        name=scenario["name"],
        claim=scenario["claim"],
        status=scenario["status"],
        why=scenario["why"],
        figures=figures_of({"arms": [arm for arm in scenario["arms"] if arm["code"] == "sound"]}),
        sound=cells("sound"),
        twins=[Twin(name, members.get(name, "another scenario's twin"), cells(name)) for name in tried],
    )


def _arm_cell(scenario: Json, arm: Json | None) -> Cell | None:
    if arm is None:
        return None
    words, more = outcome(arm)
    return Cell(
        key=arm_key(scenario, arm),
        kind=kind_of(arm),
        sign=sign_of(arm["verdict"], arm["as_expected"], UNICODE)[0],
        words=words,
        more=more,
        label=f"{scenario['name']}, {side_of(arm)}: {in_words(arm)}",
    )


# Scenarios by subjects.


def columns(result: Json) -> list[Column]:
    """The subjects in their profiles, in the run's order, all of a name beside one another."""
    names = list(dict.fromkeys(subject["name"] for subject in result["subjects"]))
    subjects = sorted(result["subjects"], key=lambda subject: names.index(subject["name"]))
    taken = [slug(arm["id"]) for scenario in result["scenarios"] for arm in scenario["arms"]]
    slugs = subject_slugs(subjects, taken)
    return [Column(made, subject) for subject, made in zip(subjects, slugs, strict=True)]


def heads(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """The names over the columns, each with how many it spans."""
    found: list[tuple[str, int]] = []
    for column in columns:
        if found and found[-1][0] == column.name:
            found[-1] = (column.name, found[-1][1] + 1)
        else:
            found.append((column.name, 1))
    return found


def grid_rows(result: Json, columns: Sequence[Column]) -> list[GridRow]:
    """A row a scenario. A scenario in which no subject could be run has one, too: it says so."""
    return [
        GridRow(
            key=slug(scenario["name"]),
            name=scenario["name"],
            claim=scenario["claim"],
            status=scenario["status"],
            cells=[stranger_cell(column, column.cell(scenario["name"])) for column in columns],
        )
        for scenario in result["scenarios"]
    ]


def stranger_key(column: Column, cell: Json) -> str:
    """Where a stranger's cell is found in the page."""
    return f"{slug(cell['scenario'])}/{column.slug}"


def stranger_cell(column: Column, cell: Json | None) -> Cell | None:
    """A subject in a scenario."""
    if cell is None:
        return None
    verdict = "unproven here" if cell["verdict"] == "unproven" else str(cell["verdict"])
    shown = anomalies(cell) if cell["verdict"] == "fail" else []
    label = ", ".join([f"{cell['scenario']}, {column.name} {column.profile}: {verdict}", *shown])
    return Cell(
        key=stranger_key(column, cell),
        kind=str(cell["verdict"]),
        sign=mark(cell, UNICODE)[0],
        words=shown[0] if shown else verdict,
        more=max(len(shown) - 1, 0),
        label=label + (", even without the fault" if cell["without_fault"] else ""),
    )


# What can be asked for.

KINDS = {
    "fail": (UNICODE.bad, "fails", "not as expected"),
    "inconclusive": (UNICODE.unsure, "no verdict", "no verdict"),
    "error": (UNICODE.error, "error of the adapter or the bench", "error"),
    "pass": (UNICODE.ok, "holds", "passes"),
    "due": (UNICODE.ok, "fails as it must", "a twin fails as it must"),
    "unproven": (UNICODE.waiting, "unproven here", "unproven"),
    "unsupported": (UNICODE.absent, "unsupported", "unsupported"),
}


@dataclass(frozen=True)
class Chip:
    """A kind of cell that there is: its sign, what it means, and how many there are."""

    kind: str
    sign: str
    words: str
    count: int


def chips(cells: Iterable[Cell], of_subjects: bool) -> list[Chip]:
    """The kinds that occur, which are also what the signs mean."""
    kinds = [cell.kind for cell in cells]
    return [
        Chip(kind, sign, of_subject if of_subjects else of_arm, kinds.count(kind))
        for kind, (sign, of_subject, of_arm) in KINDS.items()
        if kind in kinds
    ]
