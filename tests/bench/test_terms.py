"""What a subject says of itself decides how long a script waits for it, and what it can look at."""

import pytest

from bench.arms import missing
from bench.checks.base import reclaims
from bench.contract import AdapterFault, Row
from bench.discover import pick, scenarios
from bench.terms import Terms
from tests.bench.histories import Run, event, history, receipt

a, b = Run(1, "A"), Run(2, "B")


def test_who_says_nothing_has_the_terms_that_scripts_are_written_for() -> None:
    terms = Terms.of({"slack": 0.0}, lease=2.0)
    assert (terms.lease, terms.interval, terms.longer) == (2.0, 1.0, 0.0)
    assert terms.recovery == 3.0
    assert not terms.hides("lease_alive")


def test_who_takes_longer_is_given_as_much_longer() -> None:
    terms = Terms.of({"lease": 10.0, "reclaim_every": 20.0, "slack": 3.0}, lease=1.0)
    assert (terms.lease, terms.recovery) == (10.0, 33.0)
    assert terms.longer == 3.0 + 20.0 - 5.0
    assert terms.own_reclaim == 23.0


def test_who_reclaims_more_often_gains_nothing_and_loses_nothing() -> None:
    assert Terms.of({"lease": 10.0, "reclaim_every": 1.0}, lease=1.0).longer == 0.0


def test_where_a_recovery_is_not_waited_for_the_lease_is_the_benchs_and_all_is_quick() -> None:
    terms = Terms.of({"lease": 3600.0, "reclaim_every": 600.0, "slack": 400.0}, lease=1.0).waited_for(60.0, 1.0)
    assert (terms.lease, terms.interval, terms.own_reclaim, terms.longer) == (1.0, 0.5, 1.0, 30.0)
    assert terms.is_hurried


def test_a_scenario_that_needs_no_recovery_is_run_however_long_one_takes() -> None:
    (needs, other) = pick(["worker-death", "claim-race"], scenarios())
    describe = {"lease": 3600.0}
    assert missing(needs, describe, [], 1.0, longest=60.0).startswith("a recovery takes 5400 s by its own word")
    assert missing(other, describe, [], 1.0, longest=60.0) == ""


@pytest.mark.parametrize(
    ("describe", "seconds"),
    [
        ({}, 30.0),
        ({"options": ["max_attempts"]}, 30.0),
        ({"retry_after": 5}, 5),
        ({"retry_after": 0.0, "options": ["max_attempts"]}, 0.0),
        ({"retry_after": 5, "options": ["backoff"]}, None),
    ],
)
def test_a_retry_waits_as_the_worker_was_told_or_as_its_queue_says(
    describe: dict[str, object], seconds: float | None
) -> None:
    assert Terms.of(describe, lease=1.0).retry_after == seconds


def test_a_scenario_that_waits_for_a_retry_is_not_run_where_that_takes_too_long() -> None:
    (retries,) = pick(["retry-gaps"], scenarios())
    (other,) = pick(["poison-worker"], scenarios())
    describe = {"options": ["max_attempts"], "retry_after": 61}
    assert missing(other, describe, [], 1.0, longest=60.0) == ""
    assert missing(retries, describe, [], 1.0, longest=61.0) == ""
    assert missing(retries, describe, [], 1.0, longest=60.0).startswith("a retry waits 61 s by its own word")
    assert missing(retries, {"options": ["max_attempts", "backoff"]}, [], 1.0, longest=1.5) == ""


def test_a_column_that_was_not_promised_is_blank_and_one_that_was_is_the_adapters_fault() -> None:
    terms = Terms.of({"columns": ["attempt"]}, lease=1.0)
    assert terms.hides("lease_alive")
    row = Row({"id": "1", "state": "running"}, terms.columns)
    assert row["lease_alive"] is None
    with pytest.raises(AdapterFault, match="no `attempt`"):
        row["attempt"]


@pytest.mark.parametrize(
    ("subject", "between", "expected"),
    [
        ({"reclaim": "called"}, [a.died], [False]),
        ({"reclaim": "automatic", "tells": ["reclaimed"]}, [a.died], [False]),
        ({"reclaim": "automatic"}, [a.died], [True]),
        ({"reclaim": "leader", "tells": []}, [], [True]),
        ({"reclaim": "automatic", "ownership": "connection"}, [a.finished], [False]),
        ({"reclaim": "automatic", "ownership": "connection"}, [receipt(), a.finished], [True]),
        ({"reclaim": "automatic"}, [receipt(), a.finished], [False]),
        ({"reclaim": "automatic"}, [a.finished, event("let-pass"), event("let-pass")], [True]),
    ],
)
def test_a_queue_that_reclaims_by_itself_and_tells_nobody_has_given_back_what_was_not_finished(
    subject: dict[str, object], between: list[dict[str, object]], expected: list[bool]
) -> None:
    events = history(a.started, *between, b.started)
    events[0]["subject"] |= subject
    events[0]["lease"] = 4.2  # a margin more than the longest of them: a lease begins before the job does
    assert [given_back for _, given_back in reclaims(events)] == [expected]
