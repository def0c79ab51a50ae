"""The command validate: subjects through all scenarios that apply to them, their findings held against a record."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from bench import cli_report, discover, expect, result, runs, validate
from bench.postgres import redact
from bench.runner import Settings, Watcher
from bench.runs import Run, RunError
from bench.scenario import Scenario
from bench.subject import PROFILES
from bench.validate import Stranger
from reports.console import ascii_only, make_console

ABOUT = """\
Each subject goes through the sound arms of every scenario, in each of its profiles. So do queue_core and its twins in
the same run: a scenario that they do not prove shows no cell. A validate.json of an earlier run in place of the
subjects is shown again, and nothing is run.
"""

SettingsOf = Callable[[argparse.Namespace, Sequence[str]], Settings]
Runs = Callable[[Watcher, str], dict[str, Any]]
"""Is given who watches, and what was typed."""


class CarryOut(Protocol):
    """Runs something with what is around every run: the checks before it, its progress, and the link to the latest."""

    def __call__(
        self, options: argparse.Namespace, settings: Settings, plan: Sequence[tuple[str, str]], run: Runs
    ) -> dict[str, Any]: ...


def add(
    commands: Any, shared: Callable[[argparse.ArgumentParser], None], settings: SettingsOf, carry_out: CarryOut
) -> None:
    """Add it to the parser.

    `shared` adds the options that others have, too; `settings` makes of them what a run is given, with the services
    that its subjects need.
    """
    command = commands.add_parser(
        "validate",
        help="run subjects through all scenarios that apply to them, and show who fails where",
        description=ABOUT,
    )
    command.add_argument(
        "subjects",
        nargs="+",
        metavar="SUBJECT",
        help="a folder in subjects/, a path, or `all`: each in subjects/ but queue_core",
    )
    command.add_argument(
        "--scenario", action="append", default=[], metavar="NAME", help="only this scenario; may be repeated"
    )
    record = command.add_mutually_exclusive_group()
    record.add_argument(
        "--expect",
        type=Path,
        metavar="FILE",
        help="exit with 0 if the findings are those in FILE; of a folder, those in its subjects' known.toml",
    )
    record.add_argument("--write-expect", type=Path, metavar="FILE", help="write the findings to FILE, or update it")
    shared(command)
    cli_report.flags(command)
    command.set_defaults(command=lambda options: _validate(options, settings, carry_out), subject=validate.REFERENCE)


def _validate(options: argparse.Namespace, settings: SettingsOf, carry_out: CarryOut) -> int:
    cli_report.check(options)
    held = _record(options)
    names = [Path(name) for name in options.subjects]
    if len(names) == 1 and names[0].suffix == ".json":
        data, out = held(_saved(names[0], options.scenario)), names[0].parent
    else:
        scenarios = discover.pick(options.scenario, discover.scenarios()) or discover.scenarios()
        strangers = validate.strangers(options.subjects, options.profile)
        needed = {name for who in strangers if who.subject for name in who.subject.services}
        given = replace(settings(options, sorted(needed)), profile=PROFILES[-1])
        out = given.out
        if options.dry_run:
            return _dry_run(given, strangers, scenarios)
        strangers = validate.made_ready(strangers, sys.stderr)

        def run(watcher: Watcher, command: str) -> dict[str, Any]:
            data = held(validate.run(given, strangers, scenarios, watcher, command))
            result.write(data, out / "validate.json")
            return data

        data = carry_out(options, given, validate.plan(strangers, scenarios), run)
    ended = Run(out, data)
    cli_report.after(ended, options)
    if options.json:
        print(json.dumps(data, ensure_ascii=False, indent=1))
    elif not cli_report.prints(options):
        screen = make_console(sys.stdout, plain=options.plain, width=None)
        screen.print(cli_report.shown(ended, screen.width, ascii_only(screen)))
    return int(data["exit_code"])


def _record(options: argparse.Namespace) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What holds a result against the record, if one was named. Raises ExpectError, before anything is run."""
    if options.expect:
        known = expect.load(options.expect)
        expect.check_explained(options.expect, known)
        return lambda data: expect.held(data, options.expect, known)
    if not options.write_expect:
        return lambda data: data
    path: Path = options.write_expect
    before = expect.load(path) if path.exists() else []

    def write(data: dict[str, Any]) -> dict[str, Any]:
        after = expect.updated(data, before)
        expect.write(path, after)
        bare = sum(not (finding.reason and finding.link) for finding in after)
        print(f"leaseproof: {path}: findings: {len(after)}, still without reason or link: {bare}", file=sys.stderr)
        return expect.held(data, path, after)

    return write


def _saved(path: Path, scenarios: Sequence[str]) -> dict[str, Any]:
    """The result of an earlier run. Raises RunError."""
    run = runs.read(path)
    if not run.of_subjects:
        raise RunError(f"{path} is no result of `validate`; see it with `leaseproof report {path}`")
    return dict(runs.narrowed(run, scenarios, []).data)


def _dry_run(settings: Settings, strangers: Sequence[Stranger], scenarios: Sequence[Scenario]) -> int:
    count = len(validate.plan(strangers, scenarios))
    print(f"would run up to {count} arms, {settings.jobs} at a time, on {redact(settings.postgres)}")
    print(f"would write the results to {settings.out}")
    print(f"\n{validate.REFERENCE} and its twins, the reference\n    all arms")
    for who in strangers:
        print(f"\n{who}, from {who.given}\n    {who.broken or 'the sound arms'}")
    print(f"\nin: {', '.join(scenario.name for scenario in scenarios)}")
    return 0
