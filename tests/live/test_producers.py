"""Clients with open transactions, leaders that die and jobs for later: each fault leaves a receipt, or says why not."""

import os
import signal
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from bench import runner
from bench.checks.ending import nothing_lost, recovered
from bench.checks.transactions import one_alive
from bench.faults.base import Evidence, Fault
from bench.faults.depose import LEADERS, Depose
from bench.faults.later import Later
from bench.faults.midway import Midway
from bench.faults.undo import KillClient, Rollback
from bench.orders import FINISH
from bench.producer import Producer
from bench.scenario import Scenario
from bench.script import Run
from tests.live.conftest import Outcome, Play, until

Script = Callable[[Run], None]


class Nothing(Fault):
    """A fault step that does nothing: every arm needs one."""

    def inject(self) -> Evidence:
        return {}


def scenario(script: Script) -> Scenario:
    return Scenario("clients", "-", 36, "test", "-", "-", [], [recovered, nothing_lost, one_alive], run=script)


def receipts(outcome: Outcome) -> list[dict[str, Any]]:
    assert outcome.verdict == "pass", outcome.said
    return [event["evidence"] for event in outcome.events("receipt")]


def said(outcome: Outcome, kind: str) -> list[str]:
    return [event["job"] for event in outcome.events(kind)]


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "TRIES", 1)
    monkeypatch.setattr("bench.faults.base.RECEIPT_WITHIN", 0.1)


# The producer.


def test_what_is_committed_counts_and_what_is_not_does_not(play: Play) -> None:
    def script(run: Run) -> None:
        client, jobs = run.producer("client"), []
        for name in ("alone", "committed", "rolled-back", "open"):
            if name != "alone":
                client.begin()
            jobs.append(client.enqueue(name, lasts=0))
            if name == "committed":
                client.commit()
            elif name == "rolled-back":
                client.rollback()
        run.fault(Nothing())
        run.worker("worker")
        assert run.until_over(jobs, within=20)

    outcome = play(scenario(script))
    assert outcome.verdict == "pass", outcome.said
    assert said(outcome, "enqueued") == ["alone", "committed"]
    assert said(outcome, "uncommitted") == ["committed", "rolled-back", "open"]
    assert sorted(said(outcome, "finished")) == ["alone", "committed"]
    assert {event["job"]: event["row"]["state"] for event in outcome.events("row")} == {
        "alone": "done",
        "committed": "done",
        "rolled-back": "absent",
        "open": "absent",
    }


def test_an_enqueue_that_waits_is_answered_when_the_other_has_ended(play: Play) -> None:
    def script(run: Run) -> None:
        one, other, jobs = run.producer("one"), run.producer("other"), []
        for commits in (True, False):
            midway = Midway(other, f"theirs-{commits}", commits=commits, key=f"K-{commits}")
            with run.fault(midway):
                asked = one.enqueue_later(f"mine-{commits}", orders=[FINISH], key=f"K-{commits}")
                assert one.until_waiting(asked)
                assert not asked.done()
            jobs.append(asked.result())
            assert jobs[-1].name == (f"theirs-{commits}" if commits else f"mine-{commits}")
            assert [job.name for job in midway.jobs] == (["theirs-True"] if commits else [])
        run.worker("worker")
        jobs[0].finish()
        assert run.until_over(jobs, within=20)

    outcome = play(scenario(script))
    fates = [receipt["fate"] for receipt in receipts(outcome)]
    assert fates == ["in progress", "committed", "in progress", "aborted"]
    assert said(outcome, "enqueued") == ["theirs-True", "mine-False"]
    assert said(outcome, "deduplicated") == ["mine-True"]


def test_an_enqueue_that_is_answered_did_not_wait(play: Play) -> None:
    def script(run: Run) -> None:
        client = run.producer("client")
        asked = client.enqueue_later("job", orders=[FINISH])
        assert not client.until_waiting(asked)
        run.fault(Nothing())
        run.worker("worker")
        assert run.until_over([asked.result()], within=20)

    assert receipts(play(scenario(script))) == [{}]


def test_a_client_that_ends_by_itself_is_the_adapters_fault(play: Play) -> None:
    def script(run: Run) -> None:
        client = run.producer("client")
        client.begin()
        client.enqueue("job")
        os.kill(client.pid, signal.SIGKILL)
        until(lambda: not client.tree(), "it is gone")
        client.commit()
        run.fault(Nothing())

    outcome = play(scenario(script))
    assert outcome.verdict == "error"
    assert "worker client ended by SIGKILL, and nobody told it to" in outcome.said


def test_no_client_is_left_behind(play: Play) -> None:
    pids = []

    def script(run: Run) -> None:
        one, other = run.producer("one"), run.producer("other")
        pids.extend([one.pid, other.pid])
        one.begin()
        one.enqueue("job", key="K")
        other.enqueue_later("job", key="K")
        raise ZeroDivisionError

    outcome = play(scenario(script))
    assert outcome.verdict == "error"
    assert not any(psutil.pid_exists(pid) for pid in pids)


# The faults of a client.


def test_a_kill_and_a_rollback_have_the_servers_word_for_it(play: Play) -> None:
    numbers = []

    def script(run: Run) -> None:
        for fault in (Rollback, KillClient):
            client = run.producer(fault.__name__)
            client.begin()
            client.enqueue()
            numbers.append(client.transaction())
            run.fault(fault(client))
            assert client.transaction() == ""
            client.commit()

    undone, killed = receipts(play(scenario(script)))
    assert undone == {"transaction": numbers[0], "fate": "aborted"}
    assert killed["status"] == -signal.SIGKILL
    assert (killed["transaction"], killed["fate"]) == (numbers[1], "aborted")


@pytest.mark.parametrize(
    ("fault", "method", "reason"),
    [
        (Rollback, "rollback", "is in progress, not aborted"),
        (Rollback, "commit", "is committed, not aborted"),
        (KillClient, "", "was not reaped after kill -9"),
    ],
)
@pytest.mark.usefixtures("_impatient")
def test_a_transaction_that_goes_on_leaves_no_receipt(
    fault: type[Fault], method: str, reason: str, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(run: Run) -> None:
        client = run.producer("client")
        client.begin()
        client.enqueue()
        with monkeypatch.context() as patch:
            patch.setattr(psutil.Process, "kill", lambda *_: None)
            instead: Callable[[Producer], None] = Producer.commit if method == "commit" else lambda _: None
            patch.setattr(Producer, "rollback", instead)
            run.fault(fault(client))  # type: ignore[call-arg]

    outcome = play(scenario(script))
    assert outcome.verdict == "inconclusive"
    assert reason in outcome.said
    assert outcome.events("receipt") == []


@pytest.mark.parametrize("fault", [Rollback, KillClient])
@pytest.mark.usefixtures("_impatient")
def test_no_transaction_no_ground(fault: type[Rollback] | type[KillClient], play: Play) -> None:
    def script(run: Run) -> None:
        client = run.producer("client")
        client.begin()
        run.fault(fault(client))

    outcome = play(scenario(script))
    assert outcome.verdict == "inconclusive"
    assert "client has written nothing in an open transaction" in outcome.said


@pytest.mark.usefixtures("_impatient")
def test_an_enqueue_that_is_not_open_is_not_midway(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Producer, "begin", lambda _: None)

    def script(run: Run) -> None:
        with run.fault(Midway(run.producer("client"), "job", commits=True)):
            pass

    outcome = play(scenario(script))
    assert outcome.verdict == "inconclusive"
    assert "client has written nothing in an open transaction" in outcome.said


# The leader.


def leads(run: Run) -> Depose:
    """Two schedulers, of which one leads."""
    schedulers = [run.scheduler(name, "tick", every=100) for name in ("one", "other")]
    until(lambda: run.query(LEADERS)[1], "one leads")
    return Depose(run, schedulers)


def test_the_leader_is_deposed_and_the_other_one_leads(play: Play) -> None:
    def script(run: Run) -> None:
        fault = leads(run)
        run.fault(fault)
        assert not fault.leader.tree()
        until(lambda: run.query(LEADERS)[1] not in ([], [[fault.target]]), "the other leads")

    (receipt,) = receipts(play(scenario(script)))
    assert receipt["status"] == -signal.SIGKILL
    assert receipt["leads"] is False


@pytest.mark.usefixtures("_impatient")
def test_who_leads_no_more_is_not_deposed(play: Play) -> None:
    def script(run: Run) -> None:
        fault = leads(run)
        run.dismiss(fault.leader)
        run.fault(fault)

    outcome = play(scenario(script))
    assert outcome.verdict == "inconclusive"
    assert "does not lead any more" in outcome.said


@pytest.mark.usefixtures("_impatient")
def test_nobody_leads(play: Play) -> None:
    def script(run: Run) -> None:
        Depose(run, [run.worker("worker")])

    outcome = play(scenario(script))
    assert outcome.verdict == "inconclusive"
    assert "0 of 1 schedulers hold an advisory lock" in outcome.said


# The job for later.


def test_a_job_for_later_is_not_due(play: Play) -> None:
    def script(run: Run) -> None:
        later = Later(run, "later", 0.2)
        run.fault(later)
        run.worker("worker")
        assert run.until_over(later.jobs, within=20)

    assert receipts(play(scenario(script))) == [{"due": "f"}]


@pytest.mark.usefixtures("_impatient")
def test_a_job_that_is_due_is_not_for_later(play: Play) -> None:
    def script(run: Run) -> None:
        run.fault(Later(run, "later", 0.0))

    outcome = play(scenario(script))
    assert outcome.verdict == "inconclusive"
    assert "later is due at once" in outcome.said
