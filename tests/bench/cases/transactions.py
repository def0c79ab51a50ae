"""What was put in together, or under one key, comes to what was meant."""

from bench.checks.ending import nothing_lost, recovered
from bench.checks.transactions import both_or_neither, key_freed, one_alive
from bench.history import Event
from tests.bench.cases import sane, wrong
from tests.bench.histories import Run, enqueued, event, row, sample

OPEN: Event = event("uncommitted", job="job", id="1", role="job", by="client")

a = Run(1, "A")


def keyed(job: str, key: str = "K") -> Event:
    return {**enqueued(job), "key": key}


def answered(asked: float) -> Event:
    """Another enqueue of the key, asked for then, was answered with the job."""
    return {**keyed("other"), "event": "deduplicated", "to": "job", "asked": asked}


CASES = [
    sane(both_or_neither, "both", [sample("orders", ["job", "there", "done"])]),
    sane(both_or_neither, "neither", [sample("orders", ["job", "absent", "absent"])]),
    sane(both_or_neither, "none was written", [sample("orders")]),
    sane(
        both_or_neither,
        "one was there before the other",
        [sample("orders", ["job", "absent", "queued"]), sample("orders", ["job", "there", "done"])],
    ),
    wrong(
        both_or_neither,
        "the job alone",
        [sample("orders", ["other", "there", "done"], ["job", "absent", "queued"])],
        ("job-without-row", 1),
    ),
    wrong(both_or_neither, "the row alone", [sample("orders", ["job", "there", "absent"])], ("row-without-job", 1)),
    sane(both_or_neither, "a job that is over, and deleted", [a.started, sample("orders", ["job", "there", "absent"])]),
    sane(nothing_lost, "never committed", [OPEN, row("absent")]),
    sane(recovered, "never committed", [OPEN, row("absent")]),
    sane(recovered, "not yet committed", [OPEN, row("queued")]),
    wrong(nothing_lost, "committed", [OPEN, enqueued(), row("absent")], ("lost", 3)),
    wrong(nothing_lost, "never committed, and yet done", [OPEN, row("done")], ("lost", 2)),
    wrong(nothing_lost, "another was never committed", [OPEN, row("absent", "other")], ("lost", 2)),
    sane(one_alive, "one", [keyed("job")]),
    sane(one_alive, "two keys", [keyed("job"), keyed("other", "L")]),
    sane(one_alive, "no keys", [enqueued("job"), enqueued("other")]),
    sane(one_alive, "one was finished before the other", [keyed("job"), a.started, a.finished, keyed("other")]),
    sane(one_alive, "one had failed before the other", [keyed("job"), row("failed"), keyed("other")]),
    sane(one_alive, "one is not committed", [{**OPEN, "key": "K"}, keyed("other")]),
    sane(
        one_alive,
        "answered with the one that is alive",
        [keyed("job"), {**keyed("other"), "event": "deduplicated", "to": "job"}, a.started],
    ),
    wrong(one_alive, "two", [keyed("job"), keyed("other")], ("duplicate-job", 1, 2)),
    wrong(one_alive, "one has begun", [keyed("job"), a.started, keyed("other")], ("duplicate-job", 1, 3)),
    wrong(one_alive, "one has raised", [keyed("job"), a.started, a.raised, keyed("other")], ("duplicate-job", 1, 4)),
    wrong(one_alive, "one is queued", [keyed("job"), row("queued"), keyed("other")], ("duplicate-job", 1, 3)),
    wrong(
        one_alive,
        "three",
        [keyed("job"), keyed("other"), keyed("third")],
        ("duplicate-job", 1, 2),
        ("duplicate-job", 2, 3),
    ),
    wrong(
        one_alive,
        "the end of the first does not free the key of the second",
        [keyed("job"), keyed("other"), a.finished, keyed("third")],
        ("duplicate-job", 1, 2),
        ("duplicate-job", 2, 4),
    ),
    sane(key_freed, "it was alive", [keyed("job"), row("queued"), a.started, answered(3.5), a.finished, row("done")]),
    sane(key_freed, "it ended after that was asked", [keyed("job"), a.started, a.finished, row("done"), answered(3.5)]),
    sane(key_freed, "it was finished, and its queue had not heard of it", [keyed("job"), a.finished, answered(2.5)]),
    sane(key_freed, "another one was over", [keyed("job"), row("done", "third"), answered(2.5)]),
    wrong(key_freed, "it was done", [keyed("job"), row("done"), answered(2.5)], ("swallowed", 2, 3)),
    wrong(key_freed, "it had failed", [keyed("job"), row("failed"), answered(2.5)], ("swallowed", 2, 3)),
]
