"""Rows that are written past the queue: counted in the table, and gone when the fault is lifted."""

from collections.abc import Callable

import pytest

from bench import runner
from bench.checks.ending import nothing_lost
from bench.faults.rows import Rows
from bench.scenario import Scenario
from bench.script import Run
from tests.live.conftest import Outcome, Play

HOUR = 3600.0
COUNTED = """
    SELECT state, queue, count(*), count(finished_at), count(*) FILTER (WHERE run_at < now() - interval '59 minutes'),
           count(*) FILTER (WHERE coalesce(finished_at, run_at) < now() - interval '121 minutes')
    FROM jobs GROUP BY state, queue ORDER BY state
"""


def play_script(play: Play, script: Callable[[Run], None], fault: bool = True) -> Outcome:
    return play(Scenario("rows", "-", 42, "test", "-", "-", [], [nothing_lost], run=script), fault=fault)


def test_they_are_there_and_as_old_as_told(play: Play) -> None:
    seen = []

    def script(run: Run) -> None:
        run.fault(Rows(run, 30, "done", age=HOUR))
        run.fault(Rows(run, 20, "failed", age=HOUR))
        run.fault(Rows(run, 10, "queued", queue="bulk"))
        seen.append(run.query(COUNTED)[1])

    outcome = play_script(play, script)
    assert outcome.verdict == "pass", outcome.said
    assert [event["evidence"] for event in outcome.events("receipt")] == [{"rows": 30}, {"rows": 20}, {"rows": 10}]
    assert seen == [
        [
            ["done", "default", "30", "30", "30", "0"],
            ["failed", "default", "20", "20", "20", "0"],
            ["queued", "bulk", "10", "0", "0", "0"],
        ]
    ]


def test_they_are_gone_when_the_fault_is_lifted_and_nothing_else_is(play: Play) -> None:
    left = []

    def script(run: Run) -> None:
        run.enqueue()
        with run.fault(Rows(run, 10, "queued")):
            run.need("anything", lambda _: True)
        left.append(run.query("SELECT count(*) FROM jobs")[1])

    outcome = play_script(play, script)
    assert outcome.verdict == "pass", outcome.said
    assert [event["evidence"] for event in outcome.events("receipt")] == [{"rows": 10}, {"rows": 0}]
    assert left == [[["1"]]]


def test_a_sham_writes_none(play: Play) -> None:
    left = []

    def script(run: Run) -> None:
        with run.fault(Rows(run, 10, "done")):
            left.append(run.query("SELECT count(*) FROM jobs")[1])

    assert play_script(play, script, fault=False).verdict == "pass"
    assert left == [[["0"]]]


@pytest.fixture
def _once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "TRIES", 1)


@pytest.mark.usefixtures("_once")
def test_none_that_are_there_already_are_taken_for_them(play: Play) -> None:
    def script(run: Run) -> None:
        run.fault(Rows(run, 3, "done"))
        run.fault(Rows(run, 3, "done"))

    outcome = play_script(play, script)
    assert outcome.verdict == "inconclusive"
    assert "the table has 3 of them already" in outcome.said


@pytest.mark.usefixtures("_once")
@pytest.mark.parametrize("refusal", ["RAISE 'no'", "RETURN NULL"])
def test_without_rows_there_is_no_receipt(play: Play, refusal: str) -> None:
    def script(run: Run) -> None:
        run.execute(
            f"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {refusal}; END $$;"
            " CREATE TRIGGER refuse BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION refuse()"
        )
        run.fault(Rows(run, 3, "done"))

    outcome = play_script(play, script)
    assert outcome.verdict == "inconclusive"
    assert "0 of the 3 done jobs are in the table" in outcome.said


@pytest.mark.usefixtures("_once")
def test_rows_that_stay_leave_no_receipt_of_the_end(play: Play) -> None:
    def script(run: Run) -> None:
        with run.fault(Rows(run, 3, "done")):
            run.execute("CREATE RULE stay AS ON DELETE TO jobs DO INSTEAD NOTHING")

    outcome = play_script(play, script)
    assert outcome.verdict == "inconclusive"
    assert "3 of the 3 done jobs are still in the table" in outcome.said


@pytest.mark.usefixtures("_once")
def test_the_receipt_is_counted_in_the_table_and_not_what_was_asked_for(play: Play) -> None:
    def script(run: Run) -> None:
        run.execute(
            "CREATE FUNCTION halve() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RETURN CASE WHEN NEW.id % 2 = 0 THEN NEW END; END $$;"
            " CREATE TRIGGER halve BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION halve()"
        )
        run.fault(Rows(run, 4, "done"))

    outcome = play_script(play, script)
    assert outcome.verdict == "inconclusive"
    assert "2 of the 4 done jobs are in the table (SQLSTATE 00000)" in outcome.said
