"""Queues whose workers drain no-op jobs: the program `drain.py` or `drain.js` in a subject's folder."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from bench import discover
from bench.children import kill_tree
from bench.services import variable
from bench.speed.figures import AGAIN, Contender, Missing
from bench.speed.ground import Ground
from bench.speed.programs import program
from bench.subject import Subject

WITHIN = 300.0
"""Seconds that a round may take before a queue is said to hang."""
LOOK_EVERY = 0.05
"""Seconds between looks at how far the workers are."""
LASTS = 2.0
"""Seconds that a round is meant to last: so many jobs are put in."""
PILOT = 300
"""Jobs of the round by which that is found out."""
MOST = 200_000
"""Jobs of a round at most."""


class DrainError(Exception):
    """A drain went wrong: names the queue and has its last words."""


@dataclass(frozen=True)
class Setting:
    """How a drain is done: worker processes, jobs a claim (None: the queue's documented best), and durability."""

    workers: int = 1
    batch: int | None = None
    synchronous_commit: bool = False

    @property
    def words(self) -> str:
        workers = f"{self.workers} worker{'s' if self.workers > 1 else ''}"
        batch = [] if self.batch is None else [f"batch {self.batch}"]
        return ", ".join([workers, *batch, f"synchronous_commit {'on' if self.synchronous_commit else 'off'}"])


class Drain:
    """A queue of `subjects`, as its program has it. Raises Missing where it can't run here."""

    def __init__(self, ground: Ground, name: str) -> None:
        self._ground = ground
        self.subject: Subject = discover.subject(name)
        self._argv = program(self.subject, "drain")
        missing = [each for each in self.subject.services if each not in _there(ground)]
        if missing:
            raise Missing(f"{name} needs {', '.join(missing)}: `leaseproof doctor` says how to get it")
        self.settings = self._ask({}, "settings").strip()

    def contender(self, setting: Setting, jobs: int, again: bool = False) -> Contender:
        """It, with so many jobs in a round; or the second of it, by which noise is told."""
        name = self.subject.name + (AGAIN if again else "")
        settings = self.settings if setting.batch is None else self._ask(_batch(setting), "settings").strip()
        return Contender(name, settings, lambda: self.drain(setting, jobs))

    def amount(self, setting: Setting) -> int:
        """How many jobs take it about LASTS, at the scale of the measure."""
        jobs = PILOT
        while (took := self.drain(setting, jobs)["seconds"]) < LASTS / 4 and jobs < MOST:
            jobs *= 5
        return self._ground.amount(min(MOST, round(jobs / took * LASTS)), PILOT)

    def drain(self, setting: Setting, jobs: int) -> dict[str, float]:
        """Of so many jobs that were put in before: the `rate` a second from the first start to the last end, and the
        `seconds` from the word go until no job was left to start."""
        with self._place(setting) as env, ExitStack() as stack:
            self._ask(env, "fill", str(jobs))
            workers = [stack.enter_context(self._worker(env)) for _ in range(setting.workers)]
            began = time.monotonic()
            for worker in workers:
                worker.say("go")
            deadline = began + WITHIN
            while _jobs(tallies := [worker.tally() for worker in workers]) < jobs:
                if time.monotonic() > deadline:
                    raise DrainError(f"{self.subject.name} did not run its {jobs} jobs in {WITHIN:g} s: {tallies}")
                time.sleep(LOOK_EVERY)
            seconds = time.monotonic() - began
            while left := int(self._ask(env, "left")):
                if time.monotonic() > deadline:
                    raise DrainError(f"{self.subject.name} ran its jobs, and {left} of them are not done")
                time.sleep(LOOK_EVERY)
        first = min(tally["first"] for tally in tallies if tally["first"] is not None)
        last = max(tally["last"] for tally in tallies if tally["last"] is not None)
        return {"rate": jobs / (last - first) * 1e9, "seconds": seconds, "jobs": jobs}

    @contextmanager
    def _place(self, setting: Setting) -> Iterator[dict[str, str]]:
        with ExitStack() as stack:
            env = _batch(setting)
            if "postgres" in self.subject.services:
                dsn = stack.enter_context(self._ground.database(setting.synchronous_commit))
                env["LEASEPROOF_POSTGRES"] = dsn
            urls, _ = stack.enter_context(self._ground.services.fresh(next(self._ground.numbers)))
            yield env | {name: url for name, url in urls.items() if name in map(variable, self.subject.services)}

    def _ask(self, env: Mapping[str, str], *command: str) -> str:
        done = subprocess.run(
            [*self._argv, *command],
            env=self._ground.environment(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WITHIN,
        )
        if done.returncode:
            raise DrainError(f"{self.subject.name}: drain {' '.join(command)} failed: {done.stderr.strip()[-2000:]}")
        return done.stdout

    @contextmanager
    def _worker(self, env: Mapping[str, str]) -> Iterator[_Worker]:
        log = self._ground.run_dir.path / f"{self.subject.name}.log"
        with log.open("ab") as stderr:
            process = subprocess.Popen(
                [*self._argv, "work"],
                env=self._ground.environment(env),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                bufsize=1,
            )
        try:
            assert process.stdin  # they are pipes
            assert process.stdout
            worker = _Worker(self.subject.name, process.stdin, process.stdout, log)
            worker.hear("ready")
            yield worker
        finally:
            kill_tree(process.pid)
            process.wait()


@dataclass(frozen=True)
class _Worker:
    name: str
    stdin: IO[str]
    stdout: IO[str]
    log: Path

    def say(self, word: str) -> None:
        self.stdin.write(word + "\n")
        self.stdin.flush()

    def hear(self, word: str = "") -> str:
        line = self.stdout.readline()
        if not line or (word and line.strip() != word):
            tail = self.log.read_text(errors="replace").strip()[-2000:]
            raise DrainError(f"a worker of {self.name} {'died' if not line else f'said {line!r}'}: {tail}")
        return line

    def tally(self) -> dict[str, Any]:
        with suppress(BrokenPipeError):  # it has died, which hear() tells
            self.say("tally")
        told: dict[str, Any] = json.loads(self.hear())
        return told


def _jobs(tallies: Iterable[Mapping[str, Any]]) -> int:
    return sum(tally["jobs"] for tally in tallies)


def _batch(setting: Setting) -> dict[str, str]:
    return {"LEASEPROOF_BATCH": "" if setting.batch is None else str(setting.batch)}


def _there(ground: Ground) -> set[str]:
    return {"postgres", *(service.name for service in ground.services.members)}
