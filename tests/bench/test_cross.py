"""Which arms a cross has, and what must come out of each."""

from bench import cross, discover
from bench.checks.ending import recovered
from bench.result import ScenarioResult
from bench.scenario import Arm, Scenario, Twin
from bench.verdict import Verdict
from tests.bench.test_result import PASS, fail, outcome


class NoName:
    """Stands in for a twin."""


class NoNumber:
    """Stands in for another."""


class NoState:
    """Stands in for a third."""


def made_up(name: str, *twins: Twin, family: str = "guards") -> Scenario:
    return Scenario(name, "It holds.", 1, "A1", "a pause", "no pause", twins, [recovered], family=family)


BY_NAME = made_up("by-name", Twin(NoName, "stolen", fails_in={"by-number": "a name has a number"}))
BY_NUMBER = made_up("by-number", Twin(NoNumber, "stale"))
BY_STATE = made_up("by-state", Twin(NoState, "undone"), Twin(NoName, "undone-by-name"))
ELSEWHERE = made_up("elsewhere", Twin(NoState, "undone"), family="")


def told(arms: list[Arm]) -> list[tuple[str, str, str]]:
    return [(arm.scenario.name, arm.id, arm.expected) for arm in arms]


def test_every_twin_is_tried_in_every_scenario_with_the_fault_and_the_sound_subject_too() -> None:
    assert told(cross.arms([BY_NAME, BY_NUMBER])) == [
        ("by-name", "sound-fault", "pass"),
        ("by-name", "NoName-fault", "stolen"),
        ("by-name", "NoNumber-fault", "pass"),
        ("by-number", "sound-fault", "pass"),
        ("by-number", "NoName-fault", "stale"),
        ("by-number", "NoNumber-fault", "stale"),
    ]


def test_a_twin_of_several_is_in_each_its_own() -> None:
    assert told(cross.arms([BY_NAME, BY_STATE])) == [
        ("by-name", "sound-fault", "pass"),
        ("by-name", "NoName-fault", "stolen"),
        ("by-name", "NoState-fault", "pass"),
        ("by-state", "sound-fault", "pass"),
        ("by-state", "NoName-fault", "undone-by-name"),
        ("by-state", "NoState-fault", "undone"),
    ]


def test_without_its_fault_a_foreign_twin_must_pass() -> None:
    assert Arm(BY_NUMBER, BY_NAME.twins[0], fault=False).expected == "pass"


def test_a_family() -> None:
    assert cross.family([ELSEWHERE, BY_NAME, BY_NUMBER]) == [BY_NAME, BY_NUMBER]
    assert cross.family([BY_NAME], "others") == []


def crossed(*verdicts: Verdict) -> ScenarioResult:
    """by-number with these verdicts on its arms: sound, NoName, NoNumber."""
    arms = [arm for arm in cross.arms([BY_NAME, BY_NUMBER]) if arm.scenario is BY_NUMBER]
    return ScenarioResult(BY_NUMBER, {}, [outcome(arm, verdict) for arm, verdict in zip(arms, verdicts, strict=True)])


def test_a_cross_alone_proves_nothing() -> None:
    assert crossed(PASS, fail("stale"), fail("stale")).status == ("partial", "2 of 4 arms were run")


def test_a_foreign_twin_that_came_out_otherwise_is_a_finding() -> None:
    why = "NoName-fault: it must show stale, and it came out as "
    assert crossed(PASS, PASS, fail("stale")).status == ("unproven", why + "pass")
    assert crossed(PASS, fail("stale", "lost"), fail("stale")).status == ("unproven", why + "lost, stale")


GUARDS = cross.family(discover.scenarios())
TWINS = [twin for scenario in GUARDS for twin in scenario.twins]


def test_the_guards() -> None:
    assert [scenario.row for scenario in GUARDS] == [7, 8, 9, 10, 11, 14]
    assert all(len(scenario.twins) == 1 for scenario in GUARDS)


def test_no_two_twins_of_the_family_have_one_name() -> None:
    assert len({twin.name for twin in TWINS}) == len(TWINS)


def test_where_a_twin_fails_besides_is_in_the_family_and_has_a_reason() -> None:
    names = {scenario.name for scenario in GUARDS}
    for scenario in discover.scenarios():
        for twin in scenario.twins:
            assert set(twin.fails_in) <= names - {scenario.name}
            assert all(twin.fails_in.values())
            assert not twin.fails_in or scenario.family
