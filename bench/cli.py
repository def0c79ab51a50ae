"""The command line: list, run, matrix, cross, check, doctor."""

import argparse
import json
import os
import random
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console

from bench import cross, discover, doctor, runner
from bench.discover import UnknownName
from bench.history import Closed, HistoryError, load
from bench.postgres import PostgresError, redact
from bench.rundir import RunDirError
from bench.scenario import Arm, Scenario
from bench.stalls import measure
from bench.subject import SubjectError
from bench.twins import TwinError, difference
from bench.verdict import as_expected, judge
from reports.catalogue import page
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
  leaseproof check leaseproof-runs/latest/worker-death/sound-fault.jsonl
"""


LEAST = 0.2
"""Seconds: the shortest lease on any machine."""


Show = Callable[[dict[str, Any], Console, Path], None]
"""Shows a result, whose run is in a folder."""


class Usage(Exception):
    """Wrong usage: names the thing and the cure."""


def main(argv: Sequence[str] | None = None) -> int:
    """The console command; returns its exit code."""
    options = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code: int = options.command(options)
        return code
    except (Usage, UnknownName, SubjectError, PostgresError, HistoryError, RunDirError) as error:
        print(f"leaseproof: {redact(str(error))}", file=sys.stderr)
        return 2
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

    command = commands.add_parser("list", help="the scenarios, what each claims, and its twins")
    command.add_argument("--markdown", action="store_true", help="as a page of Markdown: docs/scenarios.md")
    _outputs(command)
    command.set_defaults(command=_list)

    command = commands.add_parser("run", help="run the named scenarios and show their timelines")
    command.add_argument("names", nargs="+", metavar="NAME", help="a scenario, as `leaseproof list` has it")
    _running(command)
    command.set_defaults(command=_run)

    command = commands.add_parser("matrix", help="run all scenarios in all arms and show the matrix")
    _running(command)
    command.set_defaults(command=_matrix)

    command = commands.add_parser("cross", help="try the twins of scenarios in one another's, and show who fails where")
    command.add_argument(
        "names", nargs="*", metavar="NAME", help="scenarios (default: those that differ by which guard is missing)"
    )
    _running(command)
    command.set_defaults(command=_cross)

    command = commands.add_parser("check", help="judge a saved history again, without a queue")
    command.add_argument("history", type=Path, metavar="HISTORY", help="a .jsonl file of an earlier run")
    _outputs(command)
    command.set_defaults(command=_check)

    command = commands.add_parser("doctor", help="what this machine has, what is missing, and how to get it")
    _outputs(command)
    command.set_defaults(command=lambda options: doctor.report(sys.stdout, options.json))
    return parser


def _outputs(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON instead of text")
    command.add_argument("--plain", action="store_true", help="no colour, no live drawing, ASCII signs only")


def _running(command: argparse.ArgumentParser) -> None:
    default = os.environ.get("LEASEPROOF_POSTGRES", "auto")
    command.add_argument(
        "--postgres",
        default=default,
        metavar="WHERE",
        help="auto, embedded, system, docker[:image] or a DSN (default: $LEASEPROOF_POSTGRES or auto)",
    )
    command.add_argument("--lease", type=_seconds, default=1.0, metavar="S", help="the lease L in seconds (default: 1)")
    command.add_argument("--article", action="store_true", help="the article's own seconds where a scenario has them")
    command.add_argument("--full", action="store_true", help="load scenarios at their full size (5,000 jobs, ...)")
    command.add_argument(
        "--longest",
        type=_seconds,
        default=60.0,
        metavar="S",
        help="the longest recovery to wait for, of a queue that takes longer by its own word (default: 60)",
    )
    command.add_argument(
        "--arms",
        action="append",
        default=[],
        metavar="ARM",
        help="only these arms: an id, or sound, twin, fault, sham, or a twin's name; may be repeated",
    )
    command.add_argument(
        "--jobs", type=_count, default=None, metavar="N", help="arms at once (default: 4 for each CPU)"
    )
    command.add_argument("--seed", type=int, default=None, help="for the backoff's jitter; recorded in the results")
    command.add_argument(
        "--subject", default="queue_core", help="a folder in subjects/, or a path (default: queue_core)"
    )
    command.add_argument("--out", type=Path, metavar="DIR", help="for the results (default: leaseproof-runs/<time>)")
    command.add_argument("--cold", action="store_true", help="start each worker afresh instead of forking a warm one")
    command.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    _outputs(command)


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 3600:
        raise argparse.ArgumentTypeError(f"{text} is not a lease: it is more than 0 s and less than an hour")
    return value


def _count(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text} is not a number of arms from 1 to 100")
    return value


def _list(options: argparse.Namespace) -> int:
    known = discover.scenarios()
    if options.json:
        print(json.dumps([_describe(scenario) for scenario in known], indent=1))
        return 0
    if options.markdown:
        print(page([_describe(scenario) for scenario in known]), end="")
        return 0
    for scenario in known:
        print(f"{scenario.name}\n    {scenario.claim}")
        for twin in scenario.twins:
            print(f"    twin {twin.name} ({difference(twin).member}) -> {twin.anomaly}")
    return 0


def _describe(scenario: Scenario) -> dict[str, Any]:
    return {
        "name": scenario.name,
        "claim": scenario.claim,
        "row": scenario.row,
        "origin": scenario.origin,
        "fault": scenario.fault,
        "sham": scenario.sham,
        "twins": [
            {"name": t.name, "member": difference(t).member, "anomaly": t.anomaly, "summary": t.summary}
            for t in scenario.twins
        ],
        "arms": [arm.id for arm in scenario.arms],
    }


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
    chosen = discover.pick_arms(candidates, options.arms)
    if not options.postgres:
        raise Usage("--postgres is empty: give auto, embedded, system, docker[:image] or a DSN")
    settings = _settings(options)
    arms: dict[str, list[Arm]] = {}
    for arm in chosen:
        # A twin is a class of queue_core's: for another subject there is only the sound side of the matrix.
        if settings.subject.twins or not arm.twin:
            arms.setdefault(arm.scenario.name, []).append(arm)
    if not arms:
        raise Usage(f"nothing is left to run: {settings.subject.name} has no twins, and --arms asks for nothing else")
    if options.dry_run:
        return _dry_run(settings, arms)
    _check_lease(settings)
    _check_out(settings.out)
    screen = make_console(sys.stdout, plain=options.plain, width=None)
    progress = make_console(sys.stderr, plain=options.plain, width=None)
    plan = [(name, arm.id) for name, picked in arms.items() for arm in picked]
    with Live(progress, plan, single=len(arms) == 1) as live:
        data = runner.run(settings, arms, live, _command())
    _link_latest(settings.out)
    if options.json:
        print(json.dumps(data, ensure_ascii=False, indent=1))
        return int(data["exit_code"])
    show(data, screen, settings.out)
    return int(data["exit_code"])


def _show_scenarios(data: dict[str, Any], screen: Console, out: Path) -> None:
    where = str(_shown(out))
    for scenario in data["scenarios"]:
        histories = {arm["id"]: load(out / arm["history"]) for arm in scenario["arms"]}
        screen.print(scenario_report(scenario, histories, screen.width, ascii_only(screen), where))
    if len(data["scenarios"]) > 1:
        _show_matrix(data, screen, out)
    else:
        screen.print(f"  results in {where}", markup=False, highlight=False)


def _show_matrix(data: dict[str, Any], screen: Console, out: Path) -> None:
    screen.print(matrix(data, screen.width, ascii_only(screen), str(_shown(out))))


def _show_cross(data: dict[str, Any], screen: Console, out: Path) -> None:
    screen.print(cross_table(data, screen.width, ascii_only(screen), str(_shown(out))))


def _settings(options: argparse.Namespace) -> runner.Settings:
    jobs = {} if options.jobs is None else {"jobs": options.jobs}
    return runner.Settings(
        subject=discover.subject(options.subject),
        out=options.out or Path("leaseproof-runs") / datetime.now().strftime("%Y-%m-%d-%H%M%S"),
        postgres=options.postgres,
        lease=options.lease,
        article=options.article,
        full=options.full,
        longest=options.longest,
        cold=options.cold,
        seed=random.SystemRandom().randrange(2**31) if options.seed is None else options.seed,
        **jobs,
    )


def _command() -> str:
    return shlex.join(["leaseproof", *map(redact, sys.argv[1:])])  # first, for quoting would hide a password from it


def _dry_run(settings: runner.Settings, arms: dict[str, list[Arm]]) -> int:
    print(f"would run {sum(map(len, arms.values()))} arms, {settings.jobs} at a time, on {redact(settings.postgres)}")
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


def _shown(out: Path) -> Path:
    return out.relative_to(Path.cwd()) if out.is_relative_to(Path.cwd()) else out


def _check(options: argparse.Namespace) -> int:
    events = load(options.history)
    known = discover.scenarios()
    try:
        (scenario,) = discover.pick([events[0]["scenario"]], known)
        arm = events[0]["arm"]
        verdict = judge(events, scenario.checks)
        expected, id = as_expected(verdict, arm["expected"], arm["also"]), arm["id"]
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise HistoryError(f"{options.history} lacks what a history has: {error!r}") from error
    unsupported = verdict.verdict == "unsupported"
    if options.json:
        anomalies = [{"name": a.name, "text": a.text, "events": list(a.events)} for a in verdict.anomalies]
        answer = {"verdict": verdict.verdict, "anomalies": anomalies, "reason": verdict.reason, "as_expected": expected}
        print(json.dumps({"scenario": scenario.name, "arm": id, **answer}, ensure_ascii=False, indent=1))
    else:
        said = "nothing was run" if unsupported else "as it must be" if expected else "not as it must be"
        print(f"{scenario.name} {id}: {verdict.verdict}, {said}")
        for anomaly in verdict.anomalies:
            print(f"    {anomaly.name}: {anomaly.text} (lines {', '.join(str(i + 1) for i in anomaly.events)})")
        if verdict.reason:
            print(f"    {verdict.reason}")
    if verdict.verdict in ("inconclusive", "error"):
        return {"inconclusive": 3, "error": 4}[verdict.verdict]
    return 0 if expected or unsupported else 1


if __name__ == "__main__":
    sys.exit(main())
