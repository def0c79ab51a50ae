"""The facts of a run: the same whatever luck and the machine decide, and none that was not seen."""

from __future__ import annotations

from typing import Any

import pytest

from reports.compared import Change, against, changes, flat
from reports.facts import Facts, of_arm, unseen, volatile
from tests.reports.demonstrations import SOUND, broken, crowd, death, drained, unrenewed
from tests.reports.samples import History, worker_death

DEATH = of_arm(death(), SOUND)
UNRENEWED = of_arm(unrenewed(), broken("double-execution"))


def told(**sides: Facts) -> dict[str, Any]:
    return {"heartbeat": {"lease": 2.0, "sides": sides}}


def test_the_facts_by_name() -> None:
    assert flat(DEATH, 6.0) == {
        "lease": "6 s",
        "began": "dying at attempt 1; other-3 at attempt 2",
        "fault": "kill -9 dying, status -9",
        "died": "dying at attempt 1",
        "observation 1 columns": "id|state|leased_by|attempt",
        "observation 1 row": "1|running|dying|1",
        "observation 1 got": "other-1: 0 jobs",
        "observation 1 rules out": "lock",
        "observation 2 columns": "id|state|locked",
        "observation 2 row": "1|running|f",
        "observation 2 got": "other-2: 0 jobs",
        "observation 2 rules out": "lock, lease",
        "reclaimed": "1: [1]",
        "observation 3 columns": "id|state|leased_by|attempt",
        "observation 3 row": "1|queued||1",
        "accepted": "other-3 at attempt 2",
        "observation 4 columns": "id|state|attempt",
        "observation 4 row": "1|done|2",
        "at once": "1",
        "shown": "holds",
    }


def test_who_was_refused_and_that_two_ran_at_once() -> None:
    named = flat(UNRENEWED, 2.0)
    assert (named["refused"], named["accepted"]) == ("owner at attempt 1", "rival at attempt 2")
    assert (named["at once"], named["shown"]) == ("2", "double-execution")


def test_a_drain_tells_the_signal_and_the_exit() -> None:
    named = flat(of_arm(drained(), SOUND), 3.0)
    assert (named["fault"], named["exited"]) == ("SIGTERM deploy, arrived, caught", "deploy 0")
    assert named["reclaimed"] == "0: []"


def test_no_time_and_no_pid_is_a_fact() -> None:
    slower = [{**event, "t": event["t"] * 3 + 1} for event in death()]
    for event in slower:
        event |= {"pid": 7} if "pid" in event else {}
        if event["event"] == "receipt":
            event["evidence"] = {"pids": [7], "status": -9}
    assert of_arm(slower, SOUND) == DEATH


def test_what_began_after_the_row_was_read_is_told_after_it() -> None:
    steps = [step["step"] for step in UNRENEWED["steps"]]
    assert steps == ["began", "fault", "reclaimed", "observed", "began", "refused", "accepted", "observed"]
    history = unrenewed()
    at = next(i for i, event in enumerate(history) if event["event"] == "observation")
    history[at - 1], history[at] = history[at], history[at - 1]  # the rival came a moment later
    assert of_arm(history, broken("double-execution")) == UNRENEWED


def test_a_row_that_was_read_too_late_is_unseen() -> None:
    assert not unseen(DEATH)
    assert not unseen(UNRENEWED)
    assert unseen(of_arm(unrenewed(late=True), broken("double-execution"))) == ["the row of observation 1"]


def test_an_end_of_which_nobody_heard_is_unseen() -> None:
    facts = of_arm(unrenewed(told=False), broken("double-execution"))
    assert unseen(facts) == ["whether owner's end was accepted"]


def test_the_order_of_two_ends_is_no_fact() -> None:
    late, early = (of_arm(unrenewed(late=late), broken("double-execution")) for late in (True, False))
    assert [step for step in late["steps"] if step["step"] in ("refused", "accepted")] == [
        step for step in early["steps"] if step["step"] in ("refused", "accepted")
    ]


def test_a_side_may_be_told_in_part() -> None:
    part = of_arm(death(), SOUND, until=1)
    assert [step["n"] for step in part["steps"] if step["step"] == "observed"] == [1]
    assert part["steps"] == DEATH["steps"][: len(part["steps"])]


@pytest.mark.parametrize("first", ["claimer-1", "claimer-4"])
def test_which_of_a_crowd_was_first_is_no_fact(first: str) -> None:
    facts = of_arm(crowd(first), SOUND)
    assert facts == of_arm(crowd("claimer-2"), SOUND)
    named = flat(facts, 1.0)
    assert (named["began"], named["claimers"]) == ("claimer-* at attempt 1", "4")
    assert (named["waiting at the row"], named["load"]) == ("0", "2 of 2, taken once")


@pytest.mark.parametrize("first", [("claimer-1", "claimer-2"), ("claimer-3", "claimer-1", "claimer-4")])
def test_how_many_of_a_crowd_got_it_is_no_fact_where_it_is_more_than_one(first: tuple[str, ...]) -> None:
    facts = of_arm(crowd(*first, again=True), broken("double-claim"))
    assert facts == of_arm(crowd("claimer-4", "claimer-2", "claimer-1", again=True), broken("double-claim"))
    named = flat(facts, 1.0)
    assert (named["began"], named["accepted"]) == ("claimer-*, several", "claimer-*")
    assert (named["at once"], named["waiting at the row"]) == ("several", "several")
    assert named["observation 1 row"] == "1|running|claimer-*|>1"
    assert named["load"] == "2 of 2, taken again"


def test_what_may_come_with_the_anomaly_is_no_fact_unless_it_is_unexpected() -> None:
    assert of_arm(death(), broken("freed-at-death", "attempt-not-counted"))["shown"] == "freed-at-death"
    assert of_arm(death(), broken("lost", "stranded", expected=False))["shown"] == "lost, stranded"


def test_a_twin_rules_no_explanation_out() -> None:
    assert not [step for step in of_arm(death(), broken("stranded"))["steps"] if "ruled_out" in step]


@pytest.mark.parametrize("history", [[], worker_death()[:1], worker_death(), [{"t": 0.0, "event": "observation"}]])
def test_a_history_that_is_cut_or_odd_is_read(history: History) -> None:
    assert flat(of_arm(history, SOUND), 1.0)["shown"] == "holds"


def test_what_is_no_fact_is_kept_apart() -> None:
    about = volatile(crowd("claimer-3", "claimer-1"), {"lease": 1.0, "tries": 2, "seconds": 1.7})
    assert about["began"] == ["claimer-3 at attempt 1", "claimer-1 at attempt 2"]
    assert (about["lease"], about["tries"]) == (1.0, 2)
    assert about["observed_at"] == [0.2, 0.8]


# Held against a record.


def test_the_same_facts_are_no_change() -> None:
    assert changes(told(sound=DEATH), told(sound=of_arm(death(), SOUND))) == []


def test_a_change_tells_what_was_and_what_is() -> None:
    now = {**DEATH, "steps": [*DEATH["steps"][:-1], {**DEATH["steps"][-1], "rows": ["1|done|3"]}]}
    assert changes(told(sound=DEATH), told(sound=now)) == [
        Change("heartbeat", "sound", "observation 4 row", "1|done|2", "1|done|3")
    ]


def test_a_fact_that_is_gone_or_new_is_a_change() -> None:
    now = {**DEATH, "steps": [step for step in DEATH["steps"] if step["step"] != "reclaimed"]}
    assert changes(told(sound=DEATH), told(sound=now)) == [Change("heartbeat", "sound", "reclaimed", "1: [1]", None)]
    assert changes(told(sound=now), told(sound=DEATH)) == [Change("heartbeat", "sound", "reclaimed", None, "1: [1]")]
    assert {change.old for change in changes({}, told(sound=DEATH))} == {None}


def test_another_lease_is_a_change() -> None:
    now = {"heartbeat": {"lease": 3.0, "sides": {"sound": DEATH}}}
    assert changes(told(sound=DEATH), now) == [Change("heartbeat", "sound", "lease", "2 s", "3 s")]


def test_a_side_that_was_not_seen_is_not_judged() -> None:
    assert changes(told(sound=DEATH, NoRenewal=UNRENEWED), told(sound=DEATH)) == []


# Held against the article.


def entry(fact: str, value: str, side: str = "sound", **more: Any) -> dict[str, Any]:
    return {"facts": [{"scenario": "heartbeat", "side": side, "fact": fact, "value": value, "where": "there", **more}]}


@pytest.mark.parametrize(
    ("article", "status", "here", "why"),
    [
        (entry("reclaimed", "1: [1]"), "same", "1: [1]", ""),
        (entry("reclaimed", "1: [1]", why="never mind"), "same", "1: [1]", ""),
        (entry("accepted", "x", here="other-3 at attempt 2", why="a name"), "known", "other-3 at attempt 2", "a name"),
        (entry("accepted", "x", here="y", why="a name"), "changed", "other-3 at attempt 2", ""),
        (entry("reclaimed", "0: []"), "changed", "1: [1]", ""),
        (entry("no such fact", "1"), "changed", "", ""),
        (entry("work", "6 s", here="3 L", told=True, why="the same"), "told", "3 L", "the same"),
    ],
    ids=["same", "same as well", "known", "known no more", "changed", "missing", "told"],
)
def test_beside_the_article(article: dict[str, Any], status: str, here: str, why: str) -> None:
    (found,) = against(article, told(sound=DEATH))
    assert (found.status, found.here, found.why, found.where) == (status, here, why, "there")


def test_of_a_side_that_was_not_seen_the_article_is_not_asked() -> None:
    assert against(entry("reclaimed", "1: [1]", side="NoRenewal"), told(sound=DEATH)) == []
