"""What is over does not weigh on what is to be done."""

from bench.checks.weight import MORE, claim_costs_no_more
from bench.history import Event
from tests.bench.cases import sane, wrong
from tests.bench.histories import answered


def cost(buffers: int) -> Event:
    return answered("explain", {"buffers": buffers})


CASES = [
    sane(claim_costs_no_more, "as much as before", [cost(15), cost(15)]),
    sane(claim_costs_no_more, "less than before", [cost(15), cost(9)]),
    sane(claim_costs_no_more, "a deeper tree", [cost(15), cost(15 + MORE)]),
    sane(claim_costs_no_more, "asked once", [cost(5000)]),
    sane(claim_costs_no_more, "asked for something else", [cost(15), answered("purge", {"removed": 5000})]),
    wrong(claim_costs_no_more, "more", [cost(15), cost(16 + MORE)], ("claim-cost-grows", 1, 2)),
    wrong(claim_costs_no_more, "more for a while", [cost(15), cost(5000), cost(15)], ("claim-cost-grows", 1, 2)),
]
