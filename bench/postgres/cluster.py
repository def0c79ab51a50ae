"""A throwaway server of our own, on loopback, from programs on this machine."""

import os
import secrets
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from bench.ports import free_ports
from bench.postgres import account, halt, sql, template
from bench.postgres.account import Account
from bench.postgres.base import PostgresError, Server
from bench.postgres.binaries import Binaries

STARTUP = 30.0
"""seconds that a server may take to accept connections"""
PORTS = 5
"""how many ports to try, should others take them between our choice and the server's"""

# The pools of some queues are ten connections a process, and forty arms of them run at once where they mostly wait.
# A killed process loses nothing without fsync, and synchronous_commit keeps every acknowledged commit. Full pages are
# written, since a kill -9 tears a write in two where files are kept in pages of 4 KiB, as in /dev/shm.
THROWAWAY = {
    "max_connections": "1000",
    "shared_buffers": "32MB",
    "fsync": "off",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
_LOCAL = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "dynamic_shared_memory_type": "mmap",  # leaves nothing in /dev/shm after a kill
    "log_line_prefix": "%m [%p] ",
    "lc_messages": "C",
}


class Cluster(Server):
    """A server that the bench owns, in one folder: `data`, `log`."""

    def __init__(
        self, binaries: Binaries, who: Account, home: Path, env: dict[str, str], settings: Mapping[str, str]
    ) -> None:
        self.kind = binaries.kind
        self.version = binaries.version
        self.data = home / "data"
        self.log = home / "log"
        self._binaries = binaries
        self._account = who
        self._home = home
        self._env = env
        self._given = settings
        self._port = 0
        self._admin = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._settings: dict[str, str] = {}

    def postmaster(self) -> int | None:
        """The pid in postmaster.pid: who leads the server now, even after a restart by others."""
        return halt.read_pid_file(self.data / "postmaster.pid")[0]

    def launch(self) -> None:
        """Starts the postmaster over the data as it is, on the same port as before, and waits until it accepts.

        For a server that was killed or stopped. Raises PostgresError with the end of the server's log.
        """
        if self._process:
            self._process.poll()  # reaps a killed postmaster: while it is a zombie, the next one takes it for alive
        command: list[str | Path] = [self._binaries.folder / "postgres", "-D", self.data]
        # The kernel sends this signal when the spawning thread ends, so only the main thread may ask for it.
        if threading.current_thread() is threading.main_thread() and shutil.which("setpriv"):
            command = ["setpriv", "--pdeathsig", "QUIT", *command]
        with self.log.open("ab") as log:
            process = self._process = self._account.spawn(command, self._env, log)
        deadline = time.monotonic() + STARTUP
        while not self._accepts(process.pid):
            if process.poll() is not None:
                raise PostgresError(f"PostgreSQL {self.version} ended while starting: {self._end_of_log()}")
            if time.monotonic() > deadline:
                self._end()
                raise PostgresError(f"PostgreSQL {self.version} took over {STARTUP:g} s to start: {self._end_of_log()}")
            time.sleep(0.005)

    def started(self) -> datetime:
        """When the postmaster was started, by the server's own word. Raises PostgresError where it does not answer."""
        return sql.postmaster_start(self._admin)

    def abort(self) -> int | None:
        """An immediate shutdown, after which `launch` has to recover. The postmaster's wait status; None: it lives."""
        halt.abort(self.data)
        return self._process.poll() if self._process else None

    def crash(self) -> int | None:
        """kill -9 of all its processes in one moment. The postmaster's wait status; None: it lives."""
        halt.crash(self.data)
        return self._process.poll() if self._process else None

    def create_database(self, name: str) -> str:
        return sql.create_database(self._admin, name)

    def private(self, run_dir: Path) -> "Cluster":
        return _new(self._binaries, self._account, run_dir, self._env, self._given)

    def drop(self, dsn: str) -> None:
        sql.drop_database(self._admin, dsn)

    def describe(self) -> dict[str, str]:
        return {"kind": self.kind, "version": self.version, "account": self._account.name, **self._settings}

    def stop(self) -> None:
        self._end()
        if self._home.exists():
            shutil.rmtree(self._home)

    def start(self) -> None:
        """Starts a server that never ran: chooses its port, and gives it a password of its own."""
        (self.data / "pg_hba.conf").write_text("host all all 127.0.0.1/32 scram-sha-256\n")
        for attempt in range(1, PORTS + 1):
            self._port = free_port()
            self._configure()
            try:
                self.launch()
                break
            except PostgresError:
                if attempt == PORTS or "Address already in use" not in self.log.read_text():
                    raise
                self.log.unlink()
        # Whoever can read the template knows its password, so each cluster gets another.
        first = self._home / "password"
        self._admin = sql.change_password(sql.as_url({**address(self._port), "password": first.read_text()}))
        first.unlink()
        with sql.session(self._admin) as connection:
            self._settings = sql.settings(connection)

    def _configure(self) -> None:
        values = {**self._given, **_LOCAL, "port": str(self._port)}
        if self._binaries.major >= 16:
            values["scram_iterations"] = "1"  # the password is random: stretching it only slows each connection
        lines = [f"{key} = '{value}'\n" for key, value in values.items()]
        (self.data / "postgresql.conf").write_text("".join(lines))

    def _accepts(self, pid: int) -> bool:
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > 7 and lines[0] == str(pid) and lines[7].strip() == "ready"

    def _end(self) -> None:
        halt.halt(self.data)
        if self._process:
            self._process.kill()  # a no-op unless it never came so far as to be a server
            self._process.wait()
            self._process = None

    def _end_of_log(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-5:])


def start(binaries: Binaries, run_dir: Path, settings: Mapping[str, str] = THROWAWAY) -> Cluster:
    """A new cluster in a folder of its own below `run_dir`; or PostgresError, and nothing left."""
    who = account.choose(binaries)
    binaries = who.reachable(binaries, run_dir)
    env = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
    env["LEASEPROOF_RUN"] = run_dir.name  # by this the janitor finds what never came so far as postmaster.pid
    return _new(binaries, who, run_dir, env, settings)


def _new(binaries: Binaries, who: Account, run_dir: Path, env: dict[str, str], settings: Mapping[str, str]) -> Cluster:
    home = who.home(run_dir, f"postgres-{secrets.token_hex(3)}")
    cluster = Cluster(binaries, who, home, env, settings)
    kept = template.path(binaries, who)
    try:
        if template.copy(kept, who, home):
            try:
                cluster.start()
                return cluster
            except (PostgresError, OSError):
                # A template that does not start is broken: make another.
                cluster.stop()
                template.discard(kept)
                home.mkdir(mode=0o700)
        template.make(binaries, who, home, env)
        template.keep(home, kept)
        cluster.start()
    except BaseException:
        cluster.stop()
        raise
    return cluster


def address(port: int) -> dict[str, object]:
    """Where, and as whom, the bench administers a server of its own."""
    return {"host": "127.0.0.1", "port": port, "user": template.ROLE, "dbname": "postgres"}


def free_port() -> int:
    """A loopback port that nobody has right now."""
    return free_ports(1)[0]
