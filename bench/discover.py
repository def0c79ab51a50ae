"""Scenarios and subjects by name: the bench imports neither, it looks them up."""

import difflib
import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.scenario import Arm, Scenario
from bench.subject import Subject, SubjectError


class UnknownName(Exception):
    """A name that nothing has: suggests the nearest ones."""


def scenarios() -> list[Scenario]:
    """All scenarios, one for each file of the package `scenarios`, in the catalogue's order."""
    package = importlib.import_module("scenarios")
    found = []
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"scenarios.{info.name}")
        mine = [value for value in vars(module).values() if isinstance(value, Scenario)]
        if len(mine) != 1 or mine[0].name != info.name.replace("_", "-"):
            raise UnknownName(f"{module.__file__} must define one scenario, named {info.name.replace('_', '-')}")
        found += mine
    return sorted(found, key=lambda scenario: scenario.row)


def pick(names: Sequence[str], known: Sequence[Scenario]) -> list[Scenario]:
    """The named scenarios, each once, in the order asked for. Raises UnknownName."""
    table = {scenario.name: scenario for scenario in known}
    for name in names:
        if name not in table:
            raise UnknownName(f"there is no scenario {name!r}{nearest(name, table)}; `leaseproof list` has them all")
    return [table[name] for name in dict.fromkeys(names)]


def pick_arms(arms: Sequence[Arm], wanted: Sequence[str]) -> list[Arm]:
    """Those arms that match any of the words: an id, `sound`, `twin`, `fault`, `sham` or a twin's name; all if no word.

    Raises UnknownName for a word that matches none.
    """
    words = {word for arm in arms for word in _words(arm)}
    for word in wanted:
        if word not in words:
            raise UnknownName(f"there is no arm {word!r}{nearest(word, words)}; they are: {', '.join(sorted(words))}")
    return [arm for arm in arms if not wanted or any(word in _words(arm) for word in wanted)]


def _words(arm: Arm) -> set[str]:
    name = arm.twin.name if arm.twin else "sound"
    return {arm.id, name, arm.code, "fault" if arm.fault else "sham"}


def subject(name: str) -> Subject:
    """A subject by the name of its folder in `subjects`, or by a path to a folder with a subject.toml."""
    return Subject.load(folder(name))


def folder(name: str) -> Path:
    """The folder of a subject by name or by path. Raises SubjectError."""
    for place in (_shelf() / name, Path(name)):
        if (place / "subject.toml").is_file():
            return place.resolve()
    known = [place.name for place in _all()]
    raise SubjectError(
        f"there is no subject {name!r}{nearest(name, known)}; known are {', '.join(known)}, or give a folder"
    )


def folders(names: Sequence[str], besides: str) -> list[tuple[str, Path]]:
    """The folders of subjects, each once, with what was given; for `all`, each in `subjects` but one.

    Raises SubjectError.
    """
    found: dict[Path, str] = {}
    for name in names:
        if name == "all":
            for place in _all():
                if place.name != besides:
                    found.setdefault(place, place.name)
        else:
            found.setdefault(folder(name), name)
    return [(given, place) for place, given in found.items()]


def is_name(text: str) -> bool:
    """Whether a scenario or a subject is called so."""
    return re.fullmatch(r"[\w-]+", text) is not None and (
        (_shelf() / text / "subject.toml").is_file()
        or importlib.util.find_spec(f"scenarios.{text.replace('-', '_')}") is not None
    )


def _shelf() -> Path:
    return Path(next(iter(importlib.import_module("subjects").__path__)))


def _all() -> list[Path]:
    """The folders of all subjects in `subjects`."""
    return sorted(path.parent.resolve() for path in _shelf().glob("*/subject.toml"))


def nearest(name: str, known: Iterable[str]) -> str:
    """What was meant, perhaps: the end of a sentence."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.4)
    return f"; did you mean {near[0]!r}?" if near else ""
