"""What holds for every scenario there is, without running one."""

import inspect
import re
from pathlib import Path
from typing import cast

import pytest

from bench import discover
from bench.checks import Check
from bench.checks.always import progress, undisturbed
from bench.scenario import Scenario, Twin
from bench.twins import difference
from subjects.queue_core.adapter import DESCRIBE

SCENARIOS = discover.scenarios()
TWINS = [pytest.param(twin, id=f"{scenario.name}-{twin.name}") for scenario in SCENARIOS for twin in scenario.twins]
LISTED = list(dict.fromkeys(check for scenario in SCENARIOS for check in scenario.checks))

CATALOGUE = {
    1: "worker-death",
    2: "heartbeat",
    3: "sigterm-drain",
    4: "claim-race",
    5: "non-atomic-claim",
    6: "sigterm-no-new-claims",
    7: "late-finish",
    8: "lease-theft",
    10: "stale-rescuer",
    11: "stale-rescuer-reclaimed",
    12: "impossible-states",
    13: "reclaim-latency",
    14: "same-name-restart",
    15: "poison-worker",
    16: "crash-on-last-attempt",
    17: "grace-overrun",
    18: "deploys-are-not-failures",
    19: "prefetch-expiry",
    25: "poisoned-reclaimer",
    27: "short-claim",
    28: "over-claim",
    29: "crash-after-effect",
    30: "concurrent-effect",
    32: "error-classes",
    33: "visible-failure",
    35: "missed-notify",
    36: "transactional-enqueue",
    37: "dedup",
    38: "one-tick",
    39: "starvation",
    40: "noisy-neighbour",
    41: "batch-fairness",
    42: "history-weight",
    43: "retention",
    44: "delayed",
    45: "payload-versions",
    46: "silent-worker",
    47: "priority-and-age",
    48: "first-worker",
    49: "blocked-loop",
    50: "retry-gaps",
    51: "child-killed",
    52: "parent-killed",
    53: "frozen-leader",
    54: "partition",
}
"""The rows that must be there."""

WITHOUT_TWIN = {
    "attempt-not-counted": "comes with a twin of worker-death, which declares it in `also`",
}
"""The anomalies that no twin has as its own, each with the reason why."""


def anomalies(check: Check) -> set[str]:
    """What a check can yield, as its docstring has it: in backticks, before the colon."""
    return set(re.findall("`([a-z-]+)`", (check.__doc__ or "").partition(":")[0]))


def source(scenario: Scenario) -> Path:
    return Path(inspect.getsourcefile(scenario.run) or "") if scenario.run else Path()


def names(scenario: Scenario) -> str:
    return scenario.name


def test_the_catalogue_is_there() -> None:
    found = {scenario.row: scenario.name for scenario in SCENARIOS}
    assert found.items() >= CATALOGUE.items()
    assert len(found) == len(SCENARIOS), "two scenarios have one row"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=names)
def test_a_scenario_is_complete(scenario: Scenario) -> None:
    assert scenario.run is not None
    assert scenario.twins
    assert scenario.checks
    assert all([scenario.claim, scenario.origin, scenario.fault, scenario.sham])
    assert len({arm.id for arm in scenario.arms}) == 2 + 2 * len(scenario.twins)
    assert set(scenario.article) <= {"lease", *scenario.knobs}, "an article's number that nobody reads"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=names)
def test_the_core_offers_what_a_scenario_needs(scenario: Scenario) -> None:
    offered = [cast(list[str], DESCRIBE[key]) for key in ("tells", "options")]
    assert set(scenario.needs) <= set(DESCRIBE).union(["postgres", "server", "slots", "backlog", "names"], *offered)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=names)
def test_a_scenario_fits_on_two_screens_in_the_file_of_its_name(scenario: Scenario) -> None:
    file = source(scenario)
    assert file.stem == scenario.name.replace("-", "_")
    assert len(file.read_text(encoding="utf-8").splitlines()) < 130


@pytest.mark.parametrize("scenario", SCENARIOS, ids=names)
def test_a_script_does_not_ask_for_its_arm(scenario: Scenario) -> None:
    assert scenario.run
    text = inspect.getsource(scenario.run)
    assert not re.search(r"\b_stage\b|\barm\b|\bif run\.fault\b|\.injected\b", text)


@pytest.mark.parametrize("twin", TWINS)
def test_a_twin_keeps_the_one_variable_rule(twin: Twin) -> None:
    found = difference(twin)
    assert found.diff
    assert twin.summary.startswith("Everything as in the sound ")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=names)
def test_a_twins_anomalies_are_such_as_its_scenario_can_find(scenario: Scenario) -> None:
    possible = {name for check in scenario.checks for name in anomalies(check)}
    for twin in scenario.twins:
        assert {twin.anomaly, *twin.also} <= possible
        assert twin.anomaly not in twin.also
        assert all(twin.also.values()), "without a reason"


@pytest.mark.parametrize("check", LISTED)
def test_every_anomaly_of_a_check_has_a_twin_that_shows_it(check: Check) -> None:
    assert anomalies(check)
    for name in anomalies(check) - set(WITHOUT_TWIN):
        owners = [t.name for s in SCENARIOS if check in s.checks for t in s.twins if t.anomaly == name]
        assert owners, f"no twin proves that {check.__name__} can find {name}"


def test_the_list_of_those_without_a_twin_is_true() -> None:
    assert set(WITHOUT_TWIN) <= {name for check in LISTED for name in anomalies(check)}
    assert not set(WITHOUT_TWIN) & {twin.anomaly for scenario in SCENARIOS for twin in scenario.twins}
    assert "attempt-not-counted" in {name for scenario in SCENARIOS for twin in scenario.twins for name in twin.also}


def test_no_two_checks_yield_one_anomaly() -> None:
    every = [name for check in [*LISTED, undisturbed, progress] for name in anomalies(check)]
    assert len(every) == len(set(every))


def test_what_every_arm_is_judged_by_is_in_no_scenarios_list() -> None:
    assert undisturbed not in LISTED
    assert progress not in LISTED
