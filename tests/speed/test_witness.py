"""What the witness takes, and what it adds."""

import json

from bench.speed import witness
from bench.speed.ground import Ground


def test_what_it_takes_and_what_it_adds_are_told(tiny: Ground) -> None:
    result = witness.run(tiny)
    taken, added = result.tables
    assert [row[:2] for row in taken.rows] == [[kind, n] for kind in witness.KINDS for n in witness.CLIENTS]
    assert all(isinstance(row[2], float) and row[2] > 0 for row in taken.rows)
    assert len(added.rows) == 2
    assert {sample["contender"] for sample in json.loads(json.dumps(result.raw))["adds"]} == {
        "without",
        "with",
        "with again",
    }
