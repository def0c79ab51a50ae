"""The article's artifacts: which arms they are made of, what a finished run has of them, and the files."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bench import discover, result
from bench.runs import Run
from bench.scenario import Arm
from reports import artifacts_page, compared, lines
from reports.facts import SHOWN, Facts, arm_id, of_arm, unseen, volatile
from reports.transcript import transcript

CLONE = Path(__file__).resolve().parents[1]
FOLDER = Path("docs/artifacts")
ARTICLE, FACTS, LINES, ABOUT = "article.json", "facts.json", "lines.json", "about.json"

COMMAND = f"leaseproof run {' '.join(SHOWN)} --article"
"""A run of which artifacts can be made."""

Side = tuple[str, str]
"""A scenario, and a side of it: `sound`, or a twin's name."""

ALL: Sequence[Side] = [(scenario, side) for scenario, sides in SHOWN.items() for side in sides]


TRIES = 3
"""What came too late to see something is run again at most twice, as what is inconclusive is."""

Perform = Callable[[Mapping[str, Sequence[Arm]], Path], Mapping[str, Any]]
"""Runs arms, by scenario, with the article's seconds, into a folder; returns the result."""


class ArtifactsError(Exception):
    """Artifacts that cannot be made or checked of what was given: names it and the cure."""


@dataclass(frozen=True)
class Doubt:
    """Why a side of a scenario tells nothing: `inconclusive`, or an `error` of the bench; `again` may help."""

    side: Side
    kind: str
    text: str
    again: bool = False


@dataclass
class Seen:
    """What was seen in a run or several, by scenario and side; a side is among the facts, or in doubt.

    `unexpected` are those that did not show what they must: no less facts for that."""

    facts: dict[Side, Facts] = field(default_factory=dict)
    about: dict[Side, dict[str, Any]] = field(default_factory=dict)
    doubts: dict[Side, Doubt] = field(default_factory=dict)
    unexpected: dict[Side, str] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)

    def take(self, run: Run, wanted: Iterable[Side]) -> None:
        """Take in what a run has of these sides, in place of what was known. Raises ArtifactsError."""
        if not run.data.get("article"):
            raise ArtifactsError(f"{run.folder} is of a run without --article: give one of `{COMMAND}`")
        told = {"leaseproof": run.data["leaseproof"], **run.data["environment"]}
        versions = {name: told[name] for name in ("leaseproof", "postgres", "python", "psycopg") if name in told}
        self.run = {"started": run.data["started"], "versions": versions}
        for side in wanted:
            self._take(run, side)

    def _take(self, run: Run, side: Side) -> None:
        name, id = side[0], arm_id(*side)
        arms = [arm for each in run.data["scenarios"] if each["name"] == name for arm in each["arms"]]
        arm = next((arm for arm in arms if arm["id"] == id), None)
        if arm is None:
            raise ArtifactsError(f"{run.folder} has no arm {id} of {name}: give a run of `{COMMAND}`")
        history = run.history(arm)
        if history is None:
            raise ArtifactsError(f"{run.folder} has no history of {name}/{id} any more: run it again by `{COMMAND}`")
        for known in (self.facts, self.about, self.doubts, self.unexpected):
            known.pop(side, None)
        if arm["verdict"] not in ("pass", "fail"):
            kind = "error" if arm["verdict"] == "error" else "inconclusive"
            self.doubts[side] = Doubt(side, kind, arm["reason"])
            return
        seen = of_arm(history, arm, SHOWN[name][side[1]])
        if late := unseen(seen):
            self.doubts[side] = Doubt(side, "inconclusive", f"came too late to see {' and '.join(late)}", again=True)
            return
        if not arm["as_expected"]:
            self.unexpected[side] = f"it must show {arm['expected']}, and shows {seen['shown']}"
        self.facts[side] = seen
        self.about[side] = volatile(history, arm)

    def again(self) -> list[Side]:
        """The sides that are to be run again."""
        return [side for side, doubt in self.doubts.items() if doubt.again]

    def by_scenario(self) -> dict[str, Any]:
        """The facts as facts.json has them."""
        leases = {scenario.name: scenario.lease(True, 1.0) for scenario in discover.scenarios()}
        return {name: {"lease": leases[name], "sides": of} for name, of in _nested(self.facts).items()}

    def volatile(self) -> dict[str, Any]:
        """All else, as about.json has it."""
        return {**self.run, "arms": _nested(self.about)}


def _nested(by_side: Mapping[Side, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for scenario, side in ALL:
        if (scenario, side) in by_side:
            found.setdefault(scenario, {})[side] = by_side[scenario, side]
    return found


def arms(sides: Iterable[Side]) -> dict[str, list[Arm]]:
    """The arms to run for these sides, by scenario."""
    known = {(arm.scenario.name, arm.id): arm for scenario in discover.scenarios() for arm in scenario.arms}
    found: dict[str, list[Arm]] = {}
    for scenario, side in sides:
        found.setdefault(scenario, []).append(known[scenario, arm_id(scenario, side)])
    return found


def look(out: Path, perform: Perform) -> Seen:
    """Run them all, into a folder, and again what came too late to see something. Raises what `perform` raises."""
    seen, wanted = Seen(), ALL
    for attempt in range(1, TRIES + 1):
        folder = out if attempt == 1 else out / f"again-{attempt}"
        seen.take(Run(folder, perform(arms(wanted), folder)), wanted)
        wanted = seen.again()
        if not wanted:
            break
    return seen


def article(folder: Path) -> dict[str, Any]:
    """The article's facts, from the folder or else from the clone. Raises ArtifactsError, and OSError."""
    places = [folder / ARTICLE, CLONE / FOLDER / ARTICLE]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise ArtifactsError(f"{folder} has no {ARTICLE}, which is written by hand: take that of leaseproof's clone")
    data = read(path)
    try:
        compared.against(data, {})
        artifacts_page.page({}, data, [], counts())
    except (LookupError, TypeError, ValueError) as error:
        raise ArtifactsError(f"{path} lacks something ({error!r}): take it from git again") from error
    return data


def recorded(folder: Path) -> dict[str, Any]:
    """The facts that were recorded in the folder. Raises ArtifactsError."""
    if not (folder / FACTS).is_file():
        raise ArtifactsError(
            f"there is no {folder / FACTS} to check against: run this in a clone of leaseproof, or make the artifacts"
            " first, without --check"
        )
    data = read(folder / FACTS)
    try:
        compared.changes(data, data)
    except (LookupError, TypeError, AttributeError) as error:
        raise ArtifactsError(
            f"{folder / FACTS} is not as it was written ({error!r}): take it from git again"
        ) from error
    return data


def read(path: Path) -> dict[str, Any]:
    """A file of the folder. Raises ArtifactsError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArtifactsError(f"cannot read {path} ({error}): take it from git again") from error
    if not isinstance(data, dict):
        raise ArtifactsError(f"{path} is no JSON object: take it from git again")
    return data


@cache
def counts() -> dict[str, Any]:
    """The lines, as they are now."""
    return lines.counted(CLONE)


def write(folder: Path, seen: Seen, languages: Sequence[str]) -> list[Path]:
    """Write all files, and return them. Raises OSError and ArtifactsError."""
    told, known, counted = seen.by_scenario(), article(folder), counts()
    texts = {
        f"{name}.{language}.txt": transcript(name, of["lease"], of["sides"], language)
        for name, of in told.items()
        for language in languages
    }
    texts["README.md"] = artifacts_page.page(told, known, compared.against(known, told), counted)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    data = {FACTS: told, LINES: counted, ABOUT: seen.volatile()}
    for name, of in data.items():
        result.write(of, folder / name)
    return [folder / name for name in [*texts, *data]]
