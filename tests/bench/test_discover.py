"""Scenarios, arms and subjects by name, and what is said of a name that nothing has."""

import sys
import types
from pathlib import Path

import pytest

from bench import discover
from bench.checks.ending import recovered
from bench.discover import UnknownName, pick, pick_arms, scenarios, subject
from bench.scenario import Scenario, Twin
from bench.subject import SubjectError


class NoRenewal:
    """Stands in for a twin."""


class NoReclaim:
    """Stands in for another."""


def made_up(name: str, *twins: type) -> Scenario:
    return Scenario(
        name=name,
        claim="",
        row=1,
        origin="",
        fault="",
        sham="",
        twins=[Twin(twin, "stranded") for twin in twins],
        checks=[recovered],
    )


DEATH, BEAT = made_up("worker-death", NoReclaim), made_up("heartbeat", NoRenewal, NoReclaim)


def test_scenarios_come_in_the_order_of_the_catalogue() -> None:
    found = scenarios()
    assert [scenario.row for scenario in found] == sorted(scenario.row for scenario in found)
    assert found[0].name == "worker-death"


FILE = """
from bench.scenario import Scenario
{variable} = Scenario(name="{name}", claim="", row={row}, origin="", fault="", sham="", twins=[], checks=[])
"""


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in place of the package `scenarios`."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "scenarios"]:
        monkeypatch.delitem(sys.modules, name)
    package = types.ModuleType("scenarios")
    package.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, "scenarios", package)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


def put(shelf: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str) -> None:
    (shelf / f"{file}.py").write_text(text)
    monkeypatch.setitem(sys.modules, f"scenarios.{file}", types.ModuleType("undone"))  # so that it is undone afterwards
    del sys.modules[f"scenarios.{file}"]


def test_a_file_that_is_put_there_is_a_scenario(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(shelf, monkeypatch, "late_one", FILE.format(variable="late_one", name="late-one", row=9))
    put(shelf, monkeypatch, "the_first", FILE.format(variable="it", name="the-first", row=2))
    assert [scenario.name for scenario in scenarios()] == ["the-first", "late-one"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="none"),
        pytest.param(FILE.format(variable="a", name="another-name", row=1), id="of another name"),
        pytest.param(
            FILE.format(variable="a", name="one", row=1) + FILE.format(variable="b", name="two", row=2), id="two"
        ),
    ],
)
def test_a_file_defines_one_scenario_of_its_name(shelf: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    put(shelf, monkeypatch, "one", text)
    with pytest.raises(UnknownName, match=r"one\.py must define one scenario, named one$"):
        scenarios()


def test_pick_keeps_the_order_asked_for_and_takes_each_once() -> None:
    assert pick(["heartbeat", "worker-death", "heartbeat"], [DEATH, BEAT]) == [BEAT, DEATH]
    assert pick([], [DEATH, BEAT]) == []


def test_pick_suggests_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="no scenario 'hartbeat'; did you mean 'heartbeat'"):
        pick(["worker-death", "hartbeat"], [DEATH, BEAT])


def test_pick_suggests_nothing_where_nothing_is_near() -> None:
    with pytest.raises(UnknownName) as caught:
        pick(["xyz"], [DEATH, BEAT])
    assert "did you mean" not in str(caught.value)


ALL = [
    "sound-fault",
    "sound-sham",
    "NoRenewal-fault",
    "NoRenewal-sham",
    "NoReclaim-fault",
    "NoReclaim-sham",
]

WORDS: dict[tuple[str, ...], list[str]] = {
    (): ALL,
    ("sound",): ["sound-fault", "sound-sham"],
    ("twin",): ["NoRenewal-fault", "NoRenewal-sham", "NoReclaim-fault", "NoReclaim-sham"],
    ("fault",): ["sound-fault", "NoRenewal-fault", "NoReclaim-fault"],
    ("sham",): ["sound-sham", "NoRenewal-sham", "NoReclaim-sham"],
    ("NoReclaim",): ["NoReclaim-fault", "NoReclaim-sham"],
    ("NoReclaim-sham",): ["NoReclaim-sham"],
    ("NoReclaim-sham", "sound"): ["sound-fault", "sound-sham", "NoReclaim-sham"],
    ("sound", "sound-fault"): ["sound-fault", "sound-sham"],
}


@pytest.mark.parametrize("words", WORDS)
def test_arms_are_picked_by_any_word_in_their_own_order(words: tuple[str, ...]) -> None:
    assert [arm.id for arm in pick_arms(BEAT.arms, words)] == WORDS[words]


def test_a_word_need_match_an_arm_of_one_of_the_chosen_only() -> None:
    picked = pick_arms([*DEATH.arms, *BEAT.arms], ["NoRenewal", "sound-fault"])
    assert [f"{arm.scenario.name} {arm.id}" for arm in picked] == [
        "worker-death sound-fault",
        "heartbeat sound-fault",
        "heartbeat NoRenewal-fault",
        "heartbeat NoRenewal-sham",
    ]
    assert pick_arms([], []) == []


def test_a_word_that_matches_no_arm() -> None:
    with pytest.raises(UnknownName) as caught:
        pick_arms(DEATH.arms, ["sound", "NoRecliam"])
    assert str(caught.value).startswith("there is no arm 'NoRecliam'; did you mean 'NoReclaim'?; they are: NoReclaim, ")


def test_a_subject_by_its_name_and_by_its_path() -> None:
    by_name = subject("queue_core")
    assert by_name.name == "queue_core"
    assert subject(str(Path(discover.__file__).parents[1] / "subjects" / "queue_core")) == by_name


def test_a_subject_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    text = 'name = "mine"\nprotocol = 1\ncontrol = ["c"]\nworker = ["w"]\n'
    (tmp_path / "mine" / "subject.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert subject("mine").name == "mine"


def test_a_subject_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        SubjectError, match=r"no subject 'queue_cor'; did you mean 'queue_core'.*known are .*queue_core"
    ):
        subject("queue_cor")
    with pytest.raises(SubjectError, match="or give a folder"):
        subject(str(tmp_path))
