"""The command report, and its flags on the commands that run something: a run in every form that there is of it."""

import argparse
import io
import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, RenderableType

from bench import discover, runs
from bench.runs import FILES, Run, RunError
from reports.badge import badge
from reports.console import PIPE_WIDTH, ascii_only, make_console
from reports.cross import cross_table, crossed
from reports.html import html
from reports.junit import junit
from reports.markdown import ROOM, markdown, summary
from reports.matrix import count, matrix
from reports.outcome import proofs
from reports.subjects import subjects_matrix
from reports.svg import Panel, svg
from reports.terminal import scenario_report

ABOUT = """\
A RUN is the folder of a run, or its result.json or validate.json. Several become one: shards of a matrix, and subjects
that were run apart. Without a flag the matrix is printed, and of a single scenario its timelines. A FILE of - is
stdout. Exits with 0 once it is written, whatever became of the run.
"""

OUT = "-"
"""A FILE that is stdout."""


@dataclass(frozen=True)
class Format:
    """A form of a report: its flag, the file that it is in where none is named, and what makes its text."""

    flag: str
    file: str
    about: str
    text: Callable[[Run, argparse.Namespace], str]


def _text(run: Run, options: argparse.Namespace) -> str:
    stream = io.StringIO()
    paper = Console(file=stream, width=PIPE_WIDTH, color_system=None, force_terminal=False, markup=False, emoji=False)
    paper.print(shown(run, PIPE_WIDTH, options.plain))
    return stream.getvalue()


FORMATS = (
    Format(
        "html",
        "report.html",
        "a page for a browser, with all evidence in it",
        lambda run, options: html(run.data, run.history),
    ),
    Format("junit", "junit.xml", "JUnit XML, for CI", lambda run, options: junit(run.data)),
    Format("markdown", "report.md", "a page of Markdown", lambda run, options: markdown(run.data)),
    Format("text", "report.txt", "the matrix as a terminal shows it", _text),
    Format("badge", "badge.json", "what shields.io makes a badge of", lambda run, options: badge(run.data)),
)


def add(commands: Any, outputs: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add it to the parser; `outputs` adds the options that all commands share."""
    command = commands.add_parser(
        "report", help="show finished runs again, or write them as HTML, SVG, JUnit, ...", description=ABOUT
    )
    command.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="the folder of a run, or its result")
    for what in ("scenario", "subject"):
        command.add_argument(
            f"--{what}", action="append", default=[], metavar="NAME", help=f"only this {what}; may be repeated"
        )
    flags(command)
    outputs(command)
    command.set_defaults(command=_report)


def flags(command: argparse.ArgumentParser) -> None:
    """The flags for the forms of a report."""
    group = command.add_argument_group("reports", "Without a FILE, into the folder of the run.")
    for form in FORMATS:
        group.add_argument(
            f"--{form.flag}", nargs="?", const="", type=_file, metavar="FILE", help=f"{form.about} ({form.file})"
        )
    group.add_argument(
        "--svg", nargs="?", const="", type=_file, metavar="FOLDER", help="the timelines, a picture a scenario (svg/)"
    )


def _file(text: str) -> str:
    """A FILE, unless it is what was to be reported or run: argparse gives a flag the word that follows it."""
    path = Path(text)
    if text and (path.name in FILES or any((path / name).exists() for name in FILES)):
        what = "is a run"
    elif discover.is_name(text):
        what = "is the name of a scenario or of a subject"
    elif (path / "subject.toml").exists():
        what = "is a subject"
    else:
        return text
    raise argparse.ArgumentTypeError(
        f"{text} {what}, and this flag takes it for the FILE to write: name it before the flag, or give the flag =FILE"
    )


def _report(options: argparse.Namespace) -> int:
    run = runs.narrowed(runs.merged([runs.read(path) for path in options.runs]), options.scenario, options.subject)
    check(options)
    if len(options.runs) == 1:
        written = _written(run, options, run.folder, "")
    else:
        written = _written(run, options, Path(), "leaseproof-")
    if options.json:
        print(json.dumps(run.data, ensure_ascii=False, indent=1))
    elif not _asked(options):
        screen = make_console(sys.stdout, plain=options.plain, width=None)
        screen.print(shown(run, screen.width, ascii_only(screen)))
    _tell(written, sys.stderr if options.json or prints(options) else sys.stdout)
    return 0


def shown(run: Run, width: int, ascii_only: bool) -> RenderableType:
    """What a terminal shows of a run: the matrix, and of a single scenario its timelines."""
    where = str(short(run.folder))
    if run.of_subjects:
        return subjects_matrix(run.data, width, ascii_only, where)
    if crossed(run.data):
        return cross_table(run.data, width, ascii_only, where)
    scenarios = run.data["scenarios"]
    if len(scenarios) != 1:
        return matrix(run.data, width, ascii_only, where)
    found = {arm["id"]: events for arm in scenarios[0]["arms"] if (events := run.history(arm))}
    return scenario_report(scenarios[0], found, width, ascii_only, where)


# What the commands that run something do with a run.


def check(options: argparse.Namespace) -> None:
    """Refuse, before anything is run, what could not be written after it. Raises RunError."""
    if options.json and (flag := prints(options)):
        raise RunError(f"--json and --{flag} {OUT} would both print; give one of them a file")
    if options.svg == OUT:
        raise RunError(f"--svg {OUT}: pictures go into a folder, and not to stdout")
    named = {form.flag: Path(getattr(options, form.flag) or OUT) for form in FORMATS}
    for flag, path in {**named, "svg": Path(options.svg, "-") if options.svg else Path(OUT)}.items():
        there = next(place for place in (path.absolute(), *path.absolute().parents) if place.exists())
        if there.is_dir() and there == path.absolute():
            raise RunError(f"--{flag} {path} is a folder; name a file in it")
        if not os.access(there, os.W_OK) or (there != path.absolute() and not there.is_dir()):
            raise RunError(f"--{flag} {path} cannot be written: {there} cannot")


def prints(options: argparse.Namespace) -> str:
    """The flag of a form that goes to stdout, if there is one: it stands for what else would be printed there."""
    return next((form.flag for form in FORMATS if getattr(options, form.flag) == OUT), "")


def after(run: Run, options: argparse.Namespace) -> None:
    """Write what was asked for of a run that has just ended, and GitHub's summary of the step, if there is one."""
    _tell(_written(run, options, run.folder, ""), sys.stderr)
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with open(path, "a", encoding="utf-8") as file:
                file.write(summary(run.data, ROOM - file.tell()))
        except OSError as error:
            print(f"leaseproof: warning: no summary for GitHub in {path}: {error.strerror or error}", file=sys.stderr)


def _asked(options: argparse.Namespace) -> bool:
    return any(getattr(options, flag) is not None for flag in (*(form.flag for form in FORMATS), "svg"))


def _written(run: Run, options: argparse.Namespace, home: Path, prefix: str) -> list[str]:
    """Write all that was asked for, into `home` what has no file of its own, and tell what is where.

    Raises RunError.
    """
    files: list[tuple[str, Path, str]] = []
    for form in FORMATS:
        asked = getattr(options, form.flag)
        if asked is not None:
            text = form.text(run, options)
            if asked == OUT:
                make_console(sys.stdout).file.write(text)
            else:
                files.append((form.flag, Path(asked) if asked else home / f"{prefix}{form.file}", text))
    told = [str(short(path)) for _, path, _ in files]
    if options.svg is not None:
        folder = Path(options.svg) if options.svg else home / f"{prefix}svg"
        pictures = [("svg", folder / name, text) for name, text in _pictures(run)]
        files += pictures
        told.append(f"{count(len(pictures), 'picture')} in {short(folder)}")
    for flag, path, text in files:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise RunError(
                f"cannot write {path}: {error.strerror}; `leaseproof report {short(run.folder)} --{flag}=FILE` does it"
            ) from error
    return told


def _tell(written: Collection[str], where: TextIO) -> None:
    for words in written:
        print(f"wrote {words}", file=where)


def short(path: Path) -> Path:
    """A path as it is shown: from here, if it is below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


# Pictures.


def _pictures(run: Run) -> Iterator[tuple[str, str]]:
    """A file a scenario, with its sound arm and each twin's under the fault; and one for each fail of a subject's."""
    for scenario in run.data["scenarios"]:
        panels = [_panel(run, arm, _whose(arm)) for arm in scenario["arms"] if arm["fault"]]
        if found := [panel for panel in panels if panel]:
            yield f"{_safe(scenario['name'])}.svg", svg(found)
    for subject in run.data.get("subjects", []):
        for cell in subject["cells"]:
            who = f"{subject['name']} {subject['profile']}"
            panels = [_panel(run, arm, f"{who}, {_side(arm)}") for arm in cell["arms"] if arm["verdict"] == "fail"]
            if found := [panel for panel in panels if panel]:
                yield "/".join(map(_safe, (subject["name"], subject["profile"], f"{cell['scenario']}.svg"))), svg(found)


def _panel(run: Run, arm: Mapping[str, Any], title: str) -> Panel | None:
    history = run.history(arm)
    return Panel(history, title, proofs(arm)) if history else None


def _whose(arm: Mapping[str, Any]) -> str:
    return f"the twin {arm['twin']}, {_side(arm)}" if arm["twin"] else f"the sound queue, {_side(arm)}"


def _side(arm: Mapping[str, Any]) -> str:
    return "with the fault" if arm["fault"] else "without the fault"


def _safe(name: str) -> str:
    """A name as a file of its own in a folder, whatever a subject is called."""
    return re.sub(r"[^\w.-]", "-", name)[:100].lstrip(".") or "-"
