"""Runs arms side by side on one server, tries the inconclusive ones again, and writes down what came out."""

import itertools
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bench import clock, postgres, result
from bench.arms import run_arm
from bench.children import Launcher
from bench.history import Event, History, dump
from bench.janitor import Janitor
from bench.nursery import Nursery
from bench.postgres import Server, Unavailable
from bench.result import ArmResult, ScenarioResult
from bench.rundir import RunDir, sweep
from bench.scenario import Arm, Scenario
from bench.stage import Stage
from bench.stalls import StallMeter
from bench.subject import Subject
from bench.twins import Difference, TwinError, difference
from bench.verdict import judge
from bench.witness import Witness

if TYPE_CHECKING:
    from bench.postgres.cluster import Cluster

TRIES = 3
"""An inconclusive arm is tried again at most twice, each time with a lease twice as long."""


CLEAN_WITHIN = 60.0
"""Seconds that the janitor may take; it is done in well under one."""


class Watcher(Protocol):
    """Is told how a run goes on, from several threads."""

    def arm_started(self, scenario: str, arm: str, history: Callable[[], list[Event]]) -> None: ...
    def arm_ended(self, scenario: str, arm: str, verdict: str, as_expected: bool) -> None: ...


@dataclass(frozen=True)
class Settings:
    """What a run is given. `lease` is in seconds, `jobs` is how many arms run at once; `cold` forks no warm workers.

    `full` runs the load scenarios at their full size.
    """

    subject: Subject
    out: Path
    postgres: str = "auto"
    lease: float = 1.0
    article: bool = False
    full: bool = False
    longest: float = 60.0
    jobs: int = field(default_factory=lambda: 4 * (os.cpu_count() or 1))
    seed: int = 0
    cold: bool = False


@dataclass(frozen=True)
class Bench:
    """Everything that arms run on, up and running."""

    settings: Settings
    run_dir: RunDir
    server: Server
    witness: Witness
    stalls: StallMeter
    launch: Launcher
    versions: Mapping[str, str]
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _live: set[History] = field(default_factory=set)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def run(self, arm: Arm, watcher: Watcher) -> ArmResult:
        """Run one arm, again where it is inconclusive. Raises Closed when the bench is stopped meanwhile."""
        for attempt in range(1, TRIES + 1):
            outcome = self._try(arm, attempt, watcher)
            if outcome.verdict.verdict != "inconclusive" or attempt == TRIES:
                break
        watcher.arm_ended(arm.scenario.name, arm.id, outcome.verdict.verdict, outcome.expected)
        return outcome

    def _try(self, arm: Arm, attempt: int, watcher: Watcher) -> ArmResult:
        name = arm.scenario.name
        suffix = "" if attempt == 1 else f".try{attempt}"
        lease = arm.scenario.lease(self.settings.article, self.settings.lease) * 2 ** (attempt - 1)
        mine: list[History] = []

        def begun(history: History) -> None:
            mine.append(history)
            self._live.add(history)
            if self._stopped.is_set():
                history.interrupt()
            watcher.arm_started(name, arm.id, history.events)

        with self._private(arm.scenario) as (own, unsupported):
            server = own or self.server
            stage = Stage(
                arm=arm,
                launch=self.launch,
                launch_cold=self.settings.subject.launch,
                lease=lease,
                article=self.settings.article,
                full=self.settings.full,
                longest=self.settings.longest,
                seed=self.settings.seed,
                dsn=server.create_database(f"arm_{next(self._numbers)}"),
                witness=self.witness.address,
                run_id=self.run_dir.id,
                logs=self.settings.out / name / f"{arm.id}{suffix}",
                server=own,
                unsupported=unsupported,
            )
            versions = result.versions(own.describe()) if own else self.versions
            try:
                events = run_arm(stage, self.witness, self.stalls, versions, begun)
            finally:
                self._live.difference_update(mine)
                if not own:
                    server.drop(stage.dsn)
        file = f"{name}/{arm.id}{suffix}.jsonl"
        (self.settings.out / file).write_bytes(dump(events))
        return ArmResult(arm, judge(events, arm.scenario.checks), events, lease, attempt, file)

    @contextmanager
    def _private(self, scenario: Scenario) -> Iterator[tuple["Cluster | None", str]]:
        """A server of an arm's own for as long as the arm lasts, if its scenario asks for one; or what can't be had."""
        if scenario.clock and not clock.library():
            yield None, f"needs {clock.MISSING}"
            return
        if not scenario.private:
            yield None, ""
            return
        try:
            server = self.server.private(self.run_dir.path)
        except Unavailable as error:
            yield None, f"needs a server of its own, which it may crash: {error}"
            return
        try:
            yield server, ""
        finally:
            server.stop()

    def stop(self) -> None:
        """Make every arm that is under way, and every later one, end at once."""
        self._stopped.set()
        for history in list(self._live):
            history.interrupt()


@contextmanager
def bench(settings: Settings, scenarios: Sequence[Scenario]) -> Iterator[Bench]:
    """Set everything up, and leave nothing behind whatever happens. Raises PostgresError and OSError."""
    sweep()
    settings.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        with _undisturbed():
            run_dir = RunDir.create()
            janitor = Janitor(run_dir.path)
            stack.callback(janitor.close, CLEAN_WITHIN)
        server = postgres.start(settings.postgres, run_dir.path)
        stack.callback(server.stop)
        if server.kind == "dsn":
            janitor.tell_dsn(settings.postgres)
        witness = stack.enter_context(Witness())
        stalls = stack.enter_context(StallMeter())
        launch: Launcher = settings.subject.launch
        if settings.subject.warm and not settings.cold:
            modules = {twin.subject.__module__ for scenario in scenarios for twin in scenario.twins}
            mark = {"LEASEPROOF_RUN": run_dir.id}
            launch = stack.enter_context(Nursery(settings.subject.warm, sorted(modules), mark)).spawn
        yield Bench(settings, run_dir, server, witness, stalls, launch, result.versions(server.describe()))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Signals wait meanwhile: nobody would remove a folder that no janitor knows of."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def differences(scenarios: Sequence[Scenario]) -> dict[str, dict[str, Difference]]:
    """The one difference of each twin, by scenario and twin. Raises TwinError before anything is run."""
    found: dict[str, dict[str, Difference]] = {}
    for scenario in scenarios:
        try:
            found[scenario.name] = {twin.name: difference(twin) for twin in scenario.twins}
        except TwinError as error:
            raise TwinError(f"{scenario.name}: {error}") from error
    return found


class Pool:
    """Arms under way, a few at a time; take each outcome where it is wanted."""

    def __init__(self, running: Bench, watcher: Watcher) -> None:
        self._bench = running
        self._watcher = watcher
        self._executor = ThreadPoolExecutor(running.settings.jobs, thread_name_prefix="arm")

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        self._bench.stop()
        self._executor.shutdown(cancel_futures=True)

    def submit_all(self, arms: Sequence[Arm]) -> dict[tuple[str, str], Future[ArmResult]]:
        """Start arms, by scenario and id: one of each scenario in turn, so that crowded ones don't come all at once."""
        turns: dict[str, int] = {}
        order: list[tuple[int, int, Arm]] = []
        for arm in arms:
            turns[arm.scenario.name] = turns.get(arm.scenario.name, 0) + 1
            order.append((turns[arm.scenario.name], len(order), arm))
        return {
            (arm.scenario.name, arm.id): self._executor.submit(self._bench.run, arm, self._watcher)
            for _, _, arm in sorted(order, key=lambda entry: entry[:2])
        }


def run(settings: Settings, arms: Mapping[str, Sequence[Arm]], watcher: Watcher, command: str) -> dict[str, Any]:
    """Run the arms (by scenario), write result.json and the histories into `settings.out`, and return the result."""
    chosen = [group[0].scenario for group in arms.values()]
    found = differences(chosen)
    started, since = datetime.now(UTC), time.monotonic()
    with bench(settings, chosen) as running:
        with Pool(running, watcher) as pool:
            futures = pool.submit_all([arm for group in arms.values() for arm in group])
            outcomes = {key: future.result() for key, future in futures.items()}
        longest = running.stalls.longest()[0]
        versions = dict(running.versions)
    results = [ScenarioResult(s, found[s.name], [outcomes[s.name, arm.id] for arm in arms[s.name]]) for s in chosen]
    verdict = result.overall(results)
    describes = (outcome.events[0]["subject"] for outcome in outcomes.values())
    describe: dict[str, Any] = next(filter(None, describes), {"subject": settings.subject.name})
    data = {
        "format": result.FORMAT,
        "leaseproof": versions.pop("leaseproof"),
        "started": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": command,
        "wall_seconds": round(time.monotonic() - since, 3),
        "cpu_seconds": round(_cpu_seconds(), 3),
        "lease": settings.lease,
        "article": settings.article,
        "full": settings.full,
        "seed": settings.seed,
        "jobs": settings.jobs,
        "subject": describe,
        "environment": {**versions, "cpus": os.cpu_count()},
        "longest_stall": round(longest, 6),
        "verdict": verdict,
        "exit_code": result.EXIT_CODES[verdict],
        "scenarios": [scenario.to_json() for scenario in results],
    }
    result.write(data, settings.out / "result.json")
    return data


def _cpu_seconds() -> float:
    """Of the bench and of all its children that have ended, the server included."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
