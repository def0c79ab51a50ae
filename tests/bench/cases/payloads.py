"""Whoever takes a job can read it."""

from bench.checks.payloads import payloads_read
from tests.bench.cases import sane, wrong
from tests.bench.histories import Run, enqueued

a, b = Run(1, "A"), Run(2, "B")
again = Run(2, "A")

CASES = [
    sane(payloads_read, "begun, and taken", [a.started, a.finished, a.accepted]),
    sane(payloads_read, "begun, and refused", [a.started, a.finished, a.refused]),
    sane(payloads_read, "begun, raised, and tried again", [a.started, a.raised, a.accepted, b.started, b.accepted]),
    sane(payloads_read, "its end is not told yet", [a.started]),
    wrong(payloads_read, "never begun", [enqueued(), a.accepted], ("unreadable", 2)),
    wrong(payloads_read, "begun by another, afterwards", [a.accepted, b.started, b.accepted], ("unreadable", 1)),
    wrong(payloads_read, "begun in an earlier attempt", [a.started, a.accepted, again.accepted], ("unreadable", 3)),
    wrong(payloads_read, "again and again, and told once", [a.accepted, again.accepted], ("unreadable", 1)),
    wrong(payloads_read, "by two", [a.accepted, b.accepted], ("unreadable", 1), ("unreadable", 2)),
]
