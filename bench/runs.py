"""Finished runs, read from their folders; several become one, as if they had been run together."""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import cells, discover, expect, result, validate
from bench.history import Event, HistoryError, load

FILES = ("result.json", "validate.json")

Json = Mapping[str, Any]


class RunError(Exception):
    """A run that cannot be read, or runs that do not go together: names them and the cure."""


@dataclass(frozen=True)
class Run:
    """A run's result, as its file has it, and the `folder` in which its histories are found.

    Whether it is one of subjects (`leaseproof validate`) or of scenarios, its data say.
    """

    folder: Path
    data: Json

    @property
    def of_subjects(self) -> bool:
        """Whether it is a matrix of subjects by scenarios, with the reference pair beside them."""
        return "subjects" in self.data

    def history(self, arm: Json) -> list[Event] | None:
        """The events of an arm of its; None where no file of them is left."""
        try:
            return load(self.folder / arm["history"]) if arm["history"] else None
        except HistoryError:
            return None


def read(path: Path) -> Run:
    """The run in a folder, or that of a result's file. Raises RunError."""
    files = [path / name for name in FILES if (path / name).is_file()] if path.is_dir() else [path]
    if not files:
        raise RunError(f"{path} has no {' and no '.join(FILES)}: give the folder of a run that went to its end")
    try:
        data = json.loads(files[0].read_text(encoding="utf-8"))
        if data["format"] == (validate.FORMAT if "subjects" in data else result.FORMAT) and "scenarios" in data:
            return Run(files[0].parent, data)
    except OSError as error:
        raise RunError(f"cannot read {files[0]}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError):
        pass
    raise RunError(f"{files[0]} is no result of a run in format {result.FORMAT}")


def merged(runs: Sequence[Run]) -> Run:
    """One run of several: of shards of a matrix, of subjects that were run apart, or of both. Raises RunError.

    What was run in several of them is shown once: a finding if there is one, else a verdict if there is one.
    """
    if len(runs) == 1:
        return runs[0]
    folder = Path(os.path.commonpath([run.folder.resolve() for run in runs]))
    moved = [_moved(run, folder) for run in runs]
    for key, what in (("lease", "leases"), ("article", "the article's seconds and of others"), ("given", "subjects")):
        told = {run.folder: run.data[key] for run in runs if key in run.data}
        if len({json.dumps(value) for value in told.values()}) > 1:
            who = ", ".join(f"{value} in {where}" for where, value in told.items())
            raise RunError(f"these are runs of different {what} ({who}): report them apart")
    given = {run.data.get("given", validate.REFERENCE) for run in runs}
    if given != {validate.REFERENCE} and any(run.of_subjects for run in runs):
        raise RunError("a run of a stranger without the reference pair goes with no matrix of subjects: validate it")
    scenarios = _scenarios([scenario for data in moved for scenario in data["scenarios"]])
    first = next((data for data in moved if "subjects" in data), moved[0])
    data = {
        **first,
        "started": min(data["started"] for data in moved),
        "command": " ; ".join(dict.fromkeys(data["command"] for data in moved)),
        "wall_seconds": round(sum(data["wall_seconds"] for data in moved), 3),
        "cpu_seconds": round(sum(data["cpu_seconds"] for data in moved), 3),
        "environment": _environment([data["environment"] for data in moved]),
        "longest_stall": max(data["longest_stall"] for data in moved),
        "scenarios": scenarios,
    }
    if "subjects" in first:
        names = [scenario["name"] for scenario in scenarios]
        data["subjects"] = _subjects([subject for each in moved for subject in each.get("subjects", [])], names)
        data["expected"] = _expected(moved)
    return Run(folder, _judged(data))


def narrowed(run: Run, scenarios: Collection[str], subjects: Collection[str]) -> Run:
    """A run with no more than these scenarios and these subjects, where any are named. Raises RunError."""
    if not scenarios and not subjects:
        return run
    data = {**run.data, "scenarios": _named(run.data["scenarios"], "scenario", scenarios)}
    names = [scenario["name"] for scenario in data["scenarios"]]
    if run.of_subjects:
        mine = _named(data["subjects"], "subject", subjects)
        data["subjects"] = [
            {**subject, "cells": [cell for cell in subject["cells"] if cell["scenario"] in names]} for subject in mine
        ]
        if data["expected"]:
            data["expected"] = {
                key: [it for it in found if it["scenario"] in names and it["subject"] in {s["name"] for s in mine}]
                if isinstance(found, list)
                else found
                for key, found in data["expected"].items()
            }
    elif subjects:
        raise RunError(f"--subject narrows a run of subjects, and this one is of scenarios, on {data['given']} alone")
    return Run(run.folder, _judged(data))


def _named(found: Sequence[Json], what: str, names: Collection[str]) -> list[Json]:
    """Those that are named, or all."""
    there = list(dict.fromkeys(it["name"] for it in found))
    for name in names:
        if name not in there:
            meant = discover.nearest(name, there) or f"; it has {', '.join(there)}"
            raise RunError(f"this run has no {what} {name!r}{meant}")
    return [it for it in found if it["name"] in names or not names]


def _judged(data: dict[str, Any]) -> dict[str, Any]:
    """A result with the verdict and the exit code that its parts come to."""
    statuses = [scenario["status"] for scenario in data["scenarios"]]
    if "subjects" not in data:
        verdict = result.overall(statuses)
        return data | {"verdict": verdict, "exit_code": result.EXIT_CODES[verdict]}
    verdict = cells.verdict(statuses, [cell for subject in data["subjects"] for cell in subject["cells"]])
    data |= {"verdict": verdict, "exit_code": cells.EXIT_CODES[verdict]}
    return data | {"exit_code": expect.exit_code(data, data["expected"])} if data["expected"] else data


def _moved(run: Run, folder: Path) -> dict[str, Any]:
    """A run's data, its histories found from another folder."""
    prefix = run.folder.resolve().relative_to(folder)

    def arms(of: Json) -> dict[str, Any]:
        return {
            **of,
            "arms": [{**a, "history": str(prefix / a["history"]) if a["history"] else ""} for a in of["arms"]],
        }

    data = {**run.data, "scenarios": [arms(scenario) for scenario in run.data["scenarios"]]}
    if run.of_subjects:
        data["subjects"] = [{**s, "cells": [arms(cell) for cell in s["cells"]]} for s in run.data["subjects"]]
    return data


def _scenarios(found: Iterable[Json]) -> list[dict[str, Any]]:
    """The scenarios of all runs, each with all of its arms. Raises RunError."""
    by_name: dict[str, dict[str, Any]] = {}
    for scenario in found:
        known = by_name.setdefault(scenario["name"], {**scenario, "arms": []})
        if known["twins"] != scenario["twins"]:
            raise RunError(f"{scenario['name']} has other twins in one run than in another: report them apart")
        known["arms"] += scenario["arms"]
    for scenario in by_name.values():
        due = [f"{name}-{side}" for name in _sides(scenario) for side in ("fault", "sham")]
        scenario["arms"] = sorted(_best(scenario["arms"], "id"), key=lambda arm: _place(arm["id"], due))
        scenario["status"], scenario["why"] = result.status(scenario["arms"], due)
    return list(by_name.values())


def _sides(scenario: Json) -> Iterator[str]:
    yield "sound"
    yield from (twin["name"] for twin in scenario["twins"])


def _place(id: str, due: Sequence[str]) -> int:
    return due.index(id) if id in due else len(due)


def _subjects(found: Iterable[Json], scenarios: Sequence[str]) -> list[dict[str, Any]]:
    """The subjects of all runs, each with a cell in every scenario. Raises RunError."""
    by_name: dict[tuple[str, str], dict[str, Any]] = {}
    for subject in found:
        known = by_name.setdefault((subject["name"], subject["profile"]), {**subject, "cells": []})
        versions = [of["describe"].get("version", "") for of in (known, subject)]
        if all(versions) and versions[0] != versions[1]:
            raise RunError(
                f"{subject['name']} is of version {' in one run and '.join(versions)} in another: rename one"
            )
        if known["error"] and not subject["error"]:
            known |= {**subject, "cells": known["cells"]}
        known["cells"] = [*known["cells"], *subject["cells"]]
    for subject in by_name.values():
        mine = {cell["scenario"]: cell for cell in _best(subject["cells"], "scenario")}
        subject["cells"] = [mine.get(name) or cells.not_run(name) for name in scenarios]
    return list(by_name.values())


def _best(found: Iterable[Json], key: str) -> list[Json]:
    """One of each: the worst verdict that there is, and what has no verdict only where nothing else is."""

    def weight(it: Json) -> int:
        finding = it["verdict"] == "fail" if "as_expected" not in it else not it["as_expected"]
        return (it["verdict"] not in ("pass", "fail")) * 2 + (not finding)

    best: dict[str, Json] = {}
    for it in found:
        if it[key] not in best or weight(it) < weight(best[it[key]]):
            best[it[key]] = it
    return list(best.values())


def _environment(found: Sequence[Json]) -> dict[str, Any]:
    """What all of it ran on: where runs differ, each in turn."""
    names = dict.fromkeys(name for environment in found for name in environment)
    told = {name: list(dict.fromkeys(each[name] for each in found if name in each)) for name in names}
    return {name: values[0] if len(values) == 1 else ", ".join(map(str, values)) for name, values in told.items()}


def _expected(found: Sequence[Json]) -> dict[str, Any] | None:
    """How the findings compare with the records, if all of the runs were held against one."""
    records = [data["expected"] for data in found if "subjects" in data]
    if not all(records):
        return None
    joined: dict[str, Any] = {"file": ", ".join(dict.fromkeys(record["file"] for record in records))}
    for key in ("known", "new", "mended"):
        joined[key] = [finding for record in records for finding in record[key]]
    return joined
