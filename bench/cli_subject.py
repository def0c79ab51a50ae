"""The commands for a queue of one's own: init, make, lint, smoke."""

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import discover, made, services
from bench.init import LANGUAGES, MARK, init
from bench.lint import Report, lint
from bench.runner import Settings
from bench.smoke import smoke

Add = Callable[[argparse.ArgumentParser], None]


def add(commands: Any, places: Add, outputs: Add, settings: Callable[[argparse.Namespace], Settings]) -> None:
    """Add them to the parser.

    `places` and `outputs` add the options that others have, too, and `settings` makes of them what a run is given.
    """
    command = commands.add_parser("init", help="begin a subject: an adapter with three places to fill in")
    command.add_argument("name", metavar="NAME", help="what your queue is called")
    command.add_argument("--lang", required=True, choices=list(LANGUAGES), help="what the adapter is written in")
    command.add_argument(
        "--service", action="append", default=[], metavar="NAME", help=f"of {', '.join(services.NAMES)}"
    )
    command.add_argument("--into", type=Path, metavar="DIR", help="the folder (default: subjects/NAME)")
    command.set_defaults(command=_init)

    command = commands.add_parser("make", help="make a subject's own environment, if its files have changed")
    command.add_argument("subject", metavar="NAME", help="a folder in subjects/, or a path")
    command.add_argument("--force", action="store_true", help="make it anew in any case")
    command.set_defaults(command=_make)

    for name, function, about in (
        ("lint", _lint, "check that a subject's adapter keeps the contract: docs/protocol.md"),
        ("smoke", _smoke, "run one job that must be done, and one that must fail"),
    ):
        command = commands.add_parser(name, help=about)
        command.add_argument("subject", metavar="SUBJECT", help="a folder in subjects/, or a path")
        places(command)
        outputs(command)
        # What a run of scenarios is given besides.
        command.set_defaults(command=lambda options, function=function: function(settings(options), options))
        command.set_defaults(article=False, full=False, cold=True, jobs=1, seed=1, longest=60.0)


def _init(options: argparse.Namespace) -> int:
    folder = options.into or Path("subjects") / options.name
    adapter = init(options.name, options.lang, options.service, folder)
    places = [
        f"  {adapter}:{number}: {line.strip().lstrip('#/ ')}"
        for number, line in enumerate(adapter.read_text(encoding="utf-8").splitlines(), start=1)
        if MARK in line
    ]
    print(f"wrote {folder}; three places are left to fill in:", *places, f"then see {folder / 'README.md'}", sep="\n")
    return 0


def _make(options: argparse.Namespace) -> int:
    made.make(discover.subject(options.subject), sys.stderr, options.force)
    return 0


def _lint(settings: Settings, options: argparse.Namespace) -> int:
    report = lint(settings)
    if options.json:
        print(json.dumps({**asdict(report), "exit_code": report.exit_code}, ensure_ascii=False, indent=1))
    else:
        print(_shown(report, settings))
    return report.exit_code


def _shown(report: Report, settings: Settings) -> str:
    """A lint for people: each finding, and the sum of them."""
    lines = []
    for finding in report.findings:
        kind = {"adapter": "wrong", "bench": "bench", "nobody": "note"}[finding.blame]
        lines += [
            finding.where,
            *_told(kind, finding.what),
            *_told("rule", finding.rule),
            *_told("cure", finding.cure),
            "",
        ]
    if report.stopped:
        lines += ["it went no further", *_told("", report.stopped), ""]
    wrong = sum(finding.blame == "adapter" for finding in report.findings)
    if any(finding.blame == "bench" for finding in report.findings):
        verdict = "this is leaseproof's own fault, not the adapter's; please report it"
    elif wrong or report.stopped:
        verdict = f"the adapter is broken: {wrong} {'thing is' if wrong == 1 else 'things are'} wrong"
    else:
        verdict = f"inconclusive: {report.doubt}" if report.doubt else "clean"
    about = f"lint of {' '.join(filter(None, [report.subject, report.version]))}, profile {settings.profile}"
    if lines:
        lines.append("The rules are those of docs/protocol.md.")
    heard = f"  {report.heard} message{'s' * (report.heard != 1)} heard in {report.seconds:.1f} s: {settings.out}"
    return "\n".join([*lines, f"{about}: {verdict}", heard])


def _told(kind: str, text: str) -> list[str]:
    """A paragraph under its word."""
    width = max(60, min(shutil.get_terminal_size().columns, 120)) - 8
    lines = [
        part
        for line in text.splitlines()
        for part in ([line] if line.startswith(" ") else textwrap.wrap(line, width, break_on_hyphens=False) or [""])
    ]
    return [f"  {kind if number == 0 else '':5} {line}" for number, line in enumerate(lines)]


def _smoke(settings: Settings, options: argparse.Namespace) -> int:
    report = smoke(settings)
    if options.json:
        print(json.dumps({**asdict(report), "exit_code": report.exit_code}, ensure_ascii=False, indent=1))
        return report.exit_code
    for trial in report.trials:
        print(f"  {'ok' if trial.passed else 'wrong':5}  {trial.job:10}  {trial.seen:44} {trial.seconds:6.2f} s")
    if report.stopped or report.doubt:
        print(f"  {'wrong' if report.stopped else 'doubt':5}  {report.stopped or report.doubt}")
    said = {0: "it runs", 3: "inconclusive", 4: "its adapter is not fit for a verdict on its queue"}[report.exit_code]
    print(f"smoke of {report.subject}, profile {settings.profile}: {said}\n  logs in {settings.out}")
    return report.exit_code
