"""Each bad adapter is blamed by a lint or by a smoke, as an adapter and with the right words; a good one is clean."""

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from bench import discover, lint, smoke, waits
from bench.lint.findings import Findings
from bench.lint.wire import Wire
from bench.lint.wiretap import Wiretap
from bench.runner import Bench, Settings
from bench.scenario import Arm
from bench.subject import Control, Subject
from tests.fakes import miniatures as fakes
from tests.fakes.sane import Sane
from tests.fakes.subjects import subject, write
from tests.live.conftest import Quiet, leaseproof

Fake = type[Sane]
Lints = dict[Fake, Future[lint.Report]]
Smokes = dict[Fake, Future[smoke.Report]]

SHORT = 5.0
"""Seconds of patience: each of some fakes takes all of it."""

WRONG: list[tuple[Fake, str, str]] = [
    (fakes.ControlDiesAtOnce, "control", "died at `describe` with status 1; it said last:\n    no such broker"),
    (fakes.ControlDiesLater, "control", "died at `enqueue` by SIGABRT"),
    (fakes.Hangs, "control", "hung: no answer to `enqueue`"),
    (fakes.PrintsRubbish, "control, stdout", "printed 'Hello, world!'"),
    (fakes.BuriesTheBench, "control, stdout", "printed '[[[["),
    (fakes.SaysGoodbye, "control, stdout", "printed 'Goodbye!'"),
    (fakes.AnswersOutOfTurn, "control", "no request with the id 0 waits for an answer"),
    (fakes.AnswersNothing, "control, the answer to `describe`", "answer is missing"),
    (fakes.Refuses, "control", "could not do `describe`: the disk is full"),
    (fakes.LacksSlack, "control, the answer to `describe`", "answer.slack is missing"),
    (fakes.SpeaksAnotherProtocol, "control, the answer to `describe`", "answer.protocol is 2"),
    (fakes.OwnsByMagic, "control, the answer to `describe`", 'answer.ownership is "magic"'),
    (fakes.MisspellsAField, "control, the answer to `describe`", "answer.tels is not in the contract"),
    (fakes.NumbersItsJobs, "control, the answer to `enqueue`", "answer.ids[0] is a whole number: 1"),
    (fakes.GivesOneId, "control, the answer to `enqueue`", "answer.ids has an entry twice"),
    (fakes.GivesTheIdAgain, "control", "the id x0 was given to lint-1 before"),
    (
        fakes.MixesUpItsIds,
        "control, the answer to `inspect`",
        "lint-1 runs and no other does, and its row, id 2, is queued",
    ),
    (fakes.InventsAState, "control, the answer to `inspect`", 'answer.rows[0].state is "undead"'),
    (fakes.ListsANumber, "control, the answer to `inspect`", "answer.rows[3] is a whole number: 5"),
    (fakes.SaysTrue, "control, the answer to `inspect`", "answer.rows[0].lease_alive is false"),
    (fakes.LacksAColumn, "control, the answer to `inspect`", "a row has no lease_alive"),
    (fakes.InspectsAnother, "control", "rows is a list of objects, one for each of the ids 3, 2, 1, in order"),
    (fakes.KnowsEverything, "control, the answer to `inspect`", "which was never given out, has the state done"),
    (fakes.NeverSawIt, "control, the answer to `inspect`", "could not do `inspect`: no such job"),
    (fakes.OutlivesStop, "control, its end", "it was still there 5 s after `stop`"),
    (fakes.OutlivesItsStdin, "control, its end", "it was still there 5 s after the end of its stdin"),
    (fakes.WorkerDiesAtOnce, "worker", "ended with status 1 before it was ready; it said last:\n    no licence"),
    (fakes.WorkerEndsInTheMiddle, "worker", "lint-worker ended with status 0"),
    (fakes.NeverReady, "worker", "lint-worker did not say that it is ready in 5 s"),
    (fakes.HasAnotherToken, "the line of worker lint-worker, `ready`", 'its token is "made up"'),
    (fakes.TalksRubbish, "the line of worker lint-worker", 'sent \'{"event": "tired"}\''),
    (fakes.SaysNothing, "the line of worker lint-worker", "sent '{}'"),
    (fakes.HangsUp, "the line of worker lint-worker", "it was closed while the worker was alive"),
    (fakes.HidesItsChildren, "worker lint-worker", "LEASEPROOF_RUN is not in the environment of "),
    (fakes.LosesAJob, "worker", "no job was begun in 5 s"),
    (fakes.TurnsTheOrder, "worker, the order of jobs", "begun as lint-3, lint-2, lint-1"),
    (fakes.SpeaksForAnother, "the puppet of lint-1, `started`", "it says worker somebody"),
    (fakes.CountsFromZero, "a puppet, `started`", "attempt is 0"),
    (fakes.CountsTwice, "the puppet of lint-1, `started`", "its attempt is 2, and it is run for the first time"),
    (fakes.EndsOtherwise, "worker lint-worker", "which then ended, and it ended with status 3"),
    (fakes.DiesOfSigterm, "worker lint-worker", "which then ended, and it ended by SIGTERM"),
    (fakes.PromisesToTell, "describe, `tells`", "`renewed` did not come with lint-1 among `kept`"),
    (fakes.PromisesToTellOfReclaims, "describe, `tells`", "`reclaimed` did not come with 7 among `ids`"),
    (fakes.PromisesADelay, "describe, the option `delay`", "a job with a delay of 1 s was begun after 0."),
    (fakes.PromisesAKey, "describe, the option `key`", "while the job 7 of a key was alive, another was put in: 8"),
    (fakes.PromisesPriorities, "describe, the option `priority`", "could not do `enqueue`: no priorities"),
    (fakes.PromisesAConnection, "describe, the option `connection`", "ordered borrow, a puppet said "),
]

NOTED: dict[Fake, str] = {
    fakes.DropsWhatCameBefore: "it began none of the jobs that were there before it in 5 s, and then a new one",
    fakes.IgnoresSigterm: "it was sent SIGTERM in the middle of a job, which then ended, and it was still there 5 s",
}
"""What the adapter or its queue does, which a scenario tells of the queue."""

CLEAN: list[Fake] = [
    Sane,
    fakes.ReclaimsTheLiving,
    fakes.ReclaimsNothing,
    fakes.RunsItTwice,
    fakes.HandsItOutAgain,
    fakes.SwallowsFailures,
    fakes.NeverOver,
    fakes.BeginsAllAtOnce,
    *NOTED,
]
"""Those that keep the contract, whatever their queue does, or that only a smoke can see."""

SMOKED: list[tuple[Fake, list[bool], str]] = [
    (Sane, [True, True], "begun once, and is `done`"),
    (fakes.ReclaimsNothing, [True, True], "raised, and is `failed`"),
    (fakes.RunsItTwice, [False, True], "begun 2 times"),
    (fakes.HandsItOutAgain, [False, True], "begun 2 times"),
    (fakes.SwallowsFailures, [True, False], "raised, and is `done`"),
    (fakes.NeverOver, [False, True], "begun once, and is `running`"),
]


def settings(subject: Subject, out: Path, dsn: str) -> Settings:
    return Settings(subject=subject, out=out, postgres=dsn, lease=0.5, cold=True, jobs=1)


@pytest.fixture(scope="module", autouse=True)
def _impatient() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waits, "PATIENCE", SHORT)
        patch.setattr(Control.ask, "__defaults__", (SHORT,))
        yield


@pytest.fixture(scope="module")
def lints(dsn: str, tmp_path_factory: pytest.TempPathFactory, _impatient: None) -> Iterator[Lints]:
    """All fakes, a few at a time."""
    out = tmp_path_factory.mktemp("lints")
    wanted: list[Fake] = [*CLEAN, *(fake for fake, _, _ in WRONG)]
    with ThreadPoolExecutor(3) as pool:
        yield {fake: pool.submit(lint.lint, settings(subject(fake), out / fake.__name__, dsn)) for fake in wanted}


def name(value: object) -> str:
    return getattr(value, "__name__", "")


@pytest.mark.parametrize(("fake", "where", "words"), WRONG, ids=name)
def test_a_bad_adapter_is_blamed(fake: Fake, where: str, words: str, lints: Lints) -> None:
    report = lints[fake].result()
    assert report.exit_code == 4
    wrong = [finding for finding in report.findings if finding.blame != "nobody"]
    assert {finding.blame for finding in wrong} == {"adapter"}
    assert any(finding.where == where and words in finding.what for finding in wrong), report
    assert all(finding.rule.endswith(".") and finding.cure for finding in wrong)
    assert len(wrong) <= 2, wrong


@pytest.mark.parametrize("fake", CLEAN, ids=name)
def test_a_queues_own_faults_are_none_of_the_adapters(fake: Fake, lints: Lints) -> None:
    report = lints[fake].result()
    assert [finding for finding in report.findings if finding.blame != "nobody"] == []
    assert (report.exit_code, report.stopped, report.doubt) == (0, "", "")


@pytest.mark.parametrize("fake", NOTED, ids=name)
def test_what_is_told_of_the_queue_by_a_scenario_is_a_note(fake: Fake, lints: Lints) -> None:
    notes = [finding for finding in lints[fake].result().findings if finding.where == "worker lint-worker"]
    assert [note.blame for note in notes] == ["nobody"]
    assert notes[0].what.startswith(NOTED[fake])


def test_what_is_sent_and_not_declared_is_a_note(lints: Lints) -> None:
    notes = [finding.what for finding in lints[Sane].result().findings]
    assert "workers send `outcome`, and `tells` does not have it" in notes
    assert "it has 2 slots, and runs one job at a time" in notes


@pytest.fixture(scope="module")
def smokes(dsn: str, tmp_path_factory: pytest.TempPathFactory, _impatient: None) -> Iterator[Smokes]:
    out = tmp_path_factory.mktemp("smokes")
    wanted: list[Fake] = [fakes.LosesAJob, fakes.Refuses, *(fake for fake, _, _ in SMOKED)]
    with ThreadPoolExecutor(3) as pool:
        yield {fake: pool.submit(smoke.smoke, settings(subject(fake), out / fake.__name__, dsn)) for fake in wanted}


@pytest.mark.parametrize(("fake", "passed", "words"), SMOKED, ids=name)
def test_a_smoke(fake: Fake, passed: list[bool], words: str, smokes: Smokes) -> None:
    report = smokes[fake].result()
    assert [trial.passed for trial in report.trials] == passed
    assert any(words in trial.seen for trial in report.trials)
    assert all(0 < trial.seconds < 60 for trial in report.trials)
    assert report.exit_code == (0 if all(passed) else 4)


def test_a_smoke_of_a_job_that_nobody_runs(smokes: Smokes) -> None:
    report = smokes[fakes.LosesAJob].result()
    assert (report.exit_code, report.trials) == (4, [])
    assert "not in 5 s: smoke-good started by anybody" in report.stopped


def test_a_smoke_of_an_adapter_that_can_do_nothing(smokes: Smokes) -> None:
    report = smokes[fakes.Refuses].result()
    assert (report.exit_code, report.trials) == (4, [])
    assert report.stopped == "adapter: the control process could not do `describe`: the disk is full"


# The commands.


def test_the_reference_is_clean_by_its_commands(dsn: str, tmp_path: Path) -> None:
    done = leaseproof("lint", "queue_core", "--json", "--postgres", dsn, "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert (report["findings"], report["exit_code"], report["subject"]) == ([], 0, "queue_core")
    messages = [json.loads(line) for line in (tmp_path / "out" / lint.TRANSCRIPT).read_text().splitlines()]
    assert len(messages) == report["heard"] > 100
    assert {message["from"] for message in messages} == {"bench", "subject"}
    assert leaseproof("smoke", "queue_core", "--postgres", dsn, cwd=tmp_path).returncode == 0


def test_a_lint_is_told_for_people(dsn: str, tmp_path: Path) -> None:
    folder = write(fakes.LacksSlack, tmp_path)
    done = leaseproof("lint", folder, "--postgres", dsn, "--profile", "default", cwd=tmp_path, COLUMNS="80")
    assert done.returncode == 4
    assert done.stdout.startswith(
        "control, the answer to `describe`\n"
        "  wrong answer.slack is missing\n"
        "  rule  Seconds that the queue itself adds to lease and reclaim interval.\n"
        "  cure  send a number, at least 0\n"
    )
    assert "lint of sane 1, profile default: the adapter is broken: 1 thing is wrong\n" in done.stdout


def test_a_profile_is_handed_out(dsn: str, tmp_path: Path) -> None:
    folder = write(fakes.TellsItsProfile, tmp_path)
    profile = '[profiles.{0}]\nabout = "a"\ndocs = "d"\nknob = "{0}"\n'
    with (folder / "subject.toml").open("a") as toml:
        toml.write(profile.format("default") + profile.format("tuned"))
    for options, name in ([], "tuned"), (["--profile", "default"], "default"):
        done = leaseproof("lint", folder, "--json", "--postgres", dsn, *options, cwd=tmp_path)
        assert json.loads(done.stdout)["version"] == f'{name}{{"knob": "{name}"}}'


def test_a_smoke_is_told_for_people(dsn: str, tmp_path: Path) -> None:
    done = leaseproof("smoke", write(fakes.SwallowsFailures, tmp_path), "--postgres", dsn, cwd=tmp_path)
    assert done.returncode == 4
    first, second, last, _ = done.stdout.splitlines()
    assert first.startswith("  ok     smoke-good  begun once, and is `done`")
    assert second.startswith("  wrong  smoke-bad   raised, and is `done`")
    assert last == "smoke of SwallowsFailures, profile tuned: its adapter is not fit for a verdict on its queue"


# The bench's own messages, in scenarios that ask for more than a lint does.


def test_what_the_bench_sends_in_scenarios_is_in_the_contract(bench: Bench, tmp_path: Path) -> None:
    names = ["error-classes", "crash-after-effect", "grace-overrun", "poison-worker", "priority-and-age"]
    findings = Findings()
    with (tmp_path / "messages").open("w") as transcript:
        wire = Wire(findings, transcript)
        with Wiretap(discover.subject("queue_core").launch, wire).on() as tap:
            settings = replace(bench.settings, out=tmp_path)
            running = replace(bench, settings=settings, launch=tap.launch)
            for scenario in discover.pick(names, discover.scenarios()):
                outcome = running.once(Arm(scenario, None, fault=True), 1, Quiet())
                assert outcome.verdict.verdict != "error", outcome.verdict
    assert list(findings) == []
    assert wire.heard > 100
