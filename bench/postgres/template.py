"""A pristine data folder, kept in the user's cache: copying it is faster than making it anew."""

import hashlib
import os
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path

from bench.postgres.account import Account
from bench.postgres.base import PostgresError
from bench.postgres.binaries import Binaries

ROLE = "leaseproof"
INITDB = ("--no-sync", "--locale=C", "--encoding=UTF8", "--wal-segsize=1", f"--username={ROLE}")
_STALE = 3600
"""seconds after which a half-made copy in the cache belongs to nobody any more"""


def path(binaries: Binaries, account: Account) -> Path:
    """Where the template for these programs lies, if there is one."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "leaseproof"
    arguments = hashlib.sha256(" ".join(INITDB).encode()).hexdigest()[:8]
    return cache / f"{binaries.kind}-{binaries.version}-{account.name}-{arguments}"


def make(binaries: Binaries, account: Account, home: Path, env: dict[str, str]) -> None:
    """Makes `data` and `password` (the first one of the superuser) in an empty home. Raises PostgresError."""
    password = home / "password"
    password.touch(mode=0o600)
    password.write_text(secrets.token_hex(16))
    account.own(home)
    security = ("--auth=scram-sha-256", f"--pwfile={password}")
    made = account.run([binaries.folder / "initdb", *INITDB, *security, "-D", home / "data"], env)
    if made.returncode:
        raise PostgresError(f"initdb of PostgreSQL {binaries.version} failed: {made.stderr.strip()}")


def copy(template: Path, account: Account, home: Path) -> bool:
    """Fills an empty home from the template; False, and the home still empty, where there is none."""
    try:
        shutil.copytree(template, home, dirs_exist_ok=True)
    except OSError:
        # There was none, or another bench took it away under our hands; what else is wrong, initdb will tell.
        empty(home)
        return False
    account.own(home)
    return True


def keep(home: Path, template: Path) -> None:
    """Puts a copy of a pristine home into the cache, whole or not at all; the first of several wins."""
    partial = template.with_name(f"{template.name}.partial-{secrets.token_hex(4)}")
    # The cache only saves time: without one (no home, disk full) each cluster is made anew.
    with suppress(OSError):
        template.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in template.parent.glob("*.partial-*"):
            if time.time() - old.stat().st_mtime > _STALE:
                shutil.rmtree(old)
        shutil.copytree(home, partial)
        partial.chmod(0o700)
        partial.rename(template)
    shutil.rmtree(partial, ignore_errors=True)


def discard(template: Path) -> None:
    """Takes a broken template away."""
    broken = template.with_name(f"{template.name}.partial-{secrets.token_hex(4)}")
    # Renamed first, so that no other bench copies half of it.
    with suppress(FileNotFoundError):
        template.rename(broken)
        shutil.rmtree(broken)


def empty(home: Path) -> None:
    """Removes what is in a folder, but not the folder."""
    for entry in home.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
