"""The command line: what it is, and the commands that run scenarios; the others are in cli_*.py."""

import argparse
import json
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console

from bench import (
    cli_artifacts,
    cli_bench,
    cli_offline,
    cli_options,
    cli_report,
    cli_subject,
    cli_validate,
    cross,
    discover,
    doctor,
    runner,
    services,
)
from bench.artifacts import ArtifactsError
from bench.cli_options import Usage
from bench.discover import UnknownName
from bench.expect import ExpectError
from bench.history import Closed, HistoryError, load
from bench.init import InitError
from bench.made import MakeError
from bench.postgres import PostgresError, redact
from bench.rundir import RunDirError
from bench.runs import Run, RunError
from bench.scenario import Arm
from bench.services import ServiceError
from bench.stalls import measure
from bench.subject import SubjectError
from bench.twins import TwinError, difference
from reports.console import ascii_only, make_console
from reports.cross import cross_table
from reports.live import Live
from reports.matrix import matrix
from reports.terminal import scenario_report

EPILOG = """\
exit codes:
  0  everything as it must be        3  inconclusive: this machine or a fault left no verdict
  1  a finding: a fail, or unproven  4  the adapter's or the bench's own fault
  2  wrong usage

examples:
  leaseproof list
  leaseproof run worker-death                  one scenario: its timelines, observations and all its arms
  leaseproof run worker-death --article        the same with the article's own seconds
  leaseproof run heartbeat --arms sound-fault  one arm
  leaseproof matrix                            all scenarios, all arms
  leaseproof matrix --postgres postgresql://me@localhost/postgres
  leaseproof cross                             each guard's twin in every guard's scenario
  leaseproof init my-queue --lang python       begin with a queue of your own: docs/subjects.md
  leaseproof lint my-queue                     does its adapter keep the contract?
  leaseproof validate my-queue                 each scenario that applies to it, in both of its profiles
  leaseproof validate all --expect known.toml  all in subjects/; a finding that is not in the file is told
  leaseproof report leaseproof-runs/latest --html --junit
  leaseproof bench drain peers                 how fast the core is; --list says what else is measured
  leaseproof artifacts --check                 has a fact of the article's demonstrations changed?
  leaseproof check leaseproof-runs/latest/worker-death/sound-fault.jsonl
"""


LEAST = 0.2
"""Seconds: the shortest lease on any machine."""


Show = Callable[[dict[str, Any], Console, Path], None]
"""Shows a result, whose run is in a folder."""


WRONG_USAGE = (
    Usage,
    UnknownName,
    SubjectError,
    PostgresError,
    ServiceError,
    HistoryError,
    ExpectError,
    InitError,
    RunDirError,
    RunError,
    ArtifactsError,
)


def main(argv: Sequence[str] | None = None) -> int:
    """The console command; returns its exit code."""
    options = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code: int = options.command(options)
        return code
    except WRONG_USAGE as error:
        print(f"leaseproof: {redact(str(error))}", file=sys.stderr)
        return 2
    except MakeError as error:
        print(f"leaseproof: {error}", file=sys.stderr)
        return 4
    except TwinError as error:
        print(f"leaseproof: the one-variable rule is broken: {error}", file=sys.stderr)
        return 4
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (KeyboardInterrupt, Closed):
        print("leaseproof: interrupted; nothing is left running", file=sys.stderr)
        return 130
    except OSError as error:
        print(f"leaseproof: {redact(str(error))}", file=sys.stderr)
        return 4
    except Exception:  # noqa: BLE001 - a defect of the bench's own, which must not look like a finding
        print(redact(traceback.format_exc()), file=sys.stderr)
        return 4


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="leaseproof",
        description="A proof bench for job queues: scripted faults, and proof that every check could have failed.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"leaseproof {doctor.own_version()}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    cli_offline.add(commands, cli_options.outputs)

    command = commands.add_parser("run", help="run the named scenarios and show their timelines")
    command.add_argument("names", nargs="+", metavar="NAME", help="a scenario, as `leaseproof list` has it")
    cli_options.running(command)
    cli_report.flags(command)
    command.set_defaults(command=_run)

    command = commands.add_parser("matrix", help="run all scenarios in all arms and show the matrix")
    cli_options.running(command)
    cli_report.flags(command)
    command.set_defaults(command=_matrix)

    command = commands.add_parser("cross", help="try the twins of scenarios in one another's, and show who fails where")
    command.add_argument(
        "names", nargs="*", metavar="NAME", help="scenarios (default: those that differ by which guard is missing)"
    )
    cli_options.running(command)
    cli_report.flags(command)
    command.set_defaults(command=_cross)

    cli_subject.add(commands, cli_options.places, cli_options.outputs, cli_options.settings)
    cli_validate.add(commands, cli_options.validating, cli_options.settings, _carry_out)
    cli_artifacts.add(commands, _carry_out)
    cli_report.add(commands, cli_options.outputs)
    cli_bench.add(commands, cli_options.outputs, _command)

    command = commands.add_parser("doctor", help="what this machine has, what is missing, and how to get it")
    cli_options.outputs(command)
    command.set_defaults(command=lambda options: doctor.report(sys.stdout, options.json))
    return parser


def _run(options: argparse.Namespace) -> int:
    chosen = discover.pick(options.names, discover.scenarios())
    return _perform(options, [arm for scenario in chosen for arm in scenario.arms], _show_scenarios)


def _matrix(options: argparse.Namespace) -> int:
    return _perform(options, [arm for scenario in discover.scenarios() for arm in scenario.arms], _show_matrix)


def _cross(options: argparse.Namespace) -> int:
    if not discover.subject(options.subject).twins:
        raise Usage(f"the subject {options.subject} has no twins, so there is nothing to cross")
    known = discover.scenarios()
    return _perform(options, cross.arms(discover.pick(options.names, known) or cross.family(known)), _show_cross)


def _perform(options: argparse.Namespace, candidates: Sequence[Arm], show: Show) -> int:
    cli_report.check(options)
    chosen = discover.pick_arms(candidates, options.arms)
    settings = cli_options.settings(options)
    arms: dict[str, list[Arm]] = {}
    for arm in chosen:
        # A twin is a class of queue_core's: for another subject there is only the sound side of the matrix.
        if settings.subject.twins or not arm.twin:
            arms.setdefault(arm.scenario.name, []).append(arm)
    if not arms:
        raise Usage(f"nothing is left to run: {settings.subject.name} has no twins, and --arms asks for nothing else")
    if options.dry_run:
        return _dry_run(settings, arms)
    plan = [(name, arm.id) for name, picked in arms.items() for arm in picked]
    data = _carry_out(options, settings, plan, lambda live, command: runner.run(settings, arms, live, command))
    cli_report.after(Run(settings.out, data), options)
    if options.json:
        print(json.dumps(data, ensure_ascii=False, indent=1))
    elif not cli_report.prints(options):
        show(data, make_console(sys.stdout, plain=options.plain, width=None), settings.out)
    return int(data["exit_code"])


def _carry_out(
    options: argparse.Namespace,
    settings: runner.Settings,
    plan: Sequence[tuple[str, str]],
    run: Callable[[runner.Watcher, str], dict[str, Any]],
) -> dict[str, Any]:
    """A run, with the checks before it and its progress; it is given its watcher, and what was typed."""
    _check_lease(settings)
    _check_out(settings.out)
    progress = make_console(sys.stderr, plain=options.plain, width=None)
    with Live(progress, plan, watch=options.watch) as live:
        data = run(live, _command())
    _link_latest(settings.out)
    return data


def _show_scenarios(data: dict[str, Any], screen: Console, out: Path) -> None:
    where = str(cli_report.short(out))
    for scenario in data["scenarios"]:
        histories = {arm["id"]: load(out / arm["history"]) for arm in scenario["arms"]}
        screen.print(scenario_report(scenario, histories, screen.width, ascii_only(screen), where))
    if len(data["scenarios"]) > 1:
        _show_matrix(data, screen, out)
    else:
        screen.print(f"  results in {where}", markup=False, highlight=False)


def _show_matrix(data: dict[str, Any], screen: Console, out: Path) -> None:
    screen.print(matrix(data, screen.width, ascii_only(screen), str(cli_report.short(out))))


def _show_cross(data: dict[str, Any], screen: Console, out: Path) -> None:
    screen.print(cross_table(data, screen.width, ascii_only(screen), str(cli_report.short(out))))


def _command() -> str:
    return shlex.join(["leaseproof", *map(redact, sys.argv[1:])])  # first, for quoting would hide a password from it


def _dry_run(settings: runner.Settings, arms: dict[str, list[Arm]]) -> int:
    print(f"would run {sum(map(len, arms.values()))} arms, {settings.jobs} at a time, on {redact(settings.postgres)}")
    for name in settings.subject.services:
        if name in services.OTHERS:
            print(f"would use for {name}: {redact(settings.services.get(name, 'its own'))}")
    print(f"would write the results to {settings.out}")
    for name, picked in arms.items():
        scenario = picked[0].scenario
        print(f"\n{name}, L = {scenario.lease(settings.article, settings.lease):g} s")
        print(f"    fault: {scenario.fault}\n    sham:  {scenario.sham}")
        for arm in picked:
            member = f" (without {difference(arm.twin).member})" if arm.twin else ""
            print(f"    {arm.id}{member}: must {'pass' if arm.expected == 'pass' else 'show ' + arm.expected}")
    return 0


def _check_lease(settings: runner.Settings) -> None:
    """Refuse a lease whose margin this machine's own stalls would eat up: the calmest of a few looks counts."""
    stall = min(measure(0.25) for _ in range(1 if settings.lease < LEAST else 3))
    least = max(LEAST, 10 * stall)
    if settings.lease < least:
        raise Usage(
            f"a lease of {settings.lease:g} s is below what this machine can hold: a renewal has a third of it, and the"
            f" machine just stalled for {stall * 1000:.1f} ms within a quarter of a second; try --lease {least:.1f}"
        )


def _check_out(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / ".probe"
        probe.write_bytes(b"\0" * 65536)
        probe.unlink()
    except OSError as error:
        raise Usage(f"cannot write results to {out}: {error.strerror}; name another folder with --out") from error


def _link_latest(out: Path) -> None:
    """Beside the default folders, `latest` leads to the newest."""
    if out.parent.name == "leaseproof-runs":
        link = out.parent / "latest"
        link.unlink(missing_ok=True)
        link.symlink_to(out.name)


if __name__ == "__main__":
    sys.exit(main())
