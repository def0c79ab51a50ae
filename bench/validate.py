"""Strangers on the bench: each subject, in each profile, through the sound side of every scenario that applies to it.

What a check finds in a stranger counts only where it was seen to pass and to fail in the same run. So the reference
pair, queue_core and its twins, goes through the same scenarios; one that it does not prove shows no cell of a stranger.
"""

import os
import re
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from bench import cells, discover, made, runner, services
from bench.arms import missing
from bench.cells import Cell
from bench.door import Door
from bench.history import Closed, Event
from bench.lint import linted
from bench.made import MakeError
from bench.postgres import redact
from bench.result import ArmResult, ScenarioResult
from bench.runner import Bench, Pool, Settings, Watcher
from bench.scenario import Arm, Scenario
from bench.services import ServiceError, Services
from bench.smoke import smoked
from bench.subject import PROFILES, Subject, SubjectError
from bench.terms import Terms
from bench.verdict import Verdict

FORMAT = 1

REFERENCE = "queue_core"

LONG = 5
"""Leases of the run after which a recovery is a long one."""


@dataclass(frozen=True)
class Stranger:
    """A subject in one of its profiles, `given` as a folder of subjects/ or as a path.

    Without a `subject` nothing can be run on it, and `broken` says why.
    """

    given: str
    name: str
    profile: str
    subject: Subject | None = None
    broken: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.profile}"

    @property
    def folder(self) -> Path:
        """Where its histories are, inside the run's folder."""
        return Path(re.sub(r"[^\w.-]", "-", self.name)) / self.profile


def strangers(names: Sequence[str], profile: str) -> list[Stranger]:
    """The named subjects (`all`: each in subjects/ but queue_core) in a profile, or in `all` that they have.

    Raises SubjectError for a name that nothing has, and for two subjects of one name.
    """
    found: list[Stranger] = []
    for given, folder in discover.folders(names, besides=REFERENCE):
        try:
            subject = Subject.load(folder)
        except SubjectError as error:
            name = PROFILES[0] if profile == "all" else profile
            found.append(Stranger(given, folder.name, name, broken=f"adapter: {error}"))
            continue
        # Where a subject tells no profiles apart, it goes by the run's lease, as a tuned one does.
        mine = (subject.profiles or PROFILES[-1:]) if profile == "all" else (profile,)
        found += [Stranger(given, subject.name, name, subject) for name in PROFILES if name in mine]
    places = [stranger.folder for stranger in found]
    for stranger in found:
        if places.count(stranger.folder) > 1:
            raise SubjectError(f"two of these subjects are called {stranger.name!r}; each needs a name of its own")
    return found


def made_ready(strangers: Sequence[Stranger], out: TextIO) -> list[Stranger]:
    """The strangers, their own environments made where files have changed; who has none can't be run on.

    `out` is told how it goes on.
    """
    trouble: dict[Path, str] = {}
    for who in strangers:
        if who.subject and who.subject.folder not in trouble:
            trouble[who.subject.folder] = ""
            try:
                if made.is_stale(who.subject):
                    made.make(who.subject, out)
            except MakeError as error:
                trouble[who.subject.folder] = f"bench: its environment could not be made: {error}"
    return [replace(who, broken=trouble[who.subject.folder]) if who.subject else who for who in strangers]


def plan(strangers: Sequence[Stranger], scenarios: Sequence[Scenario]) -> list[tuple[str, str]]:
    """All arms of a run, as its watcher is told of them."""
    reference = [(f"{REFERENCE} {scenario.name}", arm.id) for scenario in scenarios for arm in scenario.arms]
    theirs = [(f"{who} {arm.scenario.name}", arm.id) for who in strangers for arm in sound(scenarios)]
    return reference + theirs


def sound(scenarios: Sequence[Scenario]) -> list[Arm]:
    """The arms that a stranger goes through: it has no twins."""
    return [Arm(scenario, None, fault) for scenario in scenarios for fault in (True, False)]


@dataclass(frozen=True)
class _Named:
    """Tells a watcher whose arms they are."""

    watcher: Watcher
    who: str

    def arm_started(self, scenario: str, arm: str, history: Callable[[], list[Event]]) -> None:
        self.watcher.arm_started(f"{self.who} {scenario}", arm, history)

    def arm_ended(self, scenario: str, arm: str, verdict: str, as_expected: bool) -> None:
        self.watcher.arm_ended(f"{self.who} {scenario}", arm, verdict, as_expected)


@dataclass
class Seat:
    """A stranger on the running bench: what it says of itself, or the `error` for which nothing is run on it.

    `smoke` is what went wrong in its smoke, if anything: then its adapter is to be looked at first.
    """

    stranger: Stranger
    bench: Bench
    watcher: Watcher
    error: str = ""
    describe: Mapping[str, Any] = field(default_factory=dict)
    smoke: str = ""

    @property
    def waits(self) -> bool:
        """Whether its arms mostly wait: its recovery is a matter of many leases, and they are waited for."""
        return (
            not self.error
            and Terms.of(self.describe, self.bench.settings.lease).recovery > self.bench.settings.lease * LONG
        )

    def look(self) -> None:
        """Smoke it, and lint it, once and before all of its arms. Raises Closed."""
        if self.error:
            return
        try:
            report, outcome = smoked(self.bench)
            wrong = "" if outcome.verdict.verdict == "error" or report.stopped else linted(self.bench).wrong
        except Closed:
            raise
        except Exception as error:  # noqa: BLE001 - see `run`
            self.error = _told(error)
            return
        self.describe = outcome.events[0]["subject"]
        if outcome.verdict.verdict == "error":
            self.error = outcome.verdict.reason
        elif report.stopped:  # Where not even a plain job is run, no scenario can tell the queue from its adapter.
            self.error = f"adapter: its smoke went no further: {report.stopped}"
        elif wrong:
            self.error = f"adapter: its lint is not clean: {wrong}"
        else:
            self.smoke = report.wrong

    def run(self, arm: Arm, door: Door | None = None) -> ArmResult:
        """Run an arm of it, unless that is known to be in vain. Raises Closed; all else is its cell's own."""
        verdict = self._in_vain(arm.scenario)
        if not verdict:
            try:
                if door:
                    door.pass_through()
                return _light(self.bench.run(arm, self.watcher))
            except Closed:
                raise
            except Exception as error:  # noqa: BLE001 - a defect of the bench's own, which ends nobody else's run
                verdict = Verdict("error", reason=_told(error))
        self.watcher.arm_ended(arm.scenario.name, arm.id, verdict.verdict, False)
        return ArmResult(arm, verdict, [], self.bench.settings.lease)

    def _in_vain(self, scenario: Scenario) -> Verdict | None:
        """The verdict that is known beforehand, which saves its processes the start."""
        if self.error:
            return Verdict("error", reason=self.error)
        settings = self.bench.settings
        lacking = missing(scenario, self.describe, settings.subject.services, settings.lease, settings.longest)
        return Verdict("unsupported", reason=lacking) if lacking else None

    def to_json(self, outcomes: Mapping[tuple[str, str], ArmResult], proof: Sequence[ScenarioResult]) -> dict[str, Any]:
        """The stranger as validate.json has it."""
        subject = self.stranger.subject
        reclaims = not self.error and self.describe["reclaim"] != "none"
        return {
            "name": self.stranger.name,
            "given": self.stranger.given,
            "profile": self.stranger.profile,
            "settings": dict(subject.profiles.get(self.stranger.profile, {})) if subject else {},
            "describe": dict(self.describe),
            "recovery": Terms.of(self.describe, self.bench.settings.lease).recovery if reclaims else None,
            "error": self.error,
            "smoke": self.smoke,
            "cells": [self._cell(outcomes, proven) for proven in proof],
        }

    def _cell(self, outcomes: Mapping[tuple[str, str], ArmResult], proven: ScenarioResult) -> Cell:
        status, why = proven.status
        name = proven.scenario.name
        if status != "proven":
            return cells.unproven(name, status, why)
        arms = [outcomes[name, arm.id] for arm in sound([proven.scenario])]
        return cells.cell(name, self.describe, [_inside(arm, self.stranger.folder) for arm in arms])


def _light(outcome: ArmResult) -> ArmResult:
    """An outcome with no more of its events than its cell is made of: a run has thousands of arms."""
    return replace(outcome, events=[event for event in outcome.events if event["event"] in _TELLING])


_TELLING = ("fault", "figure", "stalled", "end")


def _told(error: Exception) -> str:
    """What went wrong, and no word on any password."""
    text = str(error) if isinstance(error, ServiceError) else "".join(traceback.format_exception(error, limit=-6))
    return redact(f"bench: {text.rstrip()}")


def _inside(arm: ArmResult, folder: Path) -> ArmResult:
    """An arm whose history is found from the run's folder."""
    return replace(arm, history=str(folder / arm.history)) if arm.history else arm


def run(
    settings: Settings, strangers: Sequence[Stranger], scenarios: Sequence[Scenario], watcher: Watcher, command: str
) -> dict[str, Any]:
    """Run the strangers and the reference pair, write the histories into `settings.out`, and return the result.

    The subject and the profile of the settings are the reference's.
    """
    found = runner.differences(scenarios)
    started, since = datetime.now(UTC), time.monotonic()
    beside = Path("reference")
    reference = replace(settings, out=settings.out / beside)
    with runner.bench(reference, scenarios) as running, ExitStack() as stack:
        seats = list(_seats(running, strangers, settings, watcher, stack))
        with Pool(running, _Named(watcher, REFERENCE)) as pool:
            looks = [pool.submit(seat.look) for seat in seats]
            pair = pool.submit_all([arm for scenario in scenarios for arm in scenario.arms])
            trials = []
            for seat, look in zip(seats, looks, strict=True):
                look.result()
                trials.append(pool.submit_all(sound(scenarios), partial(seat.run, door=pool.door), patient=seat.waits))
            proof = [
                ScenarioResult(s, found[s.name], [_inside(pair[s.name, a.id].result(), beside) for a in s.arms])
                for s in scenarios
            ]
            outcomes = [{key: future.result() for key, future in trial.items()} for trial in trials]
        longest = running.stalls.longest()[0]
        versions = dict(running.versions)
        for seat in seats:
            versions |= seat.bench.services.versions
    subjects = [seat.to_json(outcome, proof) for seat, outcome in zip(seats, outcomes, strict=True)]
    verdict = cells.verdict(
        [scenario.status[0] for scenario in proof], [cell for subject in subjects for cell in subject["cells"]]
    )
    return {
        "format": FORMAT,
        "leaseproof": versions.pop("leaseproof"),
        "started": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": command,
        "wall_seconds": round(time.monotonic() - since, 3),
        "cpu_seconds": round(runner.cpu_seconds(), 3),
        "lease": settings.lease,
        "longest": settings.longest,
        "seed": settings.seed,
        "jobs": settings.jobs,
        "environment": {**versions, "cpus": os.cpu_count()},
        "longest_stall": round(longest, 6),
        "verdict": verdict,
        "exit_code": cells.EXIT_CODES[verdict],
        "expected": None,
        "scenarios": [scenario.to_json() for scenario in proof],
        "subjects": subjects,
    }


def _seats(
    running: Bench, strangers: Sequence[Stranger], settings: Settings, watcher: Watcher, stack: ExitStack
) -> Iterator[Seat]:
    """A place for each stranger, with the services that it needs."""
    up: dict[str, Services] = {}
    down: dict[str, str] = {}
    for name in sorted({name for who in strangers if who.subject for name in who.subject.services} - {"postgres"}):
        try:
            service = services.started([name], settings.services, running.run_dir.path, running.janitor.tell_service)
            up[name] = stack.enter_context(service)
        except ServiceError as error:
            down[name] = f"bench: it needs {name}: {error}"
    for who in strangers:
        subject = who.subject or settings.subject
        mine = replace(settings, subject=subject, profile=who.profile, out=settings.out / who.folder)
        needed = [name for name in subject.services if name != "postgres"]
        bench = replace(
            running,
            settings=mine,
            launch=running.launch if subject == settings.subject else subject.launch,
            services=Services([member for name in needed if name in up for member in up[name].members]),
        )
        lacking = next((down[name] for name in needed if name in down), "")
        yield Seat(who, bench, _Named(watcher, str(who)), who.broken or lacking)
