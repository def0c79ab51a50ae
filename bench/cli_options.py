"""The options that commands share, and what a run is given by them."""

import argparse
import os
import random
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from bench import discover, runner, services
from bench.subject import PROFILES


class Usage(Exception):
    """Wrong usage: names the thing and the cure."""


def outputs(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON instead of text")
    command.add_argument("--plain", action="store_true", help="no colour, no live drawing, ASCII signs only")


def server(command: argparse.ArgumentParser) -> None:
    default = os.environ.get("LEASEPROOF_POSTGRES", "auto")
    command.add_argument(
        "--postgres",
        default=default,
        metavar="WHERE",
        help="auto, embedded, system[:MAJOR], docker[:image] or a DSN (default: $LEASEPROOF_POSTGRES or auto)",
    )


def places(command: argparse.ArgumentParser, profiles: Sequence[str] = PROFILES, profile: str = PROFILES[-1]) -> None:
    """Where it runs, and on which profile of the subject's."""
    server(command)
    command.add_argument(
        "--service",
        action="append",
        type=_service,
        default=[],
        metavar="NAME=URL",
        help="yours, where the subject needs one, as redis=redis://host or rabbitmq=amqp://user:password@host; "
        "may be repeated (default: $LEASEPROOF_REDIS, $LEASEPROOF_RABBITMQ, or one that the bench starts)",
    )
    command.add_argument(
        "--profile",
        choices=profiles,
        default=profile,
        help=f"the subject's own defaults, or tuned for the lease (default: {profile})",
    )
    command.add_argument("--lease", type=_seconds, default=1.0, metavar="S", help="the lease L in seconds (default: 1)")
    command.add_argument("--out", type=Path, metavar="DIR", help="for the results (default: leaseproof-runs/<time>)")


def running(command: argparse.ArgumentParser) -> None:
    places(command)
    amounts(command)
    command.add_argument("--article", action="store_true", help="the article's own seconds where a scenario has them")
    command.add_argument("--full", action="store_true", help="load scenarios at their full size (5,000 jobs, ...)")
    command.add_argument(
        "--arms",
        action="append",
        default=[],
        metavar="ARM",
        help="only these arms: an id, or sound, twin, fault, sham, or a twin's name; may be repeated",
    )
    command.add_argument(
        "--subject", default="queue_core", help="a folder in subjects/, or a path (default: queue_core)"
    )
    command.add_argument("--cold", action="store_true", help="start each worker afresh instead of forking a warm one")
    watching(command)
    outputs(command)


def validating(command: argparse.ArgumentParser) -> None:
    places(command, (*PROFILES, "all"), "all")
    amounts(command)
    command.set_defaults(article=False, full=False, cold=False)
    watching(command)
    outputs(command)


def watching(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--watch",
        action="store_true",
        help="a terminal draws how it goes on, with the time left; with this a log has it, too: at each tenth of the "
        "run, instead of a line an arm",
    )


def amounts(command: argparse.ArgumentParser) -> None:
    """How long and how much at once, and whether at all."""
    command.add_argument(
        "--longest",
        type=_seconds,
        default=60.0,
        metavar="S",
        help="the longest recovery to wait for, of a queue that takes longer by its own word (default: 60)",
    )
    at_once(command)
    command.add_argument("--seed", type=int, default=None, help="for the backoff's jitter; recorded in the results")
    command.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")


def at_once(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--jobs",
        type=_count,
        default=None,
        metavar="N",
        help="arms at once (default: 4 for each CPU); of those that mostly wait, up to five times as many",
    )


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 3600:
        raise argparse.ArgumentTypeError(f"{text} is not a lease: it is more than 0 s and less than an hour")
    return value


def _service(text: str) -> tuple[str, str]:
    name, _, url = text.partition("=")
    if name == "postgres":
        raise argparse.ArgumentTypeError("PostgreSQL is given with --postgres")
    if name not in services.OTHERS:
        raise argparse.ArgumentTypeError(services.unknown(name))
    if not url:
        raise argparse.ArgumentTypeError(f"{name} has no URL: give {name}=URL")
    return name, url


def _count(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text} is not a number of arms from 1 to 100")
    return value


def settings(options: argparse.Namespace, needed: Sequence[str] | None = None) -> runner.Settings:
    """What a run is given. `needed` are the services that its subjects need, if it has several."""
    if not options.postgres:
        raise Usage("--postgres is empty: give auto, embedded, system[:MAJOR], docker[:image] or a DSN")
    jobs = {} if options.jobs is None else {"jobs": options.jobs}
    subject = discover.subject(options.subject)
    who = (subject.name, subject.services) if needed is None else ("what you validate", needed)
    return runner.Settings(
        subject=subject,
        out=options.out or Path("leaseproof-runs") / datetime.now().strftime("%Y-%m-%d-%H%M%S"),
        postgres=options.postgres,
        lease=options.lease,
        article=options.article,
        full=options.full,
        longest=options.longest,
        cold=options.cold,
        services=_services(*who, dict(options.service)),
        profile=options.profile,
        given=options.subject,
        seed=random.SystemRandom().randrange(2**31) if options.seed is None else options.seed,
        **jobs,
    )


def _services(who: str, needed: Sequence[str], given: dict[str, str]) -> dict[str, str]:
    """URLs of the user's own, by name: those that are given, and those in the environment that are needed."""
    for name in given:
        if name not in needed:
            raise Usage(f"{who} needs no {name}: its services are {', '.join(needed)}")
    found = {name: os.environ.get(services.variable(name), "") for name in services.OTHERS if name in needed}
    return {name: url for name, url in {**found, **given}.items() if url}
