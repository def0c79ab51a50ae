"""Where a real redis, rabbitmq, nats and beanstalkd come from: the bench's own servers, or the user's.

PostgreSQL has a package of its own, `bench.postgres`. The ways are imported when they are asked for.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bench.services.base import NotOurs, Service, ServiceError

if TYPE_CHECKING:
    from bench.services.base import Own
    from bench.services.daemon import Daemon

__all__ = ["NAMES", "OTHERS", "NotOurs", "ServiceError", "Services", "started", "survey", "tidy", "unknown", "variable"]

OTHERS = ("redis", "rabbitmq", "nats", "beanstalkd")
"""What this package starts."""
NAMES = ("postgres", *OTHERS)
"""What a subject can need."""


def unknown(name: str) -> str:
    """What to say of a name that is no service's."""
    near = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.4)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"there is no service {name!r}{hint}; known are {', '.join(NAMES)}"


class Services:
    """What the subject of a run needs besides PostgreSQL, up and running."""

    def __init__(self, members: Sequence[Service] = ()) -> None:
        self.members = members

    @property
    def versions(self) -> dict[str, str]:
        """Of what, and whose, each is, by its name."""
        return {service.name: service.version for service in self.members}

    @contextmanager
    def fresh(self, number: int, stopped: str = "") -> Iterator[tuple[dict[str, str], Daemon | None]]:
        """Something empty of each for one arm, as long as it lasts: what its processes get in their environment.

        The one that the arm means to have `stopped` is a server of its own, which is the second part. Raises
        ServiceError.
        """
        urls: dict[str, str] = {}
        server: Daemon | None = None
        with ExitStack() as stack:
            for each in self.members:
                if each.name == stopped:
                    server = stack.enter_context(each.own(number))
                    urls[variable(each.name)] = server.url
                else:
                    urls[variable(each.name)] = stack.enter_context(each.fresh(number))
            yield urls, server


@contextmanager
def started(
    wanted: Collection[str], urls: Mapping[str, str], run_dir: Path, tell: Callable[[str, str], None]
) -> Iterator[Services]:
    """Those of the known services that are `wanted`, as long as a run lasts. Raises ServiceError.

    The `urls` are the user's, by name; the janitor is told of them before anything is done there.
    """
    members: list[Service] = []
    with ExitStack() as stack:
        for kind in (kind for kind in _kinds() if kind.name in wanted):
            service: Service = kind()
            if url := urls.get(kind.name):
                service = theirs = kind.theirs(url)
                theirs.check()
                tell(kind.name, url)
            service.start(run_dir)
            stack.callback(service.stop)
            members.append(service)
        yield Services(members)


def survey() -> list[tuple[str, bool, str]]:
    """Each service: its name, whether it is to be had here, and the detail or the cure."""
    rows: list[tuple[str, bool, str]] = []
    for kind in _kinds():
        try:
            program = kind.find()
            rows.append((kind.name, True, f"{program} in {program.path.parent}"))
        except ServiceError as error:
            rows.append((kind.name, False, str(error)))
    return rows


def tidy(name: str, url: str, run_id: str) -> None:
    """Take away what a run has left in a server of the user's. Raises ServiceError."""
    (kind,) = (kind for kind in _kinds() if kind.name == name)
    kind.theirs(url).tidy(run_id)


def variable(name: str) -> str:
    """In which a subject's processes find the URL of a service."""
    return f"LEASEPROOF_{name.upper()}"


def _kinds() -> list[type[Own]]:
    from bench.services.beanstalkd import Beanstalkd
    from bench.services.nats import Nats
    from bench.services.rabbitmq import RabbitMQ
    from bench.services.redis import Redis

    return [Redis, RabbitMQ, Nats, Beanstalkd]
