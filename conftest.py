"""`pytest scenarios` is the matrix: every arm of every scenario is a pytest item, with -k, -x and --junitxml for free.

The arms that were selected run side by side, as in `leaseproof matrix`; each item waits for its own.
"""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bench import discover, runner
from bench.result import ArmResult
from bench.scenario import Arm, Scenario

_FOLDER = Path(__file__).parent / "scenarios"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("leaseproof")
    group.addoption("--postgres", default="auto", help="auto, embedded, system[:MAJOR], docker[:image] or a DSN")
    group.addoption("--out", type=Path, default=None, help="a folder for the results of scenarios")
    group.addoption("--lease", type=float, default=1.0, help="the lease in seconds")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.parent == _FOLDER and file_path.suffix == ".py" and file_path.name != "__init__.py":
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


class ScenarioFile(pytest.File):
    """A scenario's file; its items are the arms."""

    def collect(self) -> Iterator["ArmItem"]:
        (scenario,) = discover.pick([self.path.stem.replace("_", "-")], discover.scenarios())
        runner.differences([scenario])
        for arm in scenario.arms:
            yield ArmItem.from_parent(self, name=arm.id, arm=arm)


class ArmItem(pytest.Item):
    """One arm. It passes when the arm came out as it must: for a twin under the fault, with its anomaly.

    It is skipped where the run can't offer what its scenario needs.
    """

    def __init__(self, *, arm: Arm, **rest: Any) -> None:
        super().__init__(**rest)
        self.arm = arm
        self.user_properties.append(("expected", arm.expected))

    def runtest(self) -> None:
        outcome = self.session.stash[_MATRIX].outcome(self.arm)
        self.user_properties.append(("history", outcome.history))
        if outcome.verdict.verdict == "unsupported":
            pytest.skip(f"unsupported: {outcome.verdict.reason}")
        if not outcome.expected:
            raise NotAsExpected(outcome)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return str(excinfo.value) if isinstance(excinfo.value, NotAsExpected) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"{self.arm.scenario.name} {self.arm.id}"


class NotAsExpected(Exception):
    """An arm came out otherwise than it must."""

    def __init__(self, outcome: ArmResult) -> None:
        lines = [
            f"must {'pass' if outcome.arm.expected == 'pass' else 'show ' + outcome.arm.expected}, and came out as"
            f" {outcome.verdict.verdict}",
            *(f"  {anomaly.name}: {anomaly.text}" for anomaly in outcome.verdict.anomalies),
            *([f"  {outcome.verdict.reason}"] if outcome.verdict.reason else []),
            f"  history: {outcome.history}",
        ]
        super().__init__("\n".join(lines))


class Quiet:
    """Watches nothing: pytest reports."""

    def arm_started(self, scenario: str, arm: str, history: Any) -> None: ...

    def arm_ended(self, scenario: str, arm: str, verdict: str, as_expected: bool) -> None: ...


class Matrix:
    """The selected arms, under way from the first item on."""

    def __init__(self, settings: runner.Settings, arms: list[Arm]) -> None:
        self._settings = settings
        self._arms = arms
        self._stack = ExitStack()
        self._futures: dict[tuple[str, str], Future[ArmResult]] = {}

    def outcome(self, arm: Arm) -> ArmResult:
        if not self._futures:
            scenarios: list[Scenario] = [each.scenario for each in self._arms]
            running = self._stack.enter_context(runner.bench(self._settings, scenarios))
            pool = self._stack.enter_context(runner.Pool(running, Quiet()))
            self._futures = pool.submit_all(self._arms)
        return self._futures[arm.scenario.name, arm.id].result()

    def close(self) -> None:
        self._stack.close()


_MATRIX = pytest.StashKey[Matrix]()


def pytest_collection_finish(session: pytest.Session) -> None:
    out = session.config.getoption("--out") or session.config.rootpath / "leaseproof-runs" / datetime.now().strftime(
        "pytest-%Y-%m-%d-%H%M%S"
    )
    settings = runner.Settings(
        subject=discover.subject("queue_core"),
        out=out,
        postgres=session.config.getoption("--postgres"),
        lease=session.config.getoption("--lease"),
    )
    arms = [item.arm for item in session.items if isinstance(item, ArmItem)]
    session.stash[_MATRIX] = Matrix(settings, arms)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _MATRIX in session.stash:
        session.stash[_MATRIX].close()
