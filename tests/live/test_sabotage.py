"""The bench is broken on purpose, in one place at a time: it must never come out green."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from bench import arms, cli, discover, runner
from bench.checks import Anomaly
from bench.discover import pick, scenarios
from bench.events import starts
from bench.faults import Evidence, Fault, base
from bench.faults.kill import Kill
from bench.history import Event, History
from bench.result import ScenarioResult
from bench.runner import Bench, Settings
from bench.scenario import Arm, Scenario, Twin
from bench.script import Run, Step
from bench.stage import Stage
from bench.stalls import StallMeter
from bench.twins import Difference, TwinError
from bench.verdict import judge
from tests.fakes import twins
from tests.live.conftest import Outcome, Play, Quiet, exit_code

worker_death, heartbeat = pick(["worker-death", "heartbeat"], scenarios())


def blind(events: Sequence[Event]) -> Iterator[Anomaly]:
    """Finds nothing."""
    yield from ()


def with_twin(subject: type) -> Scenario:
    return replace(heartbeat, twins=[Twin(subject, "double-execution")])


def status(scenario: Scenario, outcomes: Sequence[Outcome]) -> str:
    return ScenarioResult(scenario, {}, [outcome.arm for outcome in outcomes]).status[0]


# Nothing is sabotaged.


@pytest.fixture(scope="module")
def red(play: Play) -> Outcome:
    """The twin under the fault, as it must be."""
    return play(heartbeat, twin=True, lease=0.6)


def judged(scenario: Scenario, red: Outcome) -> Outcome:
    """The same arm, judged as another scenario's."""
    arm = Arm(scenario, scenario.twins[0], fault=True)
    return Outcome(replace(red.arm, arm=arm, verdict=judge(red.arm.events, scenario.checks)))


def test_unharmed_the_twin_shows_its_anomaly(red: Outcome) -> None:
    assert (red.verdict, red.anomalies) == ("fail", {"double-execution"})
    assert red.arm.expected
    assert judged(heartbeat, red) == red


# The fault.


def test_a_fault_that_does_nothing_is_inconclusive(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    inject = Kill.inject

    def toothless(self: Kill) -> Evidence:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(psutil.Process, "kill", lambda _: None)
            return inject(self)

    monkeypatch.setattr(Kill, "inject", toothless)
    monkeypatch.setattr(base, "RECEIPT_WITHIN", 0.1)
    outcome = play(worker_death, lease=0.3)
    assert outcome.verdict == "inconclusive"
    assert "the fault kill -9 on dying left no receipt: dying (pid" in outcome.said
    assert outcome.arm.tries == runner.TRIES
    assert exit_code(worker_death, [outcome]) == 3


def test_a_fault_step_that_is_left_out_is_inconclusive(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Run, "fault", lambda self, fault: Step(self, 1))
    monkeypatch.setattr(runner, "TRIES", 1)
    outcome = play(heartbeat)
    assert outcome.verdict == "inconclusive"
    assert outcome.arm.verdict.reason == "the script came to no fault step"


def test_a_sham_that_has_the_fault_is_unproven(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    step = Run.fault

    def fault(self: Run, fault: Fault) -> Step:
        self._stage = replace(self._stage, arm=replace(self._stage.arm, fault=True))
        return step(self, fault)

    monkeypatch.setattr(Run, "fault", fault)
    outcome = play(worker_death, fault=False)
    assert (outcome.verdict, outcome.anomalies) == ("fail", {"disturbed"})
    assert "dying was killed, and the arm has no fault" in outcome.said
    assert status(worker_death, [outcome]) == "unproven"
    assert exit_code(worker_death, [outcome]) == 1


def test_a_sham_that_kills_behind_the_benchs_back_is_not_green(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    step = Run.fault

    def fault(self: Run, fault: Fault) -> Step:
        assert isinstance(fault, Kill)
        fault.inject()
        return step(self, fault)

    monkeypatch.setattr(Run, "fault", fault)
    outcome = play(worker_death, fault=False)
    assert outcome.verdict == "error"
    assert "worker dying ended by SIGKILL, and nobody told it to" in outcome.said


# The checks.


def test_checks_that_always_pass_prove_nothing(play: Play) -> None:
    scenario = replace(heartbeat, checks=[blind])
    outcome = play(scenario, twin=True, lease=0.6)
    assert len(starts(outcome.arm.events, "job")) == 2
    assert outcome.verdict == "pass"
    assert status(scenario, [outcome]) == "unproven"
    assert exit_code(scenario, [outcome]) == 1


def test_a_check_that_another_twin_owns_is_no_proof(red: Outcome) -> None:
    scenario = replace(heartbeat, twins=[Twin(heartbeat.twins[0].subject, "stranded")])
    outcome = judged(scenario, red)
    assert outcome.anomalies == {"double-execution"}
    assert status(scenario, [outcome]) == "unproven"


def test_an_anomaly_beside_the_named_one_is_no_proof(red: Outcome) -> None:
    def spurious(events: Sequence[Event]) -> Iterator[Anomaly]:
        yield Anomaly("spurious", "whatever happened", (0,))

    scenario = replace(heartbeat, checks=[*heartbeat.checks, spurious])
    outcome = judged(scenario, red)
    assert outcome.anomalies == {"double-execution", "spurious"}
    assert status(scenario, [outcome]) == "unproven"


# The twin.

BROKEN = [
    (twins.Equal, "overrides renew with the same thing: it is equal to the sound one"),
    (twins.TwoDifferences, "must override exactly one member of Worker; it has: may_start, renew"),
]


@pytest.mark.usefixtures("_signals")
@pytest.mark.parametrize(("twin", "words"), BROKEN, ids=[twin.__name__ for twin, _ in BROKEN])
def test_a_twin_that_breaks_the_rule_is_refused(
    twin: type,
    words: str,
    bench: Bench,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scenario = with_twin(twin)
    watcher = Quiet()
    settings = Settings(subject=bench.settings.subject, out=tmp_path / "out")
    with pytest.raises(TwinError, match=words):
        runner.run(settings, {scenario.name: scenario.arms}, watcher, "a test")
    monkeypatch.setattr(discover, "scenarios", lambda: [scenario])
    monkeypatch.setattr(cli, "measure", lambda seconds: 0.0)
    for arguments in (["run", scenario.name], ["run", scenario.name, "--dry-run"], ["matrix"], ["list"]):
        extra = ["--out", str(tmp_path / "out")] if arguments != ["list"] else []
        assert cli.main([*arguments, *extra]) == 4
        err = capsys.readouterr().err
        assert err.startswith("leaseproof: the one-variable rule is broken: ")
        assert f"twin {twin.__name__} {words}" in err
        assert err.count("\n") == 1
    assert watcher.ended == []
    assert not list(tmp_path.rglob("*.jsonl"))


def test_an_equal_twin_that_is_forced_past_the_rule_is_unproven(
    bench: Bench, dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = with_twin(twins.Equal)
    monkeypatch.setattr(runner, "difference", lambda twin: Difference("Worker.renew", ""))
    settings = Settings(subject=bench.settings.subject, out=tmp_path, postgres=dsn, lease=0.6)
    data = runner.run(settings, {scenario.name: scenario.arms}, Quiet(), "a test")
    (found,) = data["scenarios"]
    assert (found["status"], data["verdict"], data["exit_code"]) == ("unproven", "unproven", 1)
    assert found["why"] == "Equal-fault: it must show double-execution, and it came out as pass"
    assert {arm["verdict"] for arm in found["arms"]} == {"pass"}


# The machine.


def test_a_stalled_machine_gives_no_verdict(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StallMeter, "longest", lambda self, since=0.0: (10.0, since))
    outcome = play(heartbeat, fault=False, lease=0.15)
    assert outcome.verdict == "inconclusive"
    assert outcome.arm.verdict.reason == "this machine stalled for 10.000 s, and the arm has a margin of 0.200 s"
    assert (outcome.arm.tries, outcome.arm.lease) == (3, 0.6)
    assert status(heartbeat, [outcome]) == "inconclusive"
    assert exit_code(heartbeat, [outcome]) == 3


def test_each_try_has_twice_the_lease_and_its_own_history(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases: list[float] = []

    def stalls(self: StallMeter, since: float = 0.0) -> tuple[float, float]:
        return (0.15 if len(leases) < 2 else 0.0), since

    run_arm = arms.run_arm

    def watched(stage: Stage, *rest: object) -> list[Event]:
        events = run_arm(stage, *rest)  # type: ignore[arg-type]
        leases.append(stage.lease)
        return events

    monkeypatch.setattr(StallMeter, "longest", stalls)
    monkeypatch.setattr(runner, "run_arm", watched)
    running = replace(bench, settings=replace(bench.settings, out=tmp_path, lease=0.3))
    outcome = running.run(Arm(heartbeat, None, fault=False), Quiet())
    assert leases == [0.3, 0.6]
    assert (outcome.verdict.verdict, outcome.tries, outcome.lease) == ("pass", 2, 0.6)
    files = sorted(path.name for path in (tmp_path / "heartbeat").glob("*.jsonl"))
    assert files == ["sound-sham.jsonl", "sound-sham.try2.jsonl"]
    assert outcome.history == "heartbeat/sound-sham.try2.jsonl"


def test_nobody_measured(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    class Deaf(History):
        def add(self, event: str, /, **fields: object) -> Event:
            return {} if event == "stalled" else super().add(event, **fields)

    monkeypatch.setattr(arms, "History", Deaf)
    monkeypatch.setattr(runner, "TRIES", 1)
    outcome = play(heartbeat, fault=False)
    assert (outcome.verdict, outcome.arm.verdict.reason) == ("inconclusive", "the bench did not measure its stalls")
