"""Runs arms side by side on one server, tries the inconclusive ones again, and writes down what came out."""

from __future__ import annotations

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
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from bench import clock, postgres, result, services
from bench.arms import run_arm
from bench.children import Launcher
from bench.door import Door
from bench.history import Event, History, dump
from bench.janitor import Janitor
from bench.nursery import Nursery
from bench.postgres import Server, Unavailable
from bench.result import ArmResult, ScenarioResult
from bench.rundir import RunDir, sweep
from bench.scenario import Arm, Scenario
from bench.services import NotOurs, Services
from bench.stage import Stage
from bench.stalls import StallMeter
from bench.subject import Subject
from bench.twins import Difference, TwinError, difference
from bench.verdict import judge
from bench.witness import Witness

if TYPE_CHECKING:
    from bench.postgres.cluster import Cluster
    from bench.services.daemon import Daemon

T = TypeVar("T")

TRIES = 3
"""An inconclusive arm is tried again at most twice, each time with a lease twice as long."""


PATIENT = 5
"""So many times as many arms at once where they mostly wait, as those of a queue with a long lease."""

CLEAN_WITHIN = 60.0
"""Seconds that the janitor may take; it is done in well under one."""


class Watcher(Protocol):
    """Is told how a run goes on, from several threads."""

    def arm_started(self, scenario: str, arm: str, history: Callable[[], list[Event]]) -> None: ...
    def arm_ended(self, scenario: str, arm: str, verdict: str, as_expected: bool) -> None: ...


class Unwatched:
    """Watches nothing: there is one arm, and its outcome says all."""

    def arm_started(self, scenario: str, arm: str, history: Callable[[], list[Event]]) -> None: ...

    def arm_ended(self, scenario: str, arm: str, verdict: str, as_expected: bool) -> None: ...


@dataclass(frozen=True)
class Settings:
    """What a run is given. `lease` is in seconds, `jobs` is how many arms run at once; `cold` forks no warm workers.

    `full` runs the load scenarios at their full size. `services` are URLs of the user's own, by the service's name. The
    subject was `given` by its name in `subjects`, or by a path.
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
    services: Mapping[str, str] = field(default_factory=dict)
    profile: str = "tuned"
    given: str = "queue_core"


@dataclass(frozen=True)
class _Ground:
    """What one arm has to itself: `urls` by variable, a database's `dsn`, and the `server` that it may stop."""

    urls: Mapping[str, str]
    dsn: str
    server: Cluster | Daemon | None
    versions: Mapping[str, str]
    unsupported: str


@dataclass(frozen=True)
class Bench:
    """Everything that arms run on, up and running."""

    settings: Settings
    run_dir: RunDir
    janitor: Janitor
    server: Server
    witness: Witness
    stalls: StallMeter
    launch: Launcher
    versions: Mapping[str, str]
    services: Services = field(default_factory=Services)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _live: set[History] = field(default_factory=set)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def run(self, arm: Arm, watcher: Watcher) -> ArmResult:
        """Run one arm, again where it is inconclusive. Raises Closed when the bench is stopped meanwhile."""
        for attempt in range(1, TRIES + 1):
            outcome = self.once(arm, attempt, watcher)
            if outcome.verdict.verdict != "inconclusive" or attempt == TRIES:
                break
        watcher.arm_ended(arm.scenario.name, arm.id, outcome.verdict.verdict, outcome.expected)
        return outcome

    def once(self, arm: Arm, attempt: int, watcher: Watcher) -> ArmResult:
        """Run one arm a first, second or third time: the lease is twice as long each time. Raises Closed as above."""
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

        number = next(self._numbers)
        with self._ground(arm.scenario, number) as ground:
            stage = Stage(
                arm=arm,
                launch=self.launch,
                launch_cold=self.settings.subject.launch,
                lease=lease,
                article=self.settings.article,
                full=self.settings.full,
                longest=self.settings.longest,
                seed=self.settings.seed,
                dsn=ground.dsn,
                witness=self.witness.address,
                run_id=self.run_dir.id,
                logs=self.settings.out / name / f"{arm.id}{suffix}",
                folder=self.run_dir.folder(f"arm_{number}"),
                scratch=self.run_dir.folder(f"arm_{number}_tmp"),
                server=ground.server,
                unsupported=ground.unsupported,
                uses=self.settings.subject.services,
                services=ground.urls,
                profile=self.settings.subject.environment(self.settings.profile),
            )
            try:
                events = run_arm(stage, self.witness, self.stalls, {**self.versions, **ground.versions}, begun)
            finally:
                self._live.difference_update(mine)
        file = f"{name}/{arm.id}{suffix}.jsonl"
        (self.settings.out / file).write_bytes(dump(events))
        return ArmResult(arm, judge(events, arm.scenario.checks), events, lease, attempt, file)

    @contextmanager
    def _ground(self, scenario: Scenario, number: int) -> Iterator[_Ground]:
        """What an arm has to itself for as long as it lasts, or why it can't have what its scenario asks for."""
        uses = self.settings.subject.services
        store = uses[0] if uses else ""
        unsupported, stopped = "", store if scenario.private else ""
        if scenario.clock and not clock.library():
            unsupported, stopped = f"needs {clock.MISSING}", ""
        elif scenario.private and not store:
            unsupported = "it has no server that could be stopped"
        with ExitStack() as stack:
            cluster: Cluster | None = None
            try:
                if stopped == "postgres":
                    cluster = self.server.private(self.run_dir.path)
                    stack.callback(cluster.stop)
                urls, daemon = stack.enter_context(self.services.fresh(number, stopped))
            except (Unavailable, NotOurs) as error:
                unsupported = f"needs a server of its own, which it may crash: {error}"
                urls, daemon = stack.enter_context(self.services.fresh(number))
            dsn = ""
            if "postgres" in uses:
                dsn = (cluster or self.server).create_database(f"arm_{number}")
            if dsn and not cluster:
                stack.callback(self.server.drop, dsn)
            versions = result.versions(cluster.describe()) if cluster else {}
            yield _Ground(urls, dsn, cluster or daemon, versions, unsupported)

    def stop(self) -> None:
        """Make every arm that is under way, and every later one, end at once."""
        self._stopped.set()
        for history in list(self._live):
            history.interrupt()


@contextmanager
def bench(settings: Settings, scenarios: Sequence[Scenario]) -> Iterator[Bench]:
    """Set everything up, and leave nothing behind whatever happens. Raises PostgresError and OSError."""
    settings.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        run_dir, janitor = stack.enter_context(guarded())
        server = postgres.start(settings.postgres, run_dir.path)
        stack.callback(server.stop)
        if server.kind == "dsn":
            janitor.tell_dsn(settings.postgres)
        needed = services.started(settings.subject.services, settings.services, run_dir.path, janitor.tell_service)
        others = stack.enter_context(needed)
        witness = stack.enter_context(Witness())
        stalls = stack.enter_context(StallMeter())
        launch: Launcher = settings.subject.launch
        if settings.subject.warm and not settings.cold:
            modules = {twin.subject.__module__ for scenario in scenarios for twin in scenario.twins}
            mark = {"LEASEPROOF_RUN": run_dir.id}
            launch = stack.enter_context(Nursery(settings.subject.warm, sorted(modules), mark)).spawn
        versions = {**result.versions(server.describe()), **others.versions}
        yield Bench(settings, run_dir, janitor, server, witness, stalls, launch, versions, others)


@contextmanager
def guarded(memory: bool = True) -> Iterator[tuple[RunDir, Janitor]]:
    """A run's folder, in `memory` where there is room for it, and the janitor that guards it; both gone afterwards.

    What dead runs left is removed first.
    """
    sweep()
    with ExitStack() as stack:
        with _undisturbed():
            run_dir = RunDir.create(memory)
            janitor = Janitor(run_dir.path)
            stack.callback(janitor.close, CLEAN_WITHIN)
        yield run_dir, janitor


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
    """Arms under way, a few at a time; take each outcome where it is wanted.

    Those that mostly wait have slots of their own. The `door` is for whoever wants room before an arm starts.
    """

    def __init__(self, running: Bench, watcher: Watcher) -> None:
        self._bench = running
        self._watcher = watcher
        self._executor = ThreadPoolExecutor(running.settings.jobs, thread_name_prefix="arm")
        self.door = Door()
        self._patient = ThreadPoolExecutor(running.settings.jobs * PATIENT, thread_name_prefix="patient-arm")

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self._bench.stop()
        self.door.open()
        for executor in (self._executor, self._patient):
            executor.shutdown(cancel_futures=True)

    def submit(self, task: Callable[[], T]) -> Future[T]:
        """Start something else among the arms."""
        return self._executor.submit(task)

    def submit_all(
        self, arms: Sequence[Arm], run: Callable[[Arm], ArmResult] | None = None, patient: bool = False
    ) -> dict[tuple[str, str], Future[ArmResult]]:
        """Start arms, by scenario and id: one of each scenario in turn, so that crowded ones don't come all at once.

        Each is run on the bench as it is, or by `run`. The `patient` ones mostly wait.
        """
        run = run or (lambda arm: self._bench.run(arm, self._watcher))
        executor = self._patient if patient else self._executor
        turns: dict[str, int] = {}
        order: list[tuple[int, int, Arm]] = []
        for arm in arms:
            turns[arm.scenario.name] = turns.get(arm.scenario.name, 0) + 1
            order.append((turns[arm.scenario.name], len(order), arm))
        return {
            (arm.scenario.name, arm.id): executor.submit(run, arm)
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
    verdict = result.overall([scenario.status[0] for scenario in results])
    describes = (outcome.events[0]["subject"] for outcome in outcomes.values())
    describe: dict[str, Any] = next(filter(None, describes), {"subject": settings.subject.name})
    data = {
        "format": result.FORMAT,
        "leaseproof": versions.pop("leaseproof"),
        "started": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": command,
        "wall_seconds": round(time.monotonic() - since, 3),
        "cpu_seconds": round(cpu_seconds(), 3),
        "given": settings.given,
        "profile": settings.profile,
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


def cpu_seconds() -> float:
    """Of the bench and of all its children that have ended, the server included."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
