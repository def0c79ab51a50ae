"""Each misbehaviour is called by its right name: the queue's is a `fail`, the adapter's an `error`."""

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from bench import waits
from bench.checks.ending import recovered
from bench.discover import pick, scenarios
from bench.faults.kill import Kill
from bench.scenario import Scenario
from bench.script import Run
from bench.subject import Control
from tests.fakes import miniatures as fakes
from tests.fakes.sane import Sane
from tests.fakes.scenarios import one_job, told_to_stop
from tests.fakes.subjects import subject, write
from tests.live.conftest import Outcome, Play, exit_code, leaseproof

heartbeat, worker_death, sigterm_drain = pick(["heartbeat", "worker-death", "sigterm-drain"], scenarios())


@pytest.mark.parametrize("fault", [True, False], ids=["fault", "sham"])
@pytest.mark.parametrize("scenario", [one_job, told_to_stop, heartbeat, worker_death], ids=lambda s: s.name)
def test_the_sane_one_passes(scenario: Scenario, fault: bool, play: Play) -> None:
    outcome = play(scenario, subject=subject(Sane), fault=fault)
    assert outcome.verdict == "pass", outcome.said
    assert exit_code(scenario, [outcome]) == 0


QUEUES: list[tuple[type[Sane], Scenario, set[str]]] = [
    (fakes.LosesAJob, one_job, {"lost", "stranded"}),
    (fakes.RunsItTwice, one_job, {"double-execution", "double-claim"}),
    (fakes.HandsItOutAgain, one_job, {"double-claim"}),
    (fakes.ReclaimsTheLiving, heartbeat, {"double-execution"}),
    (fakes.ReclaimsNothing, worker_death, {"stranded"}),
    (fakes.IgnoresSigterm, told_to_stop, {"claimed-after-sigterm", "unclean-exit"}),
]


@pytest.mark.parametrize(("fake", "scenario", "anomalies"), QUEUES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_faulty_queue_fails(fake: type[Sane], scenario: Scenario, anomalies: set[str], play: Play) -> None:
    outcome = play(scenario, subject=subject(fake))
    assert outcome.verdict == "fail", outcome.said
    assert outcome.anomalies == anomalies
    assert exit_code(scenario, [outcome]) == 1


@pytest.mark.parametrize(("fake", "verdict"), [(Sane, "fail"), (fakes.HoldsForAnHour, "pass")])
def test_what_may_come_back_in_an_hour_is_not_stranded(fake: type[Sane], verdict: str, play: Play) -> None:
    def script(run: Run) -> None:
        worker, job = run.worker("worker"), run.enqueue()
        job.until_started(by=worker)
        run.fault(Kill(worker, during=job))
        run.worker("other")
        job.finished_within(0.5, bound="a while")

    abandoned = Scenario("abandoned", "-", 1, "test", "-", "-", [], [recovered], recovery=False, run=script)
    assert play(abandoned, subject=subject(fake)).verdict == verdict


def test_where_a_recovery_takes_an_hour_only_what_needs_none_is_run(play: Play) -> None:
    patient = subject(fakes.HoldsForAnHour)
    dead = play(worker_death, subject=patient)
    assert dead.verdict == "unsupported"
    assert dead.said.startswith("a recovery takes 5400 s by its own word")
    assert play(replace(one_job, recovery=False), subject=patient).verdict == "pass"


ADAPTERS: list[tuple[type[Sane], list[str]]] = [
    (fakes.ControlDiesAtOnce, ["control process died at `describe` with status 1", "no such broker"]),
    (fakes.ControlDiesLater, ["control process died at `enqueue` by SIGABRT"]),
    (fakes.PrintsRubbish, ["control process printed rubbish at `describe`", "Hello, world!"]),
    (fakes.AnswersOutOfTurn, ["control process answered `describe` out of turn"]),
    (fakes.AnswersNothing, ["control process answered `describe` without an `answer`"]),
    (fakes.Refuses, ["control process could not do `describe`", "the disk is full"]),
    (fakes.LacksSlack, ["describe: slack is missing"]),
    (fakes.SpeaksAnotherProtocol, ["describe: protocol is 2", "protocol 1"]),
    (fakes.OwnsByMagic, ["describe: ownership is 'magic'", "lease-and-heartbeat"]),
    (fakes.NumbersItsJobs, ["enqueue: ids is a list of strings, not [1]"]),
    (fakes.GivesOneId, ["enqueue: 2 jobs were given, and 1 different ids came back"]),
    (fakes.InventsAState, ["inspect: state is 'undead'", "queued, running"]),
    (fakes.InspectsAnother, ["inspect: rows", "in order"]),
    (fakes.GivesTheIdAgain, ["enqueue: the id x0 was given to job before"]),
    (fakes.ListsANumber, ["inspect: rows is a list of objects"]),
    (fakes.SaysTrue, ["inspect: lease_alive is ", "; a row's values are strings"]),
    (fakes.BuriesTheBench, ["control process printed rubbish at `describe`"]),
    (fakes.SaysNothing, ["the witness was sent rubbish", "event None"]),
    (fakes.WorkerDiesAtOnce, ["worker worker-1 ended with status 1 before it was ready", "no licence"]),
    (fakes.WorkerEndsInTheMiddle, ["worker worker-1 ended with status 0, and nobody told it to"]),
    (fakes.TalksRubbish, ["the witness was sent rubbish", "worker worker-1 sent event 'tired'"]),
]


def named(outcome: Outcome, words: list[str]) -> None:
    """The outcome is the adapter's fault, and says which."""
    assert outcome.verdict == "error", outcome.said
    assert outcome.said.startswith("adapter: ")
    for word in words:
        assert word in outcome.said
    assert exit_code(one_job, [outcome]) == 4


@pytest.fixture(scope="module")
def faulty(play: Play) -> Iterator[dict[type[Sane], Future[Outcome]]]:
    """All faulty adapters, a few at a time."""
    with ThreadPoolExecutor(3) as pool:
        yield {fake: pool.submit(play, one_job, subject=subject(fake)) for fake, _ in ADAPTERS}


@pytest.mark.parametrize(("fake", "words"), ADAPTERS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_faulty_adapter_is_an_error(
    fake: type[Sane], words: list[str], faulty: dict[type[Sane], Future[Outcome]]
) -> None:
    named(faulty[fake].result(), words)


def test_a_control_process_that_hangs(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Control.ask, "__defaults__", (2.0,))
    named(play(one_job, subject=subject(fakes.Hangs)), ["control process hung: no answer to `enqueue` in 2 s"])


def test_a_worker_that_is_never_ready(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "PATIENCE", 1.0)
    named(play(one_job, subject=subject(fakes.NeverReady)), ["worker worker-1 did not say that it is ready in 1 s"])


@pytest.mark.parametrize("fake", [fakes.DiesOfSigterm, fakes.ShutsItsEarsToSigterm], ids=lambda fake: fake.__name__)
def test_one_that_does_not_catch_sigterm_is_a_finding(fake: type[Sane], play: Play) -> None:
    outcome = play(sigterm_drain, subject=subject(fake))
    assert outcome.verdict == "fail", outcome.said
    assert "unclean-exit" in outcome.anomalies


def test_a_column_that_a_script_looks_at_and_is_not_there(play: Play) -> None:
    outcome = play(worker_death, subject=subject(fakes.LacksAColumn))
    named(outcome, ["inspect: the row of 1 has no `lease_alive`"])


@pytest.mark.parametrize("command", ["control", "worker"])
def test_a_program_that_is_not_there(command: str, play: Play) -> None:
    sane = subject(Sane)
    broken = replace(sane, commands={**sane.commands, command: ("/no/such/program",)})
    named(play(one_job, subject=broken), [command, "/no/such/program could not be started: No such file or directory"])


@pytest.mark.parametrize(
    ("fake", "code", "words"),
    [
        (fakes.ReclaimsTheLiving, 1, "double-execution"),
        (fakes.PrintsRubbish, 4, "printed rubbish at `describe`"),
    ],
)
def test_a_subject_by_its_folder(fake: type[Sane], code: int, words: str, dsn: str, tmp_path: Path) -> None:
    folder = write(fake, tmp_path)
    options = ["--arms", "sound-fault", "--out", "out", "--lease", "1", "--postgres", dsn]
    done = leaseproof("run", "heartbeat", "--subject", folder, *options, cwd=tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    assert words in done.stdout
    data = json.loads((tmp_path / "out" / "result.json").read_text())
    assert data["exit_code"] == code
