"""What measures of speed left: a file each, with their pictures; read again, and put into a document."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import result, speed
from bench.discover import UnknownName, nearest
from bench.runs import RunError
from bench.speed.figures import Result
from reports.speed import speed_report
from reports.speed_page import block, blocks, filled
from reports.svg.columns import columns

FORMAT = 1
"""Of the file that a measure leaves."""


@dataclass(frozen=True)
class Record:
    """What a measure left: the file, what is in it, and its pictures by their names."""

    path: Path
    data: dict[str, Any]
    pictures: Mapping[str, str]

    @property
    def name(self) -> str:
        return str(self.data["measure"])


def check(names: Sequence[str]) -> None:
    """Raises UnknownName for one that no measure has."""
    for name in names:
        if name not in speed.MEASURES:
            known = ", ".join(speed.MEASURES)
            raise UnknownName(f"there is no measure {name!r}{nearest(name, speed.MEASURES)}; they are {known}")


def write(folder: Path, found: Result, about: Mapping[str, Any]) -> Record:
    """A measure's result into a folder, with what is told about its making. Raises OSError, ValueError and TypeError.

    Its name is that of the measure, and a picture's that of its chart.
    """
    goals = [{**asdict(goal), "met": goal.met} for goal in found.goals]
    data = {"format": FORMAT, **about, **asdict(found), "goals": goals}
    made = Record(folder / f"{found.measure}.json", data, _pictures(data))
    result.write(data, made.path)
    for name, picture in made.pictures.items():
        (folder / f"{name}.svg").write_text(picture, encoding="utf-8")
    return made


def _pictures(data: Mapping[str, Any]) -> dict[str, str]:
    for chart in data["charts"]:
        if not re.fullmatch("[A-Za-z0-9-]+", chart["name"]):
            raise ValueError(f"{chart['name']!r} is no name for a picture: take letters and hyphens")
    return {chart["name"]: columns(chart) for chart in data["charts"]}


def read(given: Sequence[Path]) -> list[Record]:
    """Those in folders and files, in the order of the measures. Raises RunError."""
    found: dict[str, Record] = {}
    for path in (file for each in given for file in (sorted(each.glob("*.json")) if each.is_dir() else [each])):
        record = _read(path)
        if record.name in found:
            raise RunError(f"{record.name} is given twice, by {found[record.name].path} and {path}: give one of them")
        found[record.name] = record
    if not found:
        raise RunError(f"there is no result of `leaseproof bench` in {', '.join(map(str, given))}")
    return sorted(found.values(), key=lambda record: ([*speed.MEASURES, record.name].index(record.name), record.name))


def _read(path: Path) -> Record:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] == FORMAT and block(data, "") and speed_report(data, 100):  # whatever lacks something fails
            return Record(path, data, _pictures(data))
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError):
        pass
    raise RunError(f"{path} is not what `leaseproof bench` writes in format {FORMAT}: measure it again")


def fill(document: Path, records: Sequence[Record]) -> tuple[list[Path], list[str]]:
    """Fill the blocks of a document, and write their pictures into a folder beside it that is called as it is.

    Returns what was written, and the measures that the document has no block for. Raises RunError, UnknownName and
    OSError.
    """
    try:
        before = document.read_text(encoding="utf-8")
        there = blocks(before)
    except OSError as error:
        raise RunError(f"cannot read {document}: {error.strerror}; write it first, with blocks to fill") from error
    except ValueError as error:
        raise RunError(f"{document}: {error}") from error
    try:
        check(there)
    except UnknownName as error:
        raise UnknownName(f"{document}: {error}") from error
    pictures = {
        document.parent / document.stem / f"{name}.svg": picture
        for record in records
        if record.name in there
        for name, picture in record.pictures.items()
    }
    for path, picture in pictures.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(picture, encoding="utf-8")
    made = {record.name: block(record.data, document.stem) for record in records}
    document.write_text(filled(before, made), encoding="utf-8")
    return [document, *pictures], [name for name in made if name not in there]
