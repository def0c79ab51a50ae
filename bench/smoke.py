"""`leaseproof smoke`: one job that must run once and be done, and one that must fail as it is told."""

from dataclasses import dataclass, field

from bench import runner, waits
from bench.events import ENDINGS
from bench.faults.errors import Errors
from bench.job import Job
from bench.orders import FINISH, fail
from bench.result import ArmResult
from bench.runner import Bench, Settings, Unwatched
from bench.scenario import Arm, Scenario
from bench.script import Run

TEXT = "as ordered"
"""What the job that fails says."""


@dataclass(frozen=True)
class Trial:
    """One of the two jobs: whether it went as it must, what was seen, and how long it took, in seconds."""

    job: str
    passed: bool
    seen: str
    seconds: float


@dataclass
class Report:
    """What came of a smoke. `stopped` says why it went no further, `doubt` why it means nothing; or they are empty."""

    subject: str
    trials: list[Trial] = field(default_factory=list)
    stopped: str = ""
    doubt: str = ""

    @property
    def exit_code(self) -> int:
        """0: both went as they must; 4: not so, and the adapter is to be looked at first; 3: nothing can be said."""
        if self.stopped or not all(trial.passed for trial in self.trials):
            return 4
        return 0 if len(self.trials) == 2 else 3

    @property
    def wrong(self) -> str:
        """What did not go as it must; empty when all did."""
        failed = [f"{trial.job} was {trial.seen}" for trial in self.trials if not trial.passed]
        return "; ".join([*failed, *([self.stopped] if self.stopped else [])])


def smoke(settings: Settings) -> Report:
    """Smoke a subject. Raises what a run raises."""
    with runner.bench(settings, []) as running:
        return smoked(running)[0]


def smoked(running: Bench) -> tuple[Report, ArmResult]:
    """Smoke the subject of a bench that is up: its report, and the arm that it was. Raises Closed as a run does."""
    report = Report(running.settings.subject.name)

    def script(run: Run) -> None:
        report.trials.clear()
        run.worker("smoke-worker")  # before there is anything to do; a lint starts its own when there is
        report.trials.append(_good(run))
        report.trials.append(_bad(run))

    scenario = Scenario(
        name="smoke",
        claim="One job runs once and is done, and one fails as it is told.",
        row=0,
        origin="docs/protocol.md",
        fault="a job raises",
        sham="",
        twins=[],
        checks=[],
        recovery=False,
        run=script,
    )
    outcome = running.once(Arm(scenario, None, fault=True), 1, Unwatched())
    verdict = outcome.verdict
    if verdict.verdict == "error":
        report.stopped = verdict.reason
    elif verdict.verdict == "fail":
        report.stopped = "; ".join(anomaly.text for anomaly in verdict.anomalies)
    elif verdict.verdict == "inconclusive":
        report.doubt = verdict.reason
    return report, outcome


def _good(run: Run) -> Trial:
    """A job that is ordered to finish runs once, and its queue says that it is done."""
    since = run.history.now()
    job = run.enqueue("smoke-good", orders=[FINISH])
    job.until_started()
    run.need(
        "smoke-good to its end", lambda events: any(e["event"] in ENDINGS and e["job"] == job.name for e in events)
    )
    over = run.until_over([job], waits.PATIENCE / run.lease)
    seconds, state = run.history.now() - since, _state(job)
    passed = over and job.starts == 1 and state in ("done", "absent")
    return Trial(job.name, passed, f"begun {_times(job)}, and is `{state}`", seconds)


def _bad(run: Run) -> Trial:
    """A job that is ordered to fail, each time that it is run, does so, and its queue does not say that it is done."""
    since = run.history.now()
    job = run.enqueue("smoke-bad")
    job.until_started()
    run.fault(Errors({job: fail(TEXT, "permanent")}, always=True))
    states = ["running"]

    def settled() -> bool:
        states.append(_state(job))
        return states[-1] != "running" or job.starts > 1

    run.poll(settled, waits.PATIENCE / run.lease)
    seconds, state, again = run.history.now() - since, states[-1], job.starts > 1
    passed = state in ("queued", "failed", "absent") or (state == "running" and again)
    return Trial(job.name, passed, f"raised, and is `{state}`{' again' if again else ''}", seconds)


def _state(job: Job) -> str:
    return str(job.row["state"])


def _times(job: Job) -> str:
    return "once" if job.starts == 1 else f"{job.starts} times"
