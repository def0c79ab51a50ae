"""The command bench: how fast, measured side by side; and what was measured, put into a document."""

import argparse
import json
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from bench import cli_report, doctor, measured, speed
from bench.cli_options import Usage
from bench.measured import Record
from bench.postgres import redact
from bench.speed.figures import Measure, Missing, PromiseBroken
from bench.speed.ground import SERVERS, ground
from reports.console import ascii_only, make_console
from reports.matrix import count
from reports.signs import clean, signs
from reports.speed import USUAL, speed_report
from reports.speed_page import BEGIN, END

LONG = ("own", "lease")
"""These take long, and are measured only where they are named."""

ABOUT = f"""\
Each measure runs its contenders in turn on one server, and tells medians, ranges, and the ratios of rounds; no
difference is told that is within its own noise. Without a MEASURE all are taken but those that take long
({", ".join(LONG)}). Of each, DIR gets MEASURE.json as soon as it is done, with all single figures in it, and its
pictures.

With --from nothing is measured: what was is shown again, or put into the blocks of a document that is written by hand,
each between a line `{BEGIN.format("MEASURE")}` and a line `{END}`, with its pictures beside it.
"""

EPILOG = """\
exit codes:
  0  all measured, whatever came out;   2  wrong usage
     with --from: shown, or written     3  something could not be measured: what, and the cure, is told
  1  a promise was broken meanwhile     4  the bench's own fault

examples:
  leaseproof bench --list
  leaseproof bench enqueue latency
  leaseproof bench drain --rounds 1 --scale 0.01       does it work at all? its figures are worth nothing
  leaseproof bench --from leaseproof-runs/2026-12-01-120000 --doc docs/performance.md
"""


def add(commands: Any, outputs: Callable[[argparse.ArgumentParser], None], typed: Callable[[], str]) -> None:
    """Add it to the parser. `outputs` adds the options that all commands share; `typed` says what was typed."""
    command = commands.add_parser(
        "bench",
        help="how fast: drain, enqueue, latency, ..., measured side by side",
        description=ABOUT,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "measures", nargs="*", metavar="MEASURE", help=f"{', '.join(speed.MEASURES)} (--list says what each is)"
    )
    command.add_argument("--list", action="store_true", help="what each measure measures, and how")
    command.add_argument(
        "--rounds", type=_rounds, default=USUAL["rounds"], metavar="N", help="of each contender (default: 5)"
    )
    command.add_argument(
        "--scale",
        type=_scale,
        default=USUAL["scale"],
        metavar="X",
        help="the amounts of work times X (default: 1; with less only to see whether it works)",
    )
    command.add_argument("--out", type=Path, metavar="DIR", help="for the results (default: leaseproof-runs/<time>)")
    command.add_argument(
        "--postgres",
        default=os.environ.get("LEASEPROOF_POSTGRES", "auto"),
        metavar="WHERE",
        help=f"{SERVERS}: a server of the bench's own (default: $LEASEPROOF_POSTGRES or auto)",
    )
    command.add_argument(
        "--from",
        dest="saved",
        nargs="+",
        type=Path,
        default=[],
        metavar="RUN",
        help="measure nothing: read a folder of results, or single MEASURE.json",
    )
    command.add_argument("--doc", type=Path, metavar="FILE", help="with --from: fill the blocks of this document")
    outputs(command)
    command.set_defaults(command=partial(_bench, typed=typed))


def _rounds(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,3}", text):
        raise argparse.ArgumentTypeError(f"{text} is not a number of rounds from 1 to 9999")
    return int(text)


def _scale(text: str) -> float:
    value = float(text)
    if not 0 < value <= 100:
        raise argparse.ArgumentTypeError(f"{text} is not a scale: it is more than 0 and at most 100")
    return value


def _bench(options: argparse.Namespace, typed: Callable[[], str]) -> int:
    if options.doc and not options.saved:
        raise Usage("--doc is filled from what was measured: give its folder, too, by --from")
    if options.saved and (options.measures or options.list):
        raise Usage("--from measures nothing: leave out the names of measures, and --list")
    if options.doc:
        return _document(options)
    if options.saved:
        records = measured.read(options.saved)
        for record in records:
            _show(options, record)
        _end(options, records, [])
        return 0
    measured.check(options.measures)
    names = list(dict.fromkeys(options.measures))
    if options.list:
        return _list(options, names or list(speed.MEASURES))
    chosen = names or [name for name in speed.MEASURES if name not in LONG]
    return _measure(options, [speed.measure(name) for name in chosen], typed())


def _list(options: argparse.Namespace, names: Sequence[str]) -> int:
    found = {name: speed.measure(name).about for name in names}
    if options.json:
        print(json.dumps(found, ensure_ascii=False, indent=1))
    else:
        print("\n".join(f"{name}\n    {' '.join(about.split())}" for name, about in found.items()))
    return 0


def _document(options: argparse.Namespace) -> int:
    written, left_out = measured.fill(options.doc, measured.read(options.saved))
    for name in left_out:
        print(f"leaseproof: {options.doc} has no block of {name}, which is left out", file=sys.stderr)
    if options.json:
        print(json.dumps({"exit_code": 0, "written": [str(path) for path in written], "left_out": left_out}, indent=1))
    else:
        print("\n".join(f"wrote {cli_report.short(path)}" for path in written))
    return 0


def _measure(options: argparse.Namespace, measures: Sequence[Measure], typed: str) -> int:
    """One after the other, each on a ground of its own: a server that was churned is no place for the next."""
    out = _folder(options)
    watcher = make_console(sys.stderr, plain=options.plain)
    records: list[Record] = []
    failed: list[int] = []
    for measure in measures:
        try:
            record = _one(measure, options, watcher, out, typed)
        except Missing as error:
            print(f"leaseproof: {measure.name} is not measured: {redact(str(error))}", file=sys.stderr)
            failed.append(3)
        except PromiseBroken as error:
            print(f"leaseproof: {measure.name}: {redact(str(error))}", file=sys.stderr)
            failed.append(1)
        except _Fault as error:
            print(f"{redact(str(error))}leaseproof: {measure.name} failed: the bench's own fault", file=sys.stderr)
            failed.append(4)
        else:
            records.append(record)
            _show(options, record)
            told = f", and {count(len(record.pictures), 'picture')} beside it" if record.pictures else ""
            print(f"wrote {cli_report.short(record.path)}{told}", file=sys.stderr)
    return _end(options, records, failed)


def _folder(options: argparse.Namespace) -> Path:
    out: Path = options.out or Path("leaseproof-runs") / datetime.now().strftime("%Y-%m-%d-%H%M%S")
    try:
        out.mkdir(parents=True, exist_ok=True)
        (probe := out / ".probe").touch()
        probe.unlink()
    except OSError as error:
        raise Usage(f"cannot write results to {out}: {error.strerror}; name another folder with --out") from error
    return out


class _Fault(Exception):
    """A measure failed: its traceback. What the others bring is not given up for it."""


def _one(measure: Measure, options: argparse.Namespace, watcher: Console, out: Path, typed: str) -> Record:
    """Measure, and write it at once.

    Raises Missing, PromiseBroken, _Fault, and PostgresError where there is no server to be had.
    """
    started, began = datetime.now(UTC), time.monotonic()
    with (
        told(watcher, measure.name) as tell,
        ground(options.postgres, options.rounds, options.scale, tell, measure.services) as place,
    ):
        try:
            found = measure.run(place)
            about = {
                "about": measure.about,
                "leaseproof": doctor.own_version(),
                "command": typed,
                "started": started.isoformat(timespec="seconds"),
                "seconds": round(time.monotonic() - began, 1),
                "rounds": options.rounds,
                "scale": options.scale,
                "machine": place.machine(),
            }
            return measured.write(out, found, about)
        except (Missing, PromiseBroken):
            raise
        except Exception as error:
            raise _Fault(traceback.format_exc()) from error


@contextmanager
def told(console: Console, name: str) -> Iterator[Callable[[str], None]]:
    """Tells a step: on a terminal in one line, elsewhere a line each. Nothing is drawn between them: it costs CPU."""
    sign = signs(ascii_only(console))

    def line(words: str) -> Text:
        return Text(f"{name}: {clean(words, sign)}", no_wrap=True, overflow="ellipsis")

    if not (console.is_terminal and console.is_interactive):
        yield lambda words: console.print(line(words), soft_wrap=True)
        return
    with Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False) as live:
        yield lambda words: live.update(line(words), refresh=True)


def _show(options: argparse.Namespace, record: Record) -> None:
    if not options.json:
        screen = make_console(sys.stdout, plain=options.plain)
        screen.print(speed_report(record.data, screen.width, ascii_only(screen)))


def _end(options: argparse.Namespace, records: Sequence[Record], failed: Sequence[int]) -> int:
    """What the command exits with, and, if asked for, all that was measured as JSON."""
    doubtful = [each.data["missing"] or [g for g in each.data["goals"] if g["met"] is None] for each in records]
    code = next((code for code in (4, 1, 3) if code in failed), 3 if any(doubtful) else 0)
    if options.json:
        print(json.dumps({"exit_code": code, "measures": [r.data for r in records]}, ensure_ascii=False, indent=1))
    return code
