"""`leaseproof init`: the beginnings of a subject, in which three places are left to fill in."""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import services

HERE = Path(__file__).parent

MARK = "FILL IN"
"""What each of the three places is marked with."""

LANGUAGES: Mapping[str, tuple[str, str, str]] = {
    "python": ("adapter.py", "python/leaseproof_kit.py", ""),
    "node": ("adapter.js", "node/leaseproof.js", ""),
    "go": ("main.go", "go/leaseproof.go", "leaseproof"),
    "ruby": ("adapter.rb", "ruby/leaseproof.rb", ""),
    "java": ("Adapter.java", "java/Leaseproof.java", ""),
}
"""The adapter of each, its kit, and the folder that the kit is copied to."""

_TOML = """\
name = "{name}"
protocol = 1
services = [{services}]
{commands}
# The queue's own defaults, and how an expert sets it for the lease of a run: runs tell the adapter which, in
# LEASEPROOF_PROFILE, and what else is set here, as JSON, in LEASEPROOF_SETTINGS.
# [profiles.default]
# about = "as the first page of its documentation has it"
# docs = "https://..."
# [profiles.tuned]
# about = "set for the lease"
# docs = "https://..."
"""


class InitError(Exception):
    """A subject that cannot be begun so; says why, and the cure."""


def init(name: str, language: str, needed: Sequence[str], folder: Path) -> Path:
    """Write a subject into a folder that is not there yet, or empty; its adapter. Raises InitError and OSError."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
        raise InitError(f"{name!r} is no name for a subject: give letters, digits, `-`, `_` and `.`, such as my-queue")
    for service in needed:
        if service not in services.NAMES:
            raise InitError(services.unknown(service))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InitError(f"{folder} is there already, and not empty: give another --into, or another name")
    adapter, kit, inside = LANGUAGES[language]
    templates = HERE / "templates"
    commands = (templates / language / "subject.toml").read_text(encoding="utf-8")
    listed = ", ".join(f'"{service}"' for service in needed)
    filled = {"name": name, "where": _where(needed), "adapter": adapter, "path": _shown(folder)}
    (folder / inside).mkdir(parents=True, exist_ok=True)
    _write(folder / "subject.toml", _TOML.format(name=name, services=listed, commands=commands))
    for path in [*sorted(templates.glob("*.template")), *sorted((templates / language).glob("*.template"))]:
        _write(folder / path.stem, _fill(path.read_text(encoding="utf-8"), filled))
    shutil.copyfile(HERE / "kits" / kit, folder / inside / Path(kit).name)
    return folder / adapter


def _where(needed: Sequence[str]) -> str:
    """What an adapter is told of where its queue is."""
    places = [f"the environment's {services.variable(service)}" for service in needed]
    return " and ".join(places) or "in files, of the folder that the environment's LEASEPROOF_FOLDER names"


def _shown(folder: Path) -> str:
    """A subject as commands take it: by its name, if it is among the subjects, else by its path."""
    return folder.name if folder.parent.name == "subjects" else str(folder)


def _fill(text: str, filled: Mapping[str, str]) -> str:
    for key, value in filled.items():
        text = text.replace(f"{{{{{key}}}}}", value)
    return text


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
