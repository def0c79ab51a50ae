"""Every queue that takes part in the drain says in one line what it is and how it is set, without a server."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bench.made import STAMP

SUBJECTS = Path(__file__).parents[2] / "subjects"
DRAINS = sorted([*SUBJECTS.glob("*/drain.py"), *SUBJECTS.glob("*/drain.js")])


def interpreter(drain: Path) -> list[str]:
    """What runs it; skips where that is not here."""
    env = drain.parent / ".env"
    if not (env / STAMP).exists():
        name = drain.parent.name
        pytest.skip(f"the environment of {name} is not made: `leaseproof subject make {name}` makes it")
    if drain.suffix == ".py":
        return [str(env / "bin" / "python"), "-E"]
    node = shutil.which("node")
    return [node] if node else pytest.skip("node is not installed")


@pytest.mark.parametrize("drain", [pytest.param(each, id=each.parent.name) for each in DRAINS])
def test_settings_are_one_line(drain: Path) -> None:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("LEASEPROOF_")}
    argv = [*interpreter(drain), str(drain), "settings"]
    asked = subprocess.run(argv, env=clean, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert asked.returncode == 0, asked.stderr
    assert len(asked.stdout.splitlines()) == 1, asked.stdout
    assert asked.stdout.strip()
