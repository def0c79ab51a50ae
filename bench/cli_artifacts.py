"""The command artifacts: the article's demonstrations as text and as data, made anew or held against the record."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from bench import artifacts, cli_options, runner, runs
from bench.artifacts import ArtifactsError, Seen
from bench.cli_validate import CarryOut
from bench.postgres import redact
from bench.scenario import Arm
from bench.subject import PROFILES
from reports import compared
from reports.artifacts_check import check_report
from reports.captions import LANGUAGES
from reports.console import ascii_only, make_console

ABOUT = """\
The demonstrations of the lease article on queue_core, with the article's own seconds: worker-death, heartbeat,
sigterm-drain and claim-race, each sound and broken. Each is written as a transcript in the article's shape, in English
and in Russian, with its facts as data beside it. Times, versions and all that luck decides go to about.json alone, so
that `git diff` shows changes of facts.

With --check nothing is written. The facts are held against those that are recorded (facts.json), and against those of
the article itself (article.json); where it is known to differ from the article, the reason is shown.

With RUN nothing is run: a finished run is read, or several that together have the four scenarios.
"""

EPILOG = f"""\
exit codes:
  0  all as recorded                 3  inconclusive: something was not seen, and nothing is written
  1  a fact has changed, or is not   4  the bench's own fault
     what its scenario must show     2  wrong usage

examples:
  leaseproof artifacts                     run them, and write docs/artifacts
  leaseproof artifacts --lang ru --out /tmp/mine
  leaseproof artifacts --check             run them, and compare
  {artifacts.COMMAND}
  leaseproof artifacts leaseproof-runs/latest --check
"""


def add(commands: Any, carry_out: CarryOut) -> None:
    """Add it to the parser."""
    command = commands.add_parser(
        "artifacts",
        help="the article's demonstrations as transcripts and data; --check: has a fact changed?",
        description=ABOUT,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "runs", nargs="*", type=Path, metavar="RUN", help="a folder of a finished run with --article: run nothing"
    )
    command.add_argument("--check", action="store_true", help="compare, and write nothing")
    command.add_argument(
        "--lang", choices=(*LANGUAGES, "all"), default="all", help="of the transcripts (default: all of them)"
    )
    command.add_argument(
        "--out",
        dest="folder",
        type=Path,
        default=artifacts.FOLDER,
        metavar="DIR",
        help=f"for the artifacts, or with --check where the record is (default: {artifacts.FOLDER})",
    )
    cli_options.server(command)
    cli_options.at_once(command)
    cli_options.outputs(command)
    command.set_defaults(article=True, full=False, cold=False, subject="queue_core", profile=PROFILES[-1], service=[])
    command.set_defaults(lease=1.0, longest=60.0, seed=0, out=None, watch=False)
    command.set_defaults(command=partial(_artifacts, carry_out=carry_out))


def _artifacts(options: argparse.Namespace, carry_out: CarryOut) -> int:
    folder: Path = options.folder
    known, recorded = artifacts.article(folder), artifacts.recorded(folder) if options.check else {}
    if folder == artifacts.FOLDER and not folder.is_dir():
        raise ArtifactsError(f"there is no {folder} here: run this in a clone of leaseproof, or name a folder by --out")
    seen = _read(options.runs) if options.runs else _run(options, carry_out)
    notes = [f"{' '.join(side)}: {doubt.kind}: {doubt.text}" for side, doubt in seen.doubts.items()]
    return _check(options, seen, known, recorded, notes) if options.check else _write(options, seen, notes)


def _read(given: Sequence[Path]) -> Seen:
    """What finished runs have. Raises RunError and ArtifactsError."""
    seen = Seen()
    seen.take(runs.merged([runs.read(path) for path in given]), artifacts.ALL)
    return seen


def _run(options: argparse.Namespace, carry_out: CarryOut) -> Seen:
    given = cli_options.settings(options)

    def perform(arms: Mapping[str, Sequence[Arm]], out: Path) -> Mapping[str, Any]:
        settings = replace(given, out=out)
        plan = [(name, arm.id) for name, picked in arms.items() for arm in picked]
        return carry_out(options, settings, plan, lambda watcher, typed: runner.run(settings, arms, watcher, typed))

    return artifacts.look(given.out, perform)


def _write(options: argparse.Namespace, seen: Seen, notes: list[str]) -> int:
    languages = LANGUAGES if options.lang == "all" else (options.lang,)
    written = [] if seen.doubts else artifacts.write(options.folder, seen, languages)
    notes += [f"{' '.join(side)}: {text}" for side, text in seen.unexpected.items()]
    notes.append(f"{len(written)} files in {options.folder}" if written else "nothing was written; try again")
    code = _doubtful(seen) or int(bool(seen.unexpected))
    if options.json:
        print(json.dumps({"exit_code": code, "written": [str(path) for path in written], "notes": notes}, indent=1))
    else:
        print("\n".join(f"leaseproof: {redact(note)}" for note in notes))
    return code


def _check(
    options: argparse.Namespace, seen: Seen, known: dict[str, Any], recorded: dict[str, Any], notes: list[str]
) -> int:
    now = seen.by_scenario()
    changes, beside = compared.changes(recorded, now), compared.against(known, now)
    off = [each for each in beside if each.status == "changed"]
    code = int(bool(changes or off)) or _doubtful(seen)
    told = sum(len(compared.by_name(now, *side)) for side in artifacts.ALL)
    notes.append(f"{told} facts: {told - len(changes)} as recorded, {len(changes)} changed")
    ways = {
        "same": "the same here",
        "known": "differ for a known reason",
        "told": "by the script",
        "changed": "changed",
    }
    counts = {words: sum(each.status == way for each in beside) for way, words in ways.items()}
    notes.append(f"{len(beside)} of the article: {', '.join(f'{count} {words}' for words, count in counts.items())}")
    if (lines := options.folder / artifacts.LINES).is_file() and artifacts.read(lines) != artifacts.counts():
        notes.append("the counts of lines have changed since: `make artifacts` writes them anew")
    if options.json:
        found = {"changed": [asdict(each) for each in changes], "article": [asdict(each) for each in beside]}
        print(json.dumps({"exit_code": code, **found, "notes": notes}, ensure_ascii=False, indent=1))
    else:
        screen = make_console(sys.stdout, plain=options.plain)
        screen.print(check_report(beside, changes, notes, screen.width, options.plain or ascii_only(screen)))
    return code


def _doubtful(seen: Seen) -> int:
    kinds = {doubt.kind for doubt in seen.doubts.values()}
    return 4 if "error" in kinds else 3 if kinds else 0
