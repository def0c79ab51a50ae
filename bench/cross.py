"""Twins tried in one another's scenarios.

Scenarios of a family differ only by which mechanism is missing. That a twin fails in its own shows that the check can
find it; that it passes in its neighbours' shows that each check finds that one thing and no other.
"""

from collections.abc import Iterable, Sequence

from bench.scenario import Arm, Scenario

FAMILY = "guards"
"""The family that is crossed unless others are named."""


def family(known: Iterable[Scenario], name: str = FAMILY) -> list[Scenario]:
    """The scenarios of a family."""
    return [scenario for scenario in known if scenario.family == name]


def arms(scenarios: Sequence[Scenario]) -> list[Arm]:
    """Every twin of these scenarios in each of them, with the fault; and the sound subject.

    A class that is a twin of several of them is, in each, its own.
    """
    twins = {twin.subject: twin for scenario in scenarios for twin in scenario.twins}
    found = []
    for scenario in scenarios:
        mine = twins | {twin.subject: twin for twin in scenario.twins}
        found += [Arm(scenario, twin, fault=True) for twin in (None, *mine.values())]
    return found
