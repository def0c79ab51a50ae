"""Failures come back when they should, and not all at once."""

from bench.checks.retries import retries_put_off, retries_spread
from tests.bench.cases import sane, wrong
from tests.bench.histories import sample


def due(count: int, of: int) -> dict[str, object]:
    return sample("due", [str(count), str(of)])


CASES = [
    sane(retries_put_off, "few are due again", [due(3, 300), due(20, 300)]),
    sane(retries_put_off, "a herd has just come back, and is gone again", [due(290, 300), due(2, 300)]),
    sane(retries_put_off, "none has failed", [due(0, 0)]),
    wrong(retries_put_off, "all are due, always", [due(300, 300), due(292, 300)], ("retry-storm", 1, 2)),
    sane(retries_spread, "spread", [sample("delays", ["1", "30"], ["5", "31"], ["9", "29"])]),
    sane(retries_spread, "none was put off", [sample("delays")]),
    sane(retries_spread, "too few to tell", [sample("delays", ["9", "19"])]),
    wrong(retries_spread, "all at once", [sample("delays", ["9", "20"])], ("thundering-herd", 1)),
    wrong(retries_spread, "most at once", [sample("delays", ["1", "9"], ["9", "11"])], ("thundering-herd", 1)),
]
