"""The bench's own command, as a measure runs it: a process of its own, with its result."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import discover
from bench.children import how, last_words
from bench.speed.ground import Ground

ENDED_WITHIN = 120.0
"""Seconds that a command has to clean up after an interrupt."""

HAS_RESULT = (0, 1, 3)
"""Exit codes of a run whose result says all; a 4 may be an adapter's fault in one arm, and has one as well."""

REFUSED = 2
"""Exit code of a command that was not taken up, as for a lease that is too short for this machine."""


class CommandFailed(Exception):
    """The bench's own command has no result: says how it ended, and has its last words."""


class Refused(CommandFailed):
    """The command was not taken up."""


@dataclass(frozen=True)
class Ran:
    """One run of the command: `data` is its result, `seconds` is how long the process lived, `out` where all is."""

    data: dict[str, Any]
    seconds: float
    out: Path

    @property
    def arms(self) -> list[dict[str, Any]]:
        return [arm for scenario in self.data["scenarios"] for arm in scenario["arms"]]

    def discard(self) -> None:
        """Remove what it left on the disk."""
        shutil.rmtree(self.out)


def leaseproof(ground: Ground, *words: str) -> Ran:
    """Run a command of the bench's that has a result. Raises Refused and CommandFailed."""
    out = ground.run_dir.folder(f"own-{time.monotonic_ns()}")
    log = out / "log"
    where = ground.programs.kind if ground.programs.kind == "embedded" else f"system:{ground.programs.major}"
    argv = [sys.executable, "-m", "bench.cli", *words, "--json", "--plain", "--postgres", where, "--out", str(out)]
    began = time.monotonic()
    with log.open("wb") as file:
        environment = ground.environment({"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"})
        process = subprocess.Popen(
            argv, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file
        )
    try:
        status = process.wait()
    finally:
        end(process)
    seconds = time.monotonic() - began
    path = out / "result.json"
    if not path.exists():
        error = Refused if status == REFUSED else CommandFailed
        raise error(f"leaseproof {' '.join(words)} ended {how(status)}{last_words(log)}")
    return Ran(json.loads(path.read_text(encoding="utf-8")), seconds, out)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a command that still runs, as a Ctrl-C would: it leaves nothing behind then."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(ENDED_WITHIN)
        process.kill()
        process.wait()


def matrix(ground: Ground) -> Sequence[str]:
    """The command for the whole matrix; at a smaller scale for its first scenarios, so many as there is scale."""
    names = [scenario.name for scenario in discover.scenarios()]
    some = names[: ground.amount(len(names))]
    return ["matrix"] if some == names else ["run", *some]


ROOT = Path(__file__).resolve().parents[2]
"""The repository, or where it was installed."""
