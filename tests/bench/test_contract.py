"""What a `describe` may say of how a worker ends."""

import pytest

from bench.contract import AdapterFault, check_describe
from tests.fakes.sane import Sane


@pytest.mark.parametrize("drain", [{"exit_codes": [0]}, {"exit_codes": [0], "forced_codes": [75, -15]}])
def test_codes(drain: dict[str, object]) -> None:
    check_describe(Sane.describe | {"drain": drain})


@pytest.mark.parametrize(
    ("drain", "field"),
    [
        ({}, "exit_codes"),
        ({"exit_codes": 0}, "exit_codes"),
        ({"exit_codes": ["0"]}, "exit_codes"),
        ({"exit_codes": [0], "forced_codes": None}, "forced_codes"),
        ({"exit_codes": [0], "forced_codes": ["75"]}, "forced_codes"),
    ],
)
def test_codes_that_are_none(drain: dict[str, object], field: str) -> None:
    with pytest.raises(AdapterFault, match=rf"describe: drain\.{field} is a list of whole numbers"):
        check_describe(Sane.describe | {"drain": drain})


@pytest.mark.parametrize("seconds", [0, 0.5, 30])
def test_a_wait_before_a_retry(seconds: float) -> None:
    check_describe(Sane.describe | {"retry_after": seconds})


@pytest.mark.parametrize("seconds", [-1, "30", None])
def test_a_wait_that_is_none(seconds: object) -> None:
    with pytest.raises(AdapterFault, match="describe: retry_after is a number of seconds, not "):
        check_describe(Sane.describe | {"retry_after": seconds})
