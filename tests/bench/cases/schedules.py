"""What is meant for a time is begun then, and once."""

from bench.checks.always import undisturbed
from bench.checks.schedules import never_early, one_job_a_tick
from bench.history import Event
from tests.bench.cases import sane, wrong
from tests.bench.histories import END, Run, enqueued

a, b = Run(1, "A"), Run(2, "B")


def later(asked: float, delay: float) -> Event:
    """Both in seconds: the lease is one."""
    return {**enqueued(), "asked": asked, "delay": delay}


def tick(started: Event, tick: str = "12:00", attempt: int | None = 1) -> Event:
    return {**started, "tick": tick, "attempt": attempt}


CASES = [
    sane(never_early, "begun when it is due", [later(0.5, 1.5), a.started]),
    sane(never_early, "begun late", [later(0.5, 1.0), END, END, a.started]),
    sane(never_early, "no delay", [{**enqueued(), "asked": 0.9}, a.started]),
    sane(never_early, "two clocks differ", [later(0.001, 2.0), a.started]),
    sane(never_early, "another job is begun", [later(0.5, 9.0), Run(1, "A", "other").started]),
    wrong(never_early, "begun before it is due", [later(0.5, 1.6), a.started], ("early", 1, 2)),
    wrong(never_early, "begun before the enqueue was answered", [a.started, later(0.5, 1.5)], ("early", 2, 1)),
    wrong(never_early, "twice", [later(0.5, 9.0), a.started, b.started], ("early", 1, 2), ("early", 1, 3)),
    sane(one_job_a_tick, "one", [tick(a.started)]),
    sane(one_job_a_tick, "two ticks", [tick(a.started), tick(b.started, "12:01")]),
    sane(one_job_a_tick, "two schedules", [tick(a.started), tick(Run(2, "B", "other").started)]),
    sane(one_job_a_tick, "one job is tried twice", [tick(a.started), a.died, tick(b.started, attempt=2)]),
    sane(one_job_a_tick, "no schedule", [a.started, a.died, b.started]),
    wrong(one_job_a_tick, "two", [tick(a.started), tick(b.started)], ("duplicate-tick", 1, 2)),
    wrong(
        one_job_a_tick,
        "two, and no attempt is told",
        [tick(a.started, attempt=None), tick(b.started, attempt=None)],
        ("duplicate-tick", 1, 2),
    ),
    wrong(
        one_job_a_tick,
        "three",
        [tick(a.started), tick(b.started), tick(a.started)],
        ("duplicate-tick", 1, 2),
        ("duplicate-tick", 1, 3),
    ),
    sane(
        undisturbed, "a scheduled job is begun at each tick", [tick(a.started), tick(b.started, "12:01")], fault=False
    ),
    wrong(undisturbed, "begun twice for one", [tick(a.started), tick(b.started)], ("disturbed", 2), fault=False),
]
