"""What may be said of figures: medians and ranges, ratios of rounds, and nothing within the noise."""

import math
from collections.abc import Mapping

import pytest

from bench.speed.figures import (
    AGAIN,
    Contender,
    Goal,
    Missing,
    Sample,
    Spread,
    alternate,
    compared,
    noise,
    ratio,
    spread,
)


def samples(**figures: list[float]) -> list[Sample]:
    """The figure `n` of contenders by name, one a round; `x_again` is x, measured again."""
    return [
        Sample(name.replace("_again", AGAIN), number, {"n": value})
        for name, values in figures.items()
        for number, value in enumerate(values)
    ]


def test_a_spread_is_a_median_and_the_range_that_it_comes_from() -> None:
    assert Spread.of([5.0, 1.0, 3.0]) == Spread(3.0, 1.0, 5.0)
    assert Spread.of([1.0, 2.0]) == Spread(1.5, 1.0, 2.0)
    assert Spread.of([7.0]) == Spread(7.0, 7.0, 7.0)


def test_a_spread_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no value was measured"):
        Spread.of([])


def test_a_contenders_figure_over_its_rounds() -> None:
    found = samples(a=[3.0, 1.0, 2.0], b=[9.0])
    assert spread(found, "a", "n") == Spread(2.0, 1.0, 3.0)
    with pytest.raises(ValueError, match="no value"):
        spread(found, "c", "n")


def test_a_ratio_is_taken_round_by_round() -> None:
    """The second round was twice as slow for both: their ratio does not know."""
    assert ratio(samples(a=[100.0, 50.0], b=[50.0, 25.0]), "n", "a", "b") == Spread(2.0, 2.0, 2.0)


def test_a_ratio_has_the_rounds_that_both_have() -> None:
    found = [*samples(a=[2.0, 4.0, 9.0], b=[1.0, 1.0]), Sample("b", 2, {"other": 1.0})]
    assert ratio(found, "n", "a", "b") == Spread(3.0, 2.0, 4.0)
    with pytest.raises(ValueError, match="no value"):
        ratio(found, "n", "a", "c")


@pytest.mark.parametrize(
    ("again", "factor"),
    [([10.0, 10.0], 1.0), ([10.0, 12.5], 1.25), ([8.0, 10.0], 1.25), ([8.0, 12.0], 1.25), ([9.5, 20.0], 2.0)],
)
def test_the_noise_is_the_worst_factor_either_way(again: list[float], factor: float) -> None:
    assert math.isclose(noise(samples(a=[10.0, 10.0], a_again=again), "n", "a"), factor)


@pytest.mark.parametrize(
    ("of", "said"),
    [
        (Spread(1.5, 1.2, 2.0), "more"),
        (Spread(1.5, 1.1, 2.0), "not told apart"),
        (Spread(1.0, 0.9, 1.1), "not told apart"),
        (Spread(1.5, 0.5, 2.0), "not told apart"),
        (Spread(0.8, 0.7, 1 / 1.1), "not told apart"),
        (Spread(0.8, 0.7, 0.9), "less"),
    ],
)
def test_nothing_is_said_of_a_ratio_unless_its_whole_range_is_beyond_the_noise(of: Spread, said: str) -> None:
    assert compared(of, 1.1) == said


def test_without_any_noise_equals_are_not_told_apart() -> None:
    assert compared(Spread(1.0, 1.0, 1.0), 1.0) == "not told apart"


@pytest.mark.parametrize(
    ("kind", "figure", "met"),
    [
        ("at least", 0.9, True),
        ("at least", 0.89, False),
        ("at most", 0.9, True),
        ("at most", 0.91, False),
        ("at least", None, None),
        ("at most", None, None),
    ],
)
def test_a_goal_is_met_or_not_or_nobody_knows(kind: str, figure: float | None, met: bool | None) -> None:
    wanted = Goal("x", "at least" if kind == "at least" else "at most", 0.9, figure)
    assert wanted.met is met


def test_contenders_take_turns_and_every_other_round_the_other_way() -> None:
    ran: list[str] = []

    def contender(name: str) -> Contender:
        def run() -> Mapping[str, float]:
            ran.append(name)
            return {"n": float(len(ran))}

        return Contender(name, "", run)

    told: list[str] = []
    found = alternate([contender(name) for name in "abc"], 3, told.append)
    assert "".join(ran) == "abccbaabc"
    assert [(each.contender, each.round, each.figures["n"]) for each in found] == [
        (name, i // 3, i + 1.0) for i, name in enumerate(ran)
    ]
    assert told[:4] == ["round 1 of 3: a", "round 1 of 3: b", "round 1 of 3: c", "round 2 of 3: c"]


def test_what_a_contender_shows_is_kept_as_it_was() -> None:
    """A contender may fill the same dictionary in each round."""
    shown: dict[str, float] = {}

    def run() -> Mapping[str, float]:
        shown["n"] = shown.get("n", 0.0) + 1
        return shown

    assert [each.figures["n"] for each in alternate([Contender("a", "", run)], 2, lambda words: None)] == [1.0, 2.0]


def test_a_contender_that_cannot_run_ends_it() -> None:
    def run() -> Mapping[str, float]:
        raise Missing("no pgbench")

    with pytest.raises(Missing, match="no pgbench"):
        alternate([Contender("a", "", run)], 1, lambda words: None)
