"""The queue from the command line: install it, put jobs in, work, schedule, reclaim, look, clean up."""

import argparse
import dataclasses
import importlib
import json
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

from queue_core.metrics import Limits, alarms, prometheus
from queue_core.once import Once
from queue_core.queue import Queue
from queue_core.retention import Retention
from queue_core.scheduler import Schedule, Scheduler
from queue_core.worker import FORCED, Worker

OK, FAILED = 0, 1  # and 2, argparse's own, for bad input


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1 where the database failed or an alarm rang, FORCED from a worker.

    Raises SystemExit(2) for bad input, as argparse does.
    """
    parser = _parser()
    args = parser.parse_args(arguments)
    try:
        psycopg.conninfo.conninfo_to_dict(args.dsn)
    except psycopg.ProgrammingError as error:
        parser.error(f"--dsn can't be read: {str(error).strip()}")
    try:
        if args.command == "worker":
            return _work(args, parser)
        if args.command == "scheduler":
            return _schedule(args, parser)
        with psycopg.connect(args.dsn, autocommit=True, client_encoding="utf8") as connection:
            return _COMMANDS[args.command](Queue(connection), args)
    except psycopg.errors.UndefinedTable:
        print("queue_core: the queue is not installed here: run `python -m queue_core install`", file=sys.stderr)
        return FAILED
    except psycopg.Error as error:
        print(f"queue_core: {str(error).strip()}", file=sys.stderr)
        return FAILED


def _install(queue: Queue, args: argparse.Namespace) -> int:
    with queue.connection.transaction():
        queue.install()
        Scheduler.install(queue.connection)
        Once(queue.connection).install()
    return OK


def _enqueue(queue: Queue, args: argparse.Namespace) -> int:
    job = queue.enqueue(
        args.kind,
        args.payload,
        queue=args.queue,
        priority=args.priority,
        delay=args.delay,
        max_attempts=args.max_attempts,
    )
    print(job)
    return OK


def _reclaim(queue: Queue, args: argparse.Namespace) -> int:
    print(json.dumps(queue.reclaim(args.limit)))
    return OK


def _purge(queue: Queue, args: argparse.Namespace) -> int:
    retention = Retention(
        queue.connection, done_after=args.done_after, failed_after=args.failed_after, batch=args.batch
    )
    print(retention.purge())
    return OK


def _stats(queue: Queue, args: argparse.Namespace) -> int:
    stats = queue.stats()
    if args.prometheus:
        print(prometheus(stats), end="")
    elif args.json:
        print(json.dumps(dataclasses.asdict(stats)))
    else:
        for figure in dataclasses.fields(stats):
            value, about = getattr(stats, figure.name), [figure.metadata.get("unit"), figure.metadata["about"]]
            shown = "-" if value is None else f"{value:.3f}" if isinstance(value, float) else value
            print(f"{figure.name:13} {shown:>10}  {' '.join(filter(None, about))}")
    limits = Limits(**{figure.name: getattr(args, f"alarm_{figure.name}") for figure in dataclasses.fields(Limits)})
    ringing = alarms(stats, limits)
    for words in ringing:
        print(f"queue_core: {words}", file=sys.stderr)
    return FAILED if ringing else OK


_COMMANDS = {"install": _install, "enqueue": _enqueue, "reclaim": _reclaim, "purge": _purge, "stats": _stats}


def _schedule(args: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s")
    try:
        scheduler = Scheduler(
            args.dsn, args.schedules, name=args.name, poll=args.poll, catch_up=args.catch_up, patience=args.patience
        )
    except ValueError as error:
        parser.error(str(error))
    return scheduler.run()


def _work(args: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s")
    try:
        worker = Worker(
            args.dsn,
            args.handlers,
            name=args.name,
            queue=args.queue,
            lease=args.lease,
            slots=args.slots,
            prefetch=args.prefetch,
            poll=args.poll,
            heartbeat_every=args.heartbeat_every,
            reclaim_every=args.reclaim_every,
            grace=args.grace,
        )
    except ValueError as error:
        parser.error(str(error))
    code = worker.run()
    if code == FORCED:
        # Handlers are still running; nothing that they hold may keep the process.
        logging.shutdown()
        sys.stdout.flush()
        os._exit(code)
    return code


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--dsn",
        default=os.environ.get("DATABASE_URL", ""),
        help="URL or key=value pairs, as for libpq; default: $DATABASE_URL, else libpq's own ($PGHOST, ...)",
    )
    parser = argparse.ArgumentParser(prog="python -m queue_core", description="A small job queue in PostgreSQL.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, about: str, example: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name, parents=[common], help=about, description=about, epilog=f"example: python -m queue_core {example}"
        )

    command("install", "create the tables, their constraints and their indexes, where missing", "install")

    enqueue = command("enqueue", "put a job in and print its id", """enqueue email '{"to": "ada"}' --delay 60""")
    enqueue.add_argument("kind", help="names the handler")
    enqueue.add_argument("payload", nargs="?", type=_json, default={}, help="JSON; default: {}")
    enqueue.add_argument("--queue", default="default", help="default: %(default)s")
    enqueue.add_argument("--priority", type=int, default=0, help="higher goes first; default: %(default)s")
    enqueue.add_argument("--delay", type=_seconds, default=0.0, help="seconds before it is due; default: none")
    enqueue.add_argument("--max-attempts", type=_positive, default=3, help="default: %(default)s")

    worker = command("worker", "run jobs until SIGTERM", "worker --handlers myapp.jobs --slots 4")
    worker.add_argument(
        "--handlers",
        type=_handlers,
        required=True,
        help="module with a mapping `handlers`: kind -> function(job, context)",
    )
    worker.add_argument("--name", help="owner of the leases; default: host, pid and a random part")
    worker.add_argument("--queue", default="default", help="default: %(default)s")
    worker.add_argument("--lease", type=_seconds, default=30.0, help="seconds; default: %(default)s")
    worker.add_argument("--slots", type=_positive, default=1, help="jobs at a time; default: %(default)s")
    worker.add_argument("--prefetch", type=int, default=0, help="jobs claimed ahead; default: %(default)s")
    worker.add_argument("--poll", type=_seconds, default=1.0, help="seconds; default: %(default)s")
    worker.add_argument(
        "--heartbeat-every", type=_interval, default="auto", help="seconds; default: a third of the lease"
    )
    worker.add_argument(
        "--reclaim-every", type=_interval_or_off, default="auto", help="seconds, or off; default: half the lease"
    )
    worker.add_argument("--grace", type=_seconds, help="seconds from SIGTERM to a forced stop; default: no limit")

    reclaim = command("reclaim", "take back jobs whose lease expired, print the ids put back", "reclaim --limit 100")
    reclaim.add_argument("--limit", type=_positive, default=1000, help="default: %(default)s")

    scheduler = command("scheduler", "enqueue recurring jobs until SIGTERM", "scheduler --schedules myapp.jobs")
    scheduler.add_argument(
        "--schedules", type=_schedules, required=True, help="module with a sequence `schedules` of Schedule"
    )
    scheduler.add_argument("--name", help="names the connection; default: host, pid and a random part")
    scheduler.add_argument("--poll", type=_seconds, default=1.0, help="seconds; default: %(default)s")
    scheduler.add_argument(
        "--catch-up", type=_seconds, default=600.0, help="how old a tick may be, in seconds; default: %(default)s"
    )
    scheduler.add_argument(
        "--patience",
        type=_seconds,
        default=30.0,
        help="seconds that a silent leader leads on; default: %(default)s",
    )

    purge = command("purge", "delete jobs a while after their end, print how many", "purge --done-after 86400")
    purge.add_argument(
        "--done-after", type=_seconds, default=604_800.0, help="seconds that done jobs are kept; default: a week"
    )
    purge.add_argument("--failed-after", type=_seconds, help="seconds that failed jobs are kept; default: for ever")
    purge.add_argument("--batch", type=_positive, default=1000, help="rows a transaction; default: %(default)s")

    stats = command("stats", "print the figures to watch", "stats --alarm-oldest 60")
    form = stats.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as one JSON object")
    form.add_argument("--prometheus", action="store_true", help="in Prometheus' text form")
    alarm = stats.add_argument_group("alarms", "where a figure is above its limit: words on stderr, and exit code 1")
    alarm.add_argument("--alarm-depth", type=_whole, metavar="JOBS", help="jobs queued")
    alarm.add_argument("--alarm-oldest", type=_seconds, metavar="SECONDS", help="wait of a due job")
    alarm.add_argument("--alarm-silence", type=_seconds, metavar="SECONDS", help="with work to do and none of it done")
    alarm.add_argument("--alarm-expired", type=_whole, metavar="JOBS", help="jobs running under an expired lease")
    alarm.add_argument("--alarm-failed", type=_whole, metavar="JOBS", help="failed jobs kept")
    return parser


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds


def _interval(text: str) -> float | str:
    return text if text == "auto" else _seconds(text)


def _interval_or_off(text: str) -> float | str | None:
    return None if text == "off" else _interval(text)


def _handlers(name: str) -> Mapping[str, Any]:
    handlers = _from_module(name, "handlers")
    if not isinstance(handlers, Mapping) or not handlers:
        raise argparse.ArgumentTypeError(f"module {name!r} has no mapping `handlers` with something in it")
    return handlers


def _schedules(name: str) -> Sequence[Schedule]:
    schedules = _from_module(name, "schedules")
    if not isinstance(schedules, Sequence) or not all(isinstance(each, Schedule) for each in schedules):
        raise argparse.ArgumentTypeError(f"module {name!r} has no sequence `schedules` of Schedule")
    return schedules


def _from_module(name: str, what: str) -> Any:
    try:
        return getattr(importlib.import_module(name), what, None)
    except (ModuleNotFoundError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from error


if __name__ == "__main__":
    sys.exit(main())
