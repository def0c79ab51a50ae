"""What is done to a reclaim: it is held up in the middle, or finds a row that can't be changed."""

from collections.abc import Callable

import pytest

from bench import runner
from bench.checks.ending import recovered
from bench.faults.base import Evidence, Fault
from bench.faults.unwritable import CHECK_VIOLATION, TAKEN, Unwritable
from bench.orders import FINISH
from bench.scenario import Scenario
from bench.script import Run
from tests.live.conftest import Play

UPDATE = "UPDATE jobs SET priority = priority WHERE id = {}"


class Nothing(Fault):
    """A fault step that does nothing: every arm needs one."""

    def inject(self) -> Evidence:
        return {}


def scenario(script: Callable[[Run], None]) -> Scenario:
    return Scenario("reclaims", "-", 25, "test", "-", "-", [], [recovered], run=script)


def test_a_row_is_unwritable_until_the_fault_is_lifted_and_no_other_is(play: Play) -> None:
    answers = {}

    def script(run: Run) -> None:
        job, other = run.enqueue(orders=[FINISH]), run.enqueue("other", orders=[FINISH])
        with run.fault(Unwritable(run, job)):
            answers["meanwhile"] = [run.execute(UPDATE.format(each.id)) for each in (job, other)]
            answers["insert"] = [run.execute("INSERT INTO jobs (kind, state) VALUES ('x', 'done')")]
        answers["then"] = [run.execute(UPDATE.format(each.id)) for each in (job, other)]
        run.worker("worker")
        run.all_finished_within([job, other], 10, bound="the worker is idle")

    outcome = play(scenario(script))
    assert outcome.verdict == "pass", outcome.said
    assert answers == {"meanwhile": [CHECK_VIOLATION, TAKEN], "insert": [TAKEN], "then": [TAKEN, TAKEN]}
    assert [event["evidence"]["answered"] for event in outcome.events("receipt")] == [CHECK_VIOLATION, TAKEN]


def test_where_the_database_takes_the_change_all_the_same_there_is_no_receipt(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "TRIES", 1)

    def script(run: Run) -> None:
        job = run.enqueue(orders=[FINISH])
        with run.fault(Unwritable(run, job, table="no_such_table")):
            raise AssertionError("the fault was not done, and the script went on")

    outcome = play(scenario(script))
    assert outcome.verdict == "inconclusive"
    assert "the row of job can still be written: the database answered 42P01" in outcome.said


def test_a_producers_reclaim_may_wait_while_the_bench_looks(play: Play) -> None:
    said: dict[str, tuple[object, object]] = {}

    def script(run: Run) -> None:
        client = run.producer("client")
        job = run.enqueue(orders=[FINISH])
        run.fault(Nothing())
        free = client.reclaim_later()
        said["free"] = (client.until_waiting(free), free.result())
        with run.holding("LOCK TABLE jobs IN SHARE MODE"):
            held = client.reclaim_later()
            said["held"] = (client.until_waiting(held), run.query("SELECT state FROM jobs")[1])
        said["let go"] = (held.result(), job.row["state"])
        run.worker("worker")
        job.finished_within(10, bound="the worker is idle")

    outcome = play(scenario(script))
    assert outcome.verdict == "pass", outcome.said
    assert said == {"free": (False, "0 jobs: []"), "held": (True, [["queued"]]), "let go": ("0 jobs: []", "queued")}
    assert [(event["worker"], event["ids"]) for event in outcome.events("reclaimed")] == [("client", [])] * 2
