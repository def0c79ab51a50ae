"""What is read out of a history: leases, overlaps, faults, the origin of time."""

from __future__ import annotations

import pytest

from reports.chart import rows
from reports.events import kind_of
from reports.leases import leases, overlaps
from reports.story import read
from tests.reports.samples import HISTORIES, ev, started


def test_a_lease_that_is_not_renewed_runs_out_and_the_job_stays_taken() -> None:
    (lease,) = leases([started(0.0, "job-1", "a", 1)], "job-1", 1.0, last=3.0)
    assert (lease.start, lease.end, lease.ran_out, lease.tail) == (0.0, 1.0, True, 3.0)


def test_a_renewal_draws_the_lease_longer() -> None:
    events = [started(0.0, "job-1", "a", 1), ev(0.6, "renewed", worker="a", kept=["job-1"], lost=[])]
    (lease,) = leases(events, "job-1", 1.0, last=1.2)
    assert (lease.renewals, lease.end, lease.ran_out) == ([0.6], 1.2, False)


def test_a_late_renewal_is_a_second_lease() -> None:
    events = [started(0.0, "job-1", "a", 1), ev(1.4, "renewed", worker="a", kept=["job-1"], lost=[])]
    first, second = leases(events, "job-1", 1.0, last=2.0)
    assert first.ran_out
    assert (second.start, second.end) == (1.4, 2.0)


def test_a_refused_finish_leaves_the_lease_alone() -> None:
    refused = ev(0.3, "outcome", worker="b", job="job-1", attempt=1, accepted=False)
    (lease,) = leases([started(0.0, "job-1", "a", 1), refused], "job-1", 1.0, last=0.9)
    assert lease.end == 0.9


@pytest.mark.parametrize("alive", [False, "f"])
def test_the_queues_own_word_on_its_lease_wins(alive: object) -> None:
    told = ev(0.7, "row", job="job-1", row={"state": "running", "lease_alive": alive})
    (lease,) = leases([started(0.0, "job-1", "a", 1), told], "job-1", 1.0, last=2.0)
    assert (lease.end, lease.ran_out) == (0.7, True)


def test_overlap_is_of_one_job_with_itself() -> None:
    assert overlaps([("1", 0.0, 1.0), ("2", 0.5, 2.0)]) == []
    assert overlaps([("1", 0.0, 1.0), ("1", 1.0, 2.0)]) == []
    assert overlaps([("1", 0.0, 1.0), ("1", 0.5, 2.0), ("1", 0.8, 3.0)]) == [(0.5, 2.0)]


def test_time_begins_at_the_first_start_of_the_job_not_of_a_decoy() -> None:
    decoy = ev(0.0, "enqueued", job="d", role="decoy")
    story = read([decoy, started(0.2, "d", "a", 1), started(0.5, "job-1", "a", 2)])
    assert story.origin == 0.5


@pytest.mark.parametrize(
    ("kind", "drawn"),
    [("kill", "kill"), ("kill -9", "kill"), ("SIGSTOP", "pause"), ("sigterm", "term"), ("terminate backends", "other")],
)
def test_faults_by_their_words(kind: str, drawn: str) -> None:
    assert kind_of(kind) == drawn


def test_a_fault_that_is_left_out_marks_no_lane() -> None:
    sham = ev(0.5, "fault", step=1, kind="kill", target="a", injected=False)
    story = read([started(0.0, "job-1", "a", 1), sham])
    assert story.lanes[0].faults == []
    assert [n.kind for n in story.notes] == ["sham"]


def test_of_many_lanes_those_that_ran_the_job_are_kept() -> None:
    kept = [row.label for row in rows(read(HISTORIES["claim-race"]()), 6)]
    assert {"claimer-3", "claimer-7", "claimer-9"} <= set(kept)
    assert kept[-1] == "5 others"


def test_idle_passes_of_a_reclaimer_are_not_worth_a_mark_each() -> None:
    passes = [ev(t / 10, "reclaimed", jobs=["job-1"] if t == 7 else []) for t in range(20)]
    assert [t for t, _ in read(passes).shown_reclaims()] == [0.7]
