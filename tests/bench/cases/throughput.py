"""Nobody waits for another who does not have to."""

from bench.checks.throughput import nobody_waited
from tests.bench.cases import sane, wrong
from tests.bench.histories import let_go

CASES = [
    sane(nobody_waited, "nobody waited", [let_go()]),
    wrong(nobody_waited, "two waited", [let_go("A", "B")], ("claimers-waited", 1)),
]
