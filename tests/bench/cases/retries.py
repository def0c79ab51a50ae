"""Failures come back when they should, and not all at once."""

from bench.checks.retries import retries_put_off, retries_spread
from tests.bench.cases import sane, wrong
from tests.bench.histories import sample


def at_once(count: int, of: int) -> dict[str, object]:
    return sample("at-once", [str(count), str(of)])


CASES = [
    sane(retries_put_off, "few are due at once", [at_once(3, 300), at_once(20, 300)]),
    sane(retries_put_off, "once many were, and then no more", [at_once(290, 300), at_once(2, 300)]),
    sane(retries_put_off, "none has failed", [at_once(0, 0)]),
    sane(retries_put_off, "too few to tell", [at_once(19, 19)]),
    wrong(retries_put_off, "all are, always", [at_once(300, 300), at_once(292, 300)], ("retry-storm", 1, 2)),
    sane(retries_spread, "spread", [sample("delays", ["1", "30"], ["5", "31"], ["9", "29"])]),
    sane(retries_spread, "none was put off", [sample("delays")]),
    sane(retries_spread, "too few to tell", [sample("delays", ["9", "19"])]),
    wrong(retries_spread, "all at once", [sample("delays", ["9", "20"])], ("thundering-herd", 1)),
    wrong(retries_spread, "most at once", [sample("delays", ["1", "9"], ["9", "11"])], ("thundering-herd", 1)),
]
