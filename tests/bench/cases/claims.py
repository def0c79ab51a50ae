"""A claim takes what it should, and holds nothing open for it."""

from bench.checks.claims import nothing_held_open, within_room
from tests.bench.cases import sane, wrong
from tests.bench.histories import event, sample, spawned

roomy = event("spawned", worker="A", pid=1, options={"slots": 2, "prefetch": 1})

CASES = [
    sane(within_room, "as many as its slots", [spawned(), sample("held", ["A", "1"])]),
    sane(within_room, "as many as its slots, and ahead", [roomy, sample("held", ["A", "3"])]),
    sane(within_room, "nobody holds any", [spawned(), sample("held")]),
    sane(within_room, "a worker that is not the bench's", [sample("held", ["Z", "9"])]),
    sane(within_room, "another sample", [spawned(), sample("counted", ["A", "9"])]),
    wrong(within_room, "one too many", [spawned(), sample("held", ["A", "2"])], ("over-claim", 2)),
    wrong(within_room, "one more than ahead", [roomy, sample("held", ["A", "4"])], ("over-claim", 2)),
    wrong(
        within_room,
        "its namesake had more room",
        [roomy, spawned(), sample("held", ["A", "3"], ["B", "1"])],
        ("over-claim", 3),
    ),
    sane(nothing_held_open, "none is open", [sample("open")]),
    sane(nothing_held_open, "another sample", [sample("held", ["A", "2"])]),
    wrong(
        nothing_held_open,
        "two are open",
        [sample("open", ["A main", "idle in transaction"], ["A handler", "active"])],
        ("long-transaction", 1),
        ("long-transaction", 1),
    ),
]
