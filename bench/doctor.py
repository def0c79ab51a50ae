"""What this machine has, what is missing, and how to get it."""

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TextIO

from bench import postgres, services
from bench.stalls import measure


def own_version() -> str:
    """The installed version; a tree that was never installed says so."""
    try:
        return version("leaseproof")
    except PackageNotFoundError:
        return "(not installed)"


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
