"""What a scenario is: one claim about a queue, its script, its fault, its twins and its checks.

Kept free of heavy imports: a worker process that runs a twin loads the scenario's file, and with it this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.checks import Check
    from bench.script import Run

Script = Callable[["Run"], None]


@dataclass(frozen=True)
class Twin:
    """The subject with exactly one mechanism taken out, and the anomaly that it must then show under the fault.

    `also` names anomalies that inevitably come with it, each with the reason why; anything else makes it unproven.
    `fails_in` names the scenarios of its family in which it fails as their own twin does, each with the reason why.
    """

    subject: type
    anomaly: str
    also: Mapping[str, str] = field(default_factory=dict)
    fails_in: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.subject.__name__

    @property
    def path(self) -> str:
        """Where a worker process finds the class: `module:Class`."""
        return f"{self.subject.__module__}:{self.subject.__qualname__}"

    @property
    def summary(self) -> str:
        """The first line of the twin's docstring."""
        return (self.subject.__doc__ or "").strip().partition("\n")[0]


@dataclass
class Scenario:
    """One claim, with all that it takes to prove it.

    `article` overrides knobs for the article's own seconds, `full` for a load at its full size. `prepare` is told to
    the subject when it makes its schema (`aging`, in leases). `needs` is what its `describe` must offer: a key of it,
    one of the events that it `tells`, or one of the `options` that it takes; or what bench/arms.py asks of it, such as
    `postgres`, on which it must be. Else the scenario is unsupported there.
    `recovery`: it waits for a lease to run out or for an abandoned job to come back, and is not run where that takes
    too long by the queue's word.
    `retries`: it waits until a failed job is tried again, and is not run where that takes too long by the queue's word.
    `private`: each arm gets a server of its own, which it may crash; `clock`: the bench sets a worker's wall clock.
    `family`: the scenarios that differ only by which mechanism is missing; their twins are tried in one another's.
    """

    name: str
    claim: str
    row: int
    origin: str
    fault: str
    sham: str
    twins: Sequence[Twin]
    checks: Sequence[Check]
    explanations: Mapping[str, str] = field(default_factory=dict)
    knobs: Mapping[str, float] = field(default_factory=dict)
    article: Mapping[str, float] = field(default_factory=dict)
    full: Mapping[str, float] = field(default_factory=dict)
    prepare: Mapping[str, float] = field(default_factory=dict)
    needs: Sequence[str] = ()
    recovery: bool = True
    retries: bool = False
    private: bool = False
    clock: bool = False
    family: str = ""
    run: Script | None = None

    def script(self, function: Script) -> Script:
        """Decorator: this function is the scenario's one script, the same in every arm."""
        self.run = function
        return function

    @property
    def arms(self) -> list[Arm]:
        """All arms: the sound subject and each twin, each with the fault and without."""
        subjects: list[Twin | None] = [None, *self.twins]
        return [Arm(self, twin, fault) for twin in subjects for fault in (True, False)]

    def lease(self, article: bool, default: float) -> float:
        """The lease in seconds: the article's own where asked for and known."""
        return self.article.get("lease", default) if article else default

    def knob(self, name: str, article: bool, full: bool = False) -> float:
        """A number of the script's, mostly in leases; the article's own, or that of the full size, where asked for."""
        chosen = {**self.knobs, **(self.full if full else {}), **(self.article if article else {})}
        return chosen[name]


@dataclass(frozen=True)
class Arm:
    """One run of a scenario: the sound subject or a twin, with the fault or with the sham."""

    scenario: Scenario
    twin: Twin | None
    fault: bool

    @property
    def id(self) -> str:
        return f"{self.twin.name if self.twin else 'sound'}-{'fault' if self.fault else 'sham'}"

    @property
    def code(self) -> str:
        return "twin" if self.twin else "sound"

    @property
    def expected(self) -> str:
        """What must come out: `pass`, or the anomaly of the twin; of another scenario's twin, what it says itself."""
        if not self.twin or not self.fault:
            return "pass"
        if self.twin in self.scenario.twins:
            return self.twin.anomaly
        return self.scenario.twins[0].anomaly if self.scenario.name in self.twin.fails_in else "pass"

    def describe(self) -> dict[str, Any]:
        """The arm as a history's header has it."""
        return {
            "id": self.id,
            "code": self.code,
            "fault": self.fault,
            "twin": self.twin.name if self.twin else None,
            "expected": self.expected,
            "also": sorted(self.twin.also) if self.twin and self.fault else [],
        }
