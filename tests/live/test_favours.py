"""What queue_core's adapter answers when it is asked for figures and favours: the truth, as the table has it."""

from collections.abc import Callable
from typing import Any

from bench.checks.ending import nothing_lost
from bench.faults.base import Evidence, Fault
from bench.faults.rows import Rows
from bench.scenario import Scenario
from bench.script import Run
from tests.live.conftest import Outcome, Play

HOUR = 3600.0


class Nothing(Fault):
    """A fault step that does nothing: every arm needs one."""

    def inject(self) -> Evidence:
        return {}


def played(play: Play, script: Callable[[Run], None]) -> Outcome:
    outcome = play(Scenario("favours", "-", 43, "test", "-", "-", [], [nothing_lost], run=script))
    assert outcome.verdict == "pass", outcome.said
    return outcome


def test_explain_counts_and_claims_nothing(play: Play) -> None:
    costs: list[int] = []

    def script(run: Run) -> None:
        job = run.enqueue()
        answers = [run.ask("explain") for _ in range(2)]
        assert [answer["jobs"] for answer in answers] == [1, 1]
        costs.extend(answer["buffers"] for answer in answers)
        run.fault(Nothing())
        row = job.row
        assert (row["state"], row["claim"]) == ("queued", "0")

    outcome = played(play, script)
    assert costs[0] > 0
    assert [event["answer"]["buffers"] for event in outcome.events("answered")] == costs


def test_stats_tell_figures_and_the_alarms_that_ring(play: Play) -> None:
    answers: list[dict[str, Any]] = []

    def script(run: Run) -> None:
        run.fault(Rows(run, 3, "queued", age=HOUR))
        answers.append(run.ask("stats", limits={"depth": 3, "oldest": HOUR, "expired": 0}))

    (asked,) = played(play, script).events("answered")
    assert asked["limits"] == {"depth": 3, "oldest": HOUR, "expired": 0}
    assert asked["answer"] == answers[0]
    assert answers[0]["figures"]["depth"] == 3
    assert [alarm.partition(":")[0] for alarm in answers[0]["alarms"]] == ["oldest"]


def test_a_client_can_be_asked_for_what_is_held_up(play: Play) -> None:
    seen: list[object] = []

    def script(run: Run) -> None:
        cleaner = run.producer("cleaner")
        run.fault(Rows(run, 5, "done", age=HOUR))
        with run.holding("LOCK TABLE jobs") as barrier:
            purge = cleaner.ask_later("purge", done_after=1.0, failed_after=None, batch=2)
            seen.append((cleaner.until_waiting(purge), barrier.waiting()))
        seen.append(purge.result())

    (asked,) = played(play, script).events("answered")
    assert seen[-2:] == [(True, ["cleaner"]), {"removed": 5}]  # the last try, where the machine stalled
    assert (asked["request"], asked["batch"], asked["answer"]) == ("purge", 2, {"removed": 5})
