"""What is measured on: a PostgreSQL of the bench's own, set as one for work is, on a disk, with fsync."""

from __future__ import annotations

import itertools
import os
import platform
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench import services
from bench.janitor import MARK
from bench.postgres import PostgresError, binaries, cluster, sql
from bench.postgres.binaries import Binaries
from bench.postgres.cluster import THROWAWAY, Cluster
from bench.rundir import RunDir
from bench.runner import guarded
from bench.services import Services
from bench.speed.figures import Missing

SETTINGS: Mapping[str, str] = {
    **THROWAWAY,
    "max_connections": "200",
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "15min",
    "fsync": "on",
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.track": "none",
    "track_io_timing": "off",
}
"""Of the server: as for work, but that no checkpoint falls into one contender's round and not into another's."""

SERVERS = "auto, embedded or system[:MAJOR]"
"""What can be measured: a server of the bench's own."""


@dataclass(frozen=True)
class Ground:
    """What a measure has: a server, how many `rounds`, and a word with whoever watches.

    `scale` is by what the amounts of work are multiplied: 1 for figures, less to see whether it works at all.
    """

    server: Cluster
    programs: Binaries
    run_dir: RunDir
    services: Services
    rounds: int
    scale: float
    tell: Callable[[str], None]
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def amount(self, full: int, least: int = 1) -> int:
        """So many of something, at this scale."""
        return max(least, round(full * self.scale))

    @contextmanager
    def database(self, synchronous_commit: bool = True) -> Iterator[str]:
        """A fresh database, as a DSN that a superuser has; gone afterwards."""
        dsn = self.server.create_database(f"speed_{next(self.numbers)}")
        try:
            setting = "on" if synchronous_commit else "off"
            with sql.session(dsn) as connection:
                connection.execute(f'ALTER DATABASE "{connection.info.dbname}" SET synchronous_commit = {setting}')
            yield dsn
        finally:
            self.server.drop(dsn)

    @property
    def pgbench(self) -> Path:
        """PostgreSQL's own load generator. Raises Missing."""
        return self._program("pgbench")

    @property
    def psql(self) -> Path:
        """PostgreSQL's own client. Raises Missing."""
        return self._program("psql")

    def _program(self, name: str) -> Path:
        path = self.programs.folder / name
        if not path.exists():
            raise Missing(f"{name} is not beside the server's programs: take --postgres embedded, which has it")
        return path

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """For a process of a measure's: by its mark the janitor finds it, should the bench be killed."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("PG", "LEASEPROOF_"))}
        return {**clean, MARK: self.run_dir.id, **(more or {})}

    def machine(self) -> dict[str, str]:
        """In words, what it was measured on."""
        gib = psutil.virtual_memory().total / 2**30
        return {
            "processor": f"{os.cpu_count()} x {_processor()}",
            "memory": f"{gib:.0f} GiB",
            "system": f"{platform.system()} {platform.release()}",
            "python": platform.python_version(),
            "postgres": f"{self.server.version} ({self.server.kind})",
            "load before": f"{_LOAD:.2f}",
        }


_LOAD = os.getloadavg()[0]


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.machine()


@contextmanager
def ground(
    spec: str, rounds: int, scale: float, tell: Callable[[str], None], needed: tuple[str, ...] = ()
) -> Iterator[Ground]:
    """Set everything up, and leave nothing behind. `needed` services that can't be had are left out.

    Raises PostgresError.
    """
    if not re.fullmatch(r"auto|embedded|system(:\d+)?", spec):
        raise PostgresError(f"speed is measured on a server of the bench's own: give --postgres {SERVERS}")
    with ExitStack() as stack:
        run_dir, janitor = stack.enter_context(guarded(memory=False))
        programs = _find(spec)
        server = cluster.start(programs, run_dir.path, SETTINGS)
        stack.callback(server.stop)
        there = [name for name, found, _ in services.survey() if found and name in needed]
        others = stack.enter_context(services.started(there, {}, run_dir.path, janitor.tell_service))
        yield Ground(server, programs, run_dir, others, rounds, scale, tell)


def _find(spec: str) -> Binaries:
    if spec != "auto":
        return binaries.find(spec)
    try:
        return binaries.find("embedded")
    except PostgresError:
        return binaries.find("system")
