"""What comes before what: trouble, a cut, doubt, no progress, and only then what the checks find."""

from collections.abc import Iterator, Sequence

import pytest

from bench.checks import Anomaly
from bench.checks.ending import recovered
from bench.checks.ownership import no_overlap
from bench.history import Event
from bench.verdict import Verdict, as_expected, judge
from tests.bench.histories import (
    END,
    KILLED,
    QUEUED,
    STALLED,
    Run,
    event,
    exited,
    history,
    injected,
    no_receipt,
    receipt,
    reclaimed,
    stalled,
    wait,
    whole,
)

a, b = Run(1, "A"), Run(2, "B")
OVERLAP = [a.started, b.started]
DONE = [injected(), receipt()]
TROUBLE = event("trouble", kind="adapter", text="it printed rubbish")
BROKEN = event("premise", text="the lease ran out too early", true=False)
STUCK = wait(False, must=True)
UNSUPPORTED = event("unsupported", reason="its describe does not offer hold")


def always(events: Sequence[Event]) -> Iterator[Anomaly]:
    """`always`: a check that finds something in every history."""
    yield Anomaly("always", "there it is", (0,))


def said(events: list[Event]) -> tuple[str, str]:
    """The verdict and its reason, where a check would find something if it were asked."""
    verdict = judge(events, [always])
    assert verdict.names == {"always"} or verdict.verdict != "fail" or verdict.names == {"no-progress"}
    return verdict.verdict, verdict.reason


def test_nothing_found_is_a_pass() -> None:
    assert judge(whole(QUEUED, a.started, a.finished), [no_overlap, recovered]) == Verdict("pass")


def test_what_the_checks_find_is_a_fail_in_their_order() -> None:
    verdict = judge(whole(QUEUED, *OVERLAP, wait(False, "job", "2 L")), [recovered, no_overlap])
    assert (verdict.verdict, verdict.reason) == ("fail", "")
    assert [anomaly.name for anomaly in verdict.anomalies] == ["stranded", "double-execution"]


DOUBTS: dict[str, tuple[list[Event], str]] = {
    "a fault left no receipt": (history(injected(), STALLED, END), "the fault kill -9 on A left no receipt"),
    "a fault left no receipt, and it is known why": (
        history(injected(), no_receipt("A was not reaped"), STALLED, END),
        "the fault kill -9 on A left no receipt: A was not reaped",
    ),
    "the second of two faults left no receipt": (
        history(*DONE, injected("pause", "B", step=2), STALLED, END),
        "the fault pause on B left no receipt",
    ),
    "a fault was done, and it is not known to have been lifted": (
        history(*DONE, no_receipt("A is not running again"), STALLED, END),
        "the fault kill -9 on A left no receipt: A is not running again",
    ),
    "of two faults each has its own reason": (
        history(*DONE, injected("pause", "B", step=2), no_receipt("B is not stopped", step=2), STALLED, END),
        "the fault pause on B left no receipt: B is not stopped",
    ),
    "of two faults without a receipt, the one whose reason is known": (
        history(injected(), injected("pause", "B", step=2), no_receipt("B is not stopped", step=2), STALLED, END),
        "the fault pause on B left no receipt: B is not stopped",
    ),
    "no receipt though there is no progress": (
        history(injected(), no_receipt("A was not reaped"), STUCK, STALLED, END),
        "the fault kill -9 on A left no receipt: A was not reaped",
    ),
    "the receipt is of another step": (
        history(injected(), receipt(step=2), STALLED, END),
        "the fault kill -9 on A left no receipt",
    ),
    "there was no fault step": (history(QUEUED, STALLED, END), "the script came to no fault step"),
    "there was no fault step in a sham arm": (
        history(QUEUED, STALLED, END, fault=False),
        "the script came to no fault step",
    ),
    "there was no fault step, and what had to come came": (
        history(wait(True, must=True), STALLED, END),
        "the script came to no fault step",
    ),
    "there was no fault step, and what a claim allows did not come": (
        history(wait(False, "job", "2 L"), STALLED, END),
        "the script came to no fault step",
    ),
    "the fault was not injected": (
        history(injected(really=False), STALLED, END),
        "the fault kill -9 on A was not injected",
    ),
    "one of two faults was not injected": (
        history(*DONE, injected("pause", "B", step=2, really=False), STALLED, END),
        "the fault pause on B was not injected",
    ),
    "a premise is broken": (history(*DONE, BROKEN, STALLED, END), "the lease ran out too early"),
    "a premise is broken in a sham arm": (
        history(injected(really=False), BROKEN, STALLED, END, fault=False),
        "the lease ran out too early",
    ),
    "a broken premise comes before the fault step that it kept from coming": (
        history(QUEUED, BROKEN, STALLED, END),
        "the lease ran out too early",
    ),
    "a broken premise comes before the fault that was not injected for it": (
        history(injected(really=False), BROKEN, STALLED, END),
        "the lease ran out too early",
    ),
    "a broken premise comes before a missing receipt": (
        history(injected(), no_receipt("A was not reaped"), BROKEN, STALLED, END),
        "the lease ran out too early",
    ),
    "a broken premise comes before a stall": (
        history(*DONE, BROKEN, stalled(9.0), END),
        "the lease ran out too early",
    ),
    "a premise without a text is broken": (
        history(*DONE, event("premise", text="", true=False), STALLED, END),
        "a premise did not hold",
    ),
    "the first of two broken premises": (
        history(*DONE, BROKEN, event("premise", text="another", true=False), STALLED, END),
        "the lease ran out too early",
    ),
    "a stall is above the margin": (
        history(*DONE, stalled(0.301), END, margin=0.3),
        "this machine stalled for 0.301 s, and the arm has a margin of 0.300 s",
    ),
    "the worst of several stalls is above the margin": (
        history(*DONE, stalled(0.4), stalled(0.1), END, margin=0.3),
        "this machine stalled for 0.400 s, and the arm has a margin of 0.300 s",
    ),
    "no stall was measured": (history(*DONE, END), "the bench did not measure its stalls"),
}


@pytest.mark.parametrize("doubt", DOUBTS)
def test_doubt_is_inconclusive_whatever_a_check_would_find(doubt: str) -> None:
    events, reason = DOUBTS[doubt]
    assert said(events) == ("inconclusive", reason)


def test_a_stall_just_below_the_margin_is_no_doubt() -> None:
    assert judge(history(*DONE, stalled(0.299), END, margin=0.3), []).verdict == "pass"


def test_a_premise_that_holds_is_no_doubt() -> None:
    assert judge(whole(event("premise", text="it was broken", true=True)), []).verdict == "pass"


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([TROUBLE, END], id="nothing else was done"),
        pytest.param([TROUBLE], id="the history is cut, too"),
        pytest.param([BROKEN, stalled(9.0), TROUBLE, END], id="there is doubt, too"),
        pytest.param([*DONE, STUCK, TROUBLE, STALLED, END], id="there is no progress, too"),
    ],
)
def test_trouble_comes_before_all(events: list[Event]) -> None:
    assert said(history(*events)) == ("error", "adapter: it printed rubbish")


def test_a_cut_comes_before_every_other_doubt_and_says_where() -> None:
    assert said(history(a.started, b.started, BROKEN)) == (
        "inconclusive",
        "the history is cut at 3.00 s, after 4 events: it has no end",
    )
    assert said([]) == ("inconclusive", "the history is cut before it began: it has no end")


def test_what_a_subject_does_not_offer_is_unsupported_before_any_doubt() -> None:
    assert said(history(UNSUPPORTED, STALLED, END)) == ("unsupported", "its describe does not offer hold")
    assert said(history(UNSUPPORTED, BROKEN, stalled(9.0), END))[0] == "unsupported"


def test_trouble_and_a_cut_come_before_unsupported() -> None:
    assert said(history(UNSUPPORTED, TROUBLE, END))[0] == "error"
    assert said(history(UNSUPPORTED))[0] == "inconclusive"


def test_an_end_that_is_not_the_last_event_is_a_cut() -> None:
    assert said([*whole(), {"t": 9.0, **a.started}])[0] == "inconclusive"


def test_no_progress_is_the_only_finding() -> None:
    verdict = judge(whole(QUEUED, STUCK), [always])
    assert verdict.verdict == "fail"
    assert [(anomaly.name, anomaly.events) for anomaly in verdict.anomalies] == [("no-progress", (2,))]


def test_no_progress_excuses_that_the_script_came_to_no_fault() -> None:
    assert judge(history(QUEUED, STUCK, STALLED, END), [always]).names == {"no-progress"}


@pytest.mark.parametrize(
    "events", [[STUCK, injected(), STALLED, END], [STUCK, *DONE, stalled(9.0), END], [STUCK, BROKEN, STALLED, END]]
)
def test_no_progress_excuses_no_other_doubt(events: list[Event]) -> None:
    assert said(history(*events))[0] == "inconclusive"


def test_a_quiet_sham_arm_passes() -> None:
    assert judge(whole(QUEUED, a.started, reclaimed(since=2), a.finished, exited(), fault=False), []).verdict == "pass"


DISTURBANCES: dict[str, tuple[list[Event], int]] = {
    "started again": ([a.started, a.finished, b.started], 3),
    "reclaimed alive": ([a.started, reclaimed("job", since=1)], 2),
    "died": ([a.started, a.died], 2),
    "killed": ([exited(status=KILLED)], 1),
    "a receipt of a fault that was left out": ([receipt()], 1),
}


@pytest.mark.parametrize("what", DISTURBANCES)
def test_a_sham_arm_must_be_undisturbed(what: str) -> None:
    events, position = DISTURBANCES[what]
    verdict = judge(whole(*events, fault=False), [])
    assert verdict.verdict == "fail"
    assert [(anomaly.name, anomaly.events) for anomaly in verdict.anomalies] == [("disturbed", (position,))]


@pytest.mark.parametrize("what", DISTURBANCES)
def test_a_faulted_arm_may_be_disturbed(what: str) -> None:
    assert judge(whole(*DISTURBANCES[what][0]), []).verdict == "pass"


def fail(*names: str) -> Verdict:
    return Verdict("fail", tuple(Anomaly(name, "", (0,)) for name in names))


EXPECTED: dict[str, tuple[Verdict, str, list[str]]] = {
    "a pass": (Verdict("pass"), "pass", []),
    "the named anomaly": (fail("stranded"), "stranded", []),
    "the named anomaly, several times": (fail("stranded", "stranded"), "stranded", []),
    "the named anomaly with a declared one": (fail("stranded", "lost"), "stranded", ["lost"]),
    "the named anomaly without the declared one": (fail("stranded"), "stranded", ["lost"]),
}

UNEXPECTED: dict[str, tuple[Verdict, str, list[str]]] = {
    "an anomaly in a sound arm": (fail("stranded"), "pass", []),
    "an anomaly in a sham arm, though declared": (fail("lost"), "pass", ["lost"]),
    "a twin that passes": (Verdict("pass"), "stranded", []),
    "a foreign anomaly instead": (fail("lost"), "stranded", []),
    "a foreign anomaly beside": (fail("stranded", "lost"), "stranded", []),
    "a declared one alone": (fail("lost"), "stranded", ["lost"]),
    "no progress": (fail("no-progress"), "stranded", []),
    "inconclusive, where a pass is due": (Verdict("inconclusive", reason="a stall"), "pass", []),
    "inconclusive, where an anomaly is due": (Verdict("inconclusive", reason="a stall"), "stranded", []),
    "an error": (Verdict("error", reason="rubbish"), "pass", []),
    "unsupported": (Verdict("unsupported", reason="no hold"), "pass", []),
}


@pytest.mark.parametrize("how", EXPECTED)
def test_as_expected(how: str) -> None:
    assert as_expected(*EXPECTED[how])


@pytest.mark.parametrize("how", UNEXPECTED)
def test_not_as_expected(how: str) -> None:
    assert not as_expected(*UNEXPECTED[how])
