"""What was promised comes when it was promised."""

from bench.checks.timing import LATE, in_time
from tests.bench.cases import sane, wrong
from tests.bench.histories import wait

CASES = [
    sane(in_time, "it came", [wait(True, "job", "1 L", late="slow-recovery")]),
    sane(in_time, "nothing was promised", [wait(False, "job")]),
    sane(in_time, "that is for `recovered` to judge", [wait(False, "job", "1 L")]),
    *(wrong(in_time, name, [wait(False, "job", "1 L", late=name)], (name, 1)) for name in LATE),
]
