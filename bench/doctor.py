"""What this machine has, what is missing, and how to get it."""

import json
import platform
import shutil
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TextIO

from bench import postgres, services
from bench.stalls import measure

PROGRAMS = (
    (("node", "npm"), "for subjects in JavaScript", "apt-get install nodejs npm, or nodejs.org"),
    (("go",), "for subjects in Go", "apt-get install golang-go, or go.dev"),
    (("ruby", "gem"), "for subjects in Ruby", "apt-get install ruby"),
    (("java", "javac"), "for subjects in Java", "apt-get install default-jdk-headless"),
    (("python3.12",), "for the subject oban", "apt-get install python3.12, or pyenv"),
    (
        ("chromium", "chromedriver"),
        "for the pictures, and the tests of the page",
        "apt-get install chromium chromium-driver",
    ),
)
"""What only some parts need: the programs, the part, and where they are to be had."""


def own_version() -> str:
    """The installed version; a tree that was never installed says so."""
    try:
        return version("leaseproof")
    except PackageNotFoundError:
        return "(not installed)"


def _found(names: Sequence[str], cure: str) -> tuple[bool, str]:
    """Whether all of these programs are there; and where, or how to get them."""
    paths = [shutil.which(name) for name in names]
    return all(paths), ", ".join(filter(None, paths)) if all(paths) else cure


def report(out: TextIO, as_json: bool) -> int:
    """Print a line for each need; 0 when the matrix can run here, 4 when it can't."""
    ways = postgres.survey()
    others = services.survey()
    python = sys.version_info >= (3, 11)
    stall = measure(0.5)
    lines = [
        ("Python 3.11 or newer", python, platform.python_version()),
        ("Linux (macOS should work, and is untested)", sys.platform == "linux", platform.platform(terse=True)),
        *((f"PostgreSQL, {way} (any one will do)", usable, detail) for way, usable, detail in ways),
        *((f"{name}, for subjects that need it", usable, detail) for name, usable, detail in others),
        *((f"{' and '.join(names)}, {part}", *_found(names, cure)) for names, part, cure in PROGRAMS),
        ("a machine that keeps time", stall < 0.1, f"longest stall {stall * 1000:.0f} ms in half a second"),
    ]
    ready = python and any(usable for _, usable, _ in ways)
    if as_json:
        checks = [{"need": need, "ok": usable, "detail": detail} for need, usable, detail in lines]
        print(json.dumps({"ready": ready, "checks": checks}, indent=1), file=out)
    else:
        for need, usable, detail in lines:
            print(f"{'ok     ' if usable else 'missing'}  {need}: {detail}", file=out)
        print("\nready: `make matrix` can run here" if ready else "\nnot ready: see what is missing above", file=out)
    return 0 if ready else 4
