"""A subject's own environment: its `make` commands are run in its folder, and again only when its files have changed.

What they make goes into `{env}`, or to where its tools put it; none of that counts as a file of the subject's, and
neither do programs that are run as they are, nor what is only read by people or by `validate`.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from bench.children import kill_tree
from bench.subject import KNOWN, Subject

STAMP = ".leaseproof-made"
"""In the environment: the hash of what it was made from."""

MADE = frozenset(["node_modules", "target", "__pycache__"])
"""Folders that tools make; what is hidden does not count either."""

READ = frozenset([".py", ".js", ".mjs", ".rb", ".md"])
"""What is read as it is, and made into nothing."""


class MakeError(Exception):
    """A command that failed: names it, and has its last words."""


def is_stale(subject: Subject) -> bool:
    """Whether its environment has to be made: it never was, or a file has changed since."""
    try:
        return bool(subject.make) and (subject.env / STAMP).read_text() != _hash(subject)
    except OSError:
        return True


def make(subject: Subject, out: TextIO, force: bool = False) -> bool:
    """Make its environment if need be; whether anything was done. `out` is told how it goes on. Raises MakeError."""
    name = subject.folder.name
    if not subject.make:
        print(f"{name}: nothing to make", file=out)
        return False
    if not force and not is_stale(subject):
        print(f"{name}: up to date", file=out)
        return False
    stamp = subject.env / STAMP
    stamp.unlink(missing_ok=True)
    for number, command in enumerate(subject.make, start=1):
        argv = subject.argv(command)
        print(f"{name}: {number} of {len(subject.make)}: {' '.join(argv)}", file=out, flush=True)
        since = time.monotonic()
        _run(argv, subject)
        print(f"{name}: done in {time.monotonic() - since:.1f} s", file=out, flush=True)
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(_hash(subject))
    return True


def _run(argv: list[str], subject: Subject) -> None:
    """Run one command to its end, whatever it starts. Raises MakeError."""
    try:
        process = subprocess.Popen(
            argv,
            cwd=subject.folder,
            env=_outside(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise MakeError(f"{subject.name}: {argv[0]} could not be started: {error.strerror}") from error
    try:
        said, _ = process.communicate()
    except BaseException:
        kill_tree(process.pid)
        process.wait()
        raise
    if process.returncode:
        last = "".join(f"\n    {line}" for line in said.splitlines()[-20:])
        raise MakeError(f"{subject.name}: {' '.join(argv)} failed with status {process.returncode}{last}")


def _outside() -> dict[str, str]:
    """The environment outside of the bench's own: an activated one has a python3 of its own, and no pip in it."""
    kept = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")}
    path = kept.get("PATH", os.defpath).split(os.pathsep)
    if sys.prefix != sys.base_prefix:
        path = [each for each in path if Path(each) != Path(sys.executable).parent]
    return {**kept, "PATH": os.pathsep.join(path)}


def _hash(subject: Subject) -> str:
    """Of the commands, as they are run, and of all files that count."""
    found = hashlib.sha256(json.dumps([sys.version, *map(subject.argv, subject.make)]).encode())
    for path in _files(subject.folder):
        found.update(f"\0{path.relative_to(subject.folder)}\0".encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if each not in MADE and not each.startswith("."))
        yield from (Path(here, each) for each in sorted(files) if Path(each).suffix not in READ and each != KNOWN)
