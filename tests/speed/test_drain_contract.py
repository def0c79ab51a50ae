"""Every queue that takes part in the drain says in one line what it is and how it is set, without a server."""

import os
import subprocess
from pathlib import Path

import pytest

from bench import discover
from bench.made import STAMP
from bench.speed.figures import Missing
from bench.speed.programs import program

SUBJECTS = Path(__file__).parents[2] / "subjects"
NAMES = sorted(each.parent.name for each in SUBJECTS.glob("*/drain.*"))


def started_by(name: str) -> list[str]:
    """How its program is started; skips where that can't be done here."""
    subject = discover.subject(name)
    if subject.make and not (subject.env / STAMP).exists():
        pytest.skip(f"the environment of {name} is not made: `make subject-{name}` makes it")
    try:
        return program(subject, "drain")
    except Missing as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_one_line(name: str) -> None:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("LEASEPROOF_")}
    argv = [*started_by(name), "settings"]
    asked = subprocess.run(argv, env=clean, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert asked.returncode == 0, asked.stderr
    assert len(asked.stdout.splitlines()) == 1, asked.stdout
    assert asked.stdout.strip()
