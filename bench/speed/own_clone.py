"""From `make scenario-worker-death` in a fresh clone to the first observation, by the stamps of what it leaves."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.children import how, last_words
from bench.history import load
from bench.speed.command import ROOT, end
from bench.speed.figures import Cell, Chart, Contender, Missing, Point, Sample, Table, alternate, spread
from bench.speed.ground import Ground

SCENARIO, ARM, FIRST = "worker-death", "sound-fault", "dying"
"""What is run, and the arm and the worker by which it is told."""

PARTS = {
    "environment": "the environment is made: pip installs what is needed",
    "command": "the command is imported, and looks how much the machine stalls",
    "server": "the server is started, the workers' nursery too, and the arm's database made",
    "workers": "the control process makes the schema, and the first worker takes jobs",
    "observation": "a job is put in and started, at half a lease its worker is killed, and the first observation made",
}
"""The parts of the way, in order."""


def measured(ground: Ground) -> list[Sample]:
    """A fresh clone a round: seconds of each part, and `all`. Raises Missing where none can be made here."""
    for program in ("git", "make"):
        if shutil.which(program) is None:
            raise Missing(f"{program} is not installed")
    if not (ROOT / ".git").exists():
        raise Missing(f"{ROOT} is no clone itself")
    contender = Contender("a fresh clone", f"make scenario-{SCENARIO}", lambda: _take(ground))
    return alternate([contender], ground.rounds, ground.tell)


def _take(ground: Ground) -> dict[str, float]:
    folder = ground.run_dir.folder(f"clone-{time.monotonic_ns()}")
    clone = folder / "leaseproof"
    subprocess.run(["git", "clone", "-q", ROOT, clone], env=ground.environment(), check=True)
    try:
        began = time.time()  # as files are stamped
        _make(ground, clone, folder / "log")
        return parts(clone, clone / "output", began)
    finally:
        shutil.rmtree(folder)


def _make(ground: Ground, clone: Path, log: Path) -> None:
    mine = Path(sys.executable).parent  # an environment's Python can't make another one's without pip
    path = os.pathsep.join(part for part in os.environ.get("PATH", "").split(os.pathsep) if Path(part) != mine)
    with log.open("wb") as file:
        process = subprocess.Popen(
            ["make", f"scenario-{SCENARIO}", "ARGS=--plain --out output"],
            cwd=clone,
            env=ground.environment({"PATH": path}),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
    try:
        status = process.wait()
    finally:
        end(process)
    if status:
        raise Missing(f"make ended {how(status)}{last_words(log)}")


def parts(clone: Path, out: Path, began: float) -> dict[str, float]:
    """How long each part of the way took, in seconds, of a run that `began` at this time of the clock.

    The environment's stamp is make's own; the run began as long before its result was written as that says. Logs are
    made when their process is started, and nothing is written into those that are looked at.
    """
    result = out / "result.json"
    wall: float = json.loads(result.read_text(encoding="utf-8"))["wall_seconds"]
    events = load(out / SCENARIO / f"{ARM}.jsonl")

    def at(event: str) -> float:
        return float(next(e["t"] for e in events if e["event"] == event and e.get("worker", FIRST) == FIRST))

    logs = out / SCENARIO / ARM
    origin = _stamp(logs / f"{FIRST}.log") - at("spawned")  # of the arm's own clock
    stamps = [
        began,
        _stamp(clone / ".venv" / "bin" / ".run"),
        _stamp(result) - wall,
        _stamp(logs / "control.log"),
        origin + at("ready"),
        origin + at("observation"),
    ]
    seconds = {name: after - before for name, before, after in zip(PARTS, stamps, stamps[1:], strict=False)}
    return seconds | {"all": stamps[-1] - began}


def _stamp(path: Path) -> float:
    return path.stat().st_mtime


def table(samples: Sequence[Sample]) -> Table:
    """The parts of the way, and all of it."""
    rows: list[Sequence[Cell]] = []
    for name, about in {**PARTS, "all": "from make to the first observation"}.items():
        of = spread(samples, samples[0].contender, name)
        rows.append([name, of.middle, of.low, of.high, about])
    note = "What pip has fetched before, and the server's first set-up, are taken from this machine's caches."
    return Table(f"make scenario-{SCENARIO} in a fresh clone", ("", "s", "from", "to", "what happens"), rows, note)


def chart(samples: Sequence[Sample]) -> Chart:
    points = [Point(name, spread(samples, samples[0].contender, name)) for name in PARTS]
    title = "From make in a fresh clone to the first observation"
    return Chart("own-clone", title, "s", "bars", {"seconds": points})
