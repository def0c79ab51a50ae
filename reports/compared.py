"""Facts by name, held against those of an earlier run and against those of the article."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reports.facts import EVIDENCE, Facts


def flat(facts: Facts, lease: float) -> dict[str, str]:
    """The facts of a side, each by its name; `lease` is in seconds."""
    found = {"lease": [f"{lease:g} s"]}
    for step in facts["steps"]:
        for name, value in _named(step):
            found.setdefault(name, []).append(value)
    found |= {"at once": [str(facts["at_once"])], "shown": [facts["shown"]]}
    return {name: "; ".join(values) for name, values in found.items()}


def _named(step: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    match step["step"]:
        case "observed":
            name = f"observation {step['n']}"
            yield f"{name} columns", step["columns"]
            yield f"{name} row", "; ".join(step["rows"])
            if "got" in step:
                yield f"{name} got", f"{step['worker']}: {step['got']}"
            if "ruled_out" in step:
                yield f"{name} rules out", ", ".join(step["ruled_out"])
        case "fault":
            seen = "".join(f", {k}" if step[k] is True else f", {k} {step[k]}" for k in EVIDENCE if k in step)
            yield "fault", f"{step['kind']} {step['of']}{seen}"
        case "reclaimed":
            yield "reclaimed", f"{len(step['ids'])}: [{', '.join(step['ids'])}]"
        case "let-go":
            yield "claimers", str(step["claimers"])
            yield "waiting at the row", step["waiting"]
        case "carried":
            yield "load", f"{step['finished']} of {step['jobs']}, taken {step['taken']}"
        case "exited":
            yield "exited", f"{step['worker']} {step['status']}"
        case kind:
            attempt = f" at attempt {step['attempt']}" if "attempt" in step else ""
            yield kind, f"{step['worker']}{attempt}{', several' if 'times' in step else ''}"


@dataclass(frozen=True)
class Change:
    """A fact that is not as it was recorded; None where there is none."""

    scenario: str
    side: str
    fact: str
    old: str | None
    new: str | None


def by_name(told: Mapping[str, Any], scenario: str, side: str) -> dict[str, str]:
    """The facts of a side by their names, of all that facts.json has; none where the side is not in it."""
    of = told.get(scenario, {"sides": {}})
    return flat(of["sides"][side], of["lease"]) if side in of["sides"] else {}


def changes(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> list[Change]:
    """All facts that differ, in two of what facts.json has; those of sides that are not in `now` are left out."""
    found: list[Change] = []
    for scenario, of in now.items():
        for side in of["sides"]:
            old, new = by_name(recorded, scenario, side), by_name(now, scenario, side)
            found += [
                Change(scenario, side, fact, old.get(fact), new.get(fact))
                for fact in dict.fromkeys([*old, *new])
                if old.get(fact) != new.get(fact)
            ]
    return found


@dataclass(frozen=True)
class Beside:
    """A fact of the article beside ours.

    `status` is `same`; `known`, where it differs and the reason is on record; `told`, where it is none of a run's; or
    `changed`, where it is neither the article's nor what is on record.
    """

    scenario: str
    side: str
    fact: str
    article: str
    here: str
    status: str
    why: str
    where: str


def against(article: Mapping[str, Any], now: Mapping[str, Any]) -> list[Beside]:
    """The article's facts beside those of a run, in the article's order; those of sides that were not run left out."""
    found = []
    for entry in article["facts"]:
        about = (entry["scenario"], entry["side"], entry["fact"], entry["value"])
        here, why, where, status = entry.get("here", entry["value"]), entry.get("why", ""), entry["where"], "told"
        facts = by_name(now, entry["scenario"], entry["side"])
        if not facts:
            continue
        if not entry.get("told"):
            seen = facts.get(entry["fact"], "")
            status = "changed" if seen != here else "same" if seen == entry["value"] else "known"
            here, why = seen, why if status == "known" else ""
        found.append(Beside(*about, here, status, why, where))
    return found
