"""Strangers as a user has them validated: a sound one, one with a fault, and one with a broken adapter, in one run."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.history import load
from bench.verdict import judge
from tests.command import Main, Said
from tests.fakes import miniatures as fakes
from tests.fakes.sane import Sane
from tests.fakes.subjects import write
from tests.live.conftest import leaseproof, password
from tests.live.test_cli import main, one_line
from tests.reports.test_subjects import VALIDATOR

__all__ = ["main"]

pytestmark = pytest.mark.usefixtures("_signals")

STRANGERS = (Sane, fakes.ReclaimsTheLiving, fakes.PrintsRubbish)

SCENARIOS = ("--scenario", "heartbeat", "--scenario", "delayed")


@dataclass(frozen=True)
class Ran:
    """What is left of the run."""

    done: subprocess.CompletedProcess[str]
    cwd: Path

    @property
    def out(self) -> Path:
        return self.cwd / "out"

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads((self.out / "validate.json").read_text())
        return data

    def cell(self, name: str, scenario: str) -> dict[str, Any]:
        (subject,) = (subject for subject in self.data["subjects"] if subject["name"] == name)
        (cell,) = (cell for cell in subject["cells"] if cell["scenario"] == scenario)
        found: dict[str, Any] = cell
        return found


@pytest.fixture(scope="module")
def ran(dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    cwd = tmp_path_factory.mktemp("validate")
    for fake in STRANGERS:
        (cwd / fake.__name__).mkdir()
        write(fake, cwd / fake.__name__)
    names = [fake.__name__ for fake in STRANGERS]
    done = leaseproof("validate", *names, *SCENARIOS, "--out", "out", "--postgres", dsn, "--plain", cwd=cwd)
    return Ran(done, cwd)


def test_a_fail_outranks_a_broken_adapter(ran: Ran) -> None:
    assert ran.done.returncode == 1, ran.done.stdout + ran.done.stderr
    assert (ran.data["verdict"], ran.data["exit_code"]) == ("finding", 1)


def test_the_result_keeps_its_schema(ran: Ran) -> None:
    VALIDATOR.validate(ran.data)


def test_the_reference_pair_ran_beside_them(ran: Ran) -> None:
    assert [(s["name"], s["status"], len(s["arms"])) for s in ran.data["scenarios"]] == [
        ("heartbeat", "proven", 4),
        ("delayed", "proven", 4),
    ]


def test_the_sound_one_holds(ran: Ran) -> None:
    assert ran.cell("Sane", "heartbeat")["verdict"] == "pass"
    unsupported = ran.cell("Sane", "delayed")
    assert (unsupported["verdict"], unsupported["reason"]) == ("unsupported", "its describe does not offer delay")


def test_the_faulty_one_fails_and_does_not_keep_what_it_declares(ran: Ran) -> None:
    cell = ran.cell("ReclaimsTheLiving", "heartbeat")
    assert cell["verdict"] == "fail"
    assert cell["not_kept"] == ["ownership lease-and-heartbeat, renewed by its runtime"]
    assert {anomaly["name"] for anomaly in cell["arms"][0]["anomalies"]} == {"double-execution"}
    assert not cell["without_fault"]


def test_the_broken_adapter_is_an_error_in_every_scenario_and_ends_nothing(ran: Ran) -> None:
    cells = [ran.cell("PrintsRubbish", name) for name in ("heartbeat", "delayed")]
    assert [cell["verdict"] for cell in cells] == ["error", "error"]
    assert all("printed rubbish at `describe`" in cell["reason"] for cell in cells)
    assert all(cell["arms"] == [] for cell in cells)


def test_every_history_is_where_it_is_said_to_be_and_says_the_same(ran: Ran) -> None:
    arms = [arm for each in (*ran.data["scenarios"], *_cells(ran.data)) for arm in each["arms"]]
    assert len(arms) == 2 * 4 + 2 * 2
    assert len({arm["history"] for arm in arms}) == len(arms)
    assert {arm["history"].partition("/")[0] for arm in arms} == {"reference", "Sane", "ReclaimsTheLiving"}
    assert all(load(ran.out / arm["history"])[-1]["event"] == "end" for arm in arms)


def _cells(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for subject in data["subjects"] for cell in subject["cells"]]


def test_a_saved_history_of_a_stranger_is_judged_again(ran: Ran) -> None:
    from bench.discover import pick, scenarios

    (heartbeat,) = pick(["heartbeat"], scenarios())
    history = load(ran.out / ran.cell("ReclaimsTheLiving", "heartbeat")["arms"][0]["history"])
    assert judge(history, heartbeat.checks).names == {"double-execution"}


def test_what_is_shown(ran: Ran) -> None:
    shown = ran.done.stdout
    assert shown.isascii()
    assert "heartbeat + pass x double-execution ! error" in " ".join(shown.split())
    assert "leaseproof run heartbeat --subject ReclaimsTheLiving --profile tuned --arms sound-fault" in " ".join(
        shown.split()
    )
    assert "out/ReclaimsTheLiving/tuned/heartbeat/sound-fault.jsonl" in shown
    assert "PrintsRubbish tuned: error, adapter: the control process printed rubbish at `describe`" in shown


def test_progress_says_whose_arm_it_is(ran: Ran) -> None:
    lines = ran.done.stderr.splitlines()
    assert len(lines) == 2 * 4 + 3 * 2 * 2
    for words in ("queue_core heartbeat NoRenewal-fault fail (as expected)", "Sane tuned heartbeat sound-sham pass"):
        assert sum(line.startswith(words) for line in lines) == 1


def test_no_password_is_anywhere(ran: Ran, dsn: str) -> None:
    texts = [ran.done.stdout, ran.done.stderr, *(p.read_text() for p in ran.out.rglob("*") if p.is_file())]
    assert not any(password(dsn) in text for text in texts)


# The record, held against the same run: nothing is run again.


@pytest.fixture
def again(ran: Ran, main: Main, monkeypatch: pytest.MonkeyPatch) -> Main:
    """The command on what was saved."""

    def started(*_: object) -> None:
        raise AssertionError("something was started")

    monkeypatch.setattr(subprocess, "Popen", started)
    return lambda *options: main("validate", ran.out / "validate.json", *options)


def test_a_result_is_shown_again_without_a_run(again: Main, ran: Ran) -> None:
    said = again("--plain")
    assert said.code == 1
    assert said.out.partition("history")[0] == ran.done.stdout.partition("history")[0]
    assert json.loads(again("--json").out) == ran.data


def recorded(again: Main, path: Path) -> str:
    """The text of a record of the run."""
    said = again("--write-expect", path)
    assert said.code == 4, said  # the broken adapter is no finding
    assert said.err == f"leaseproof: {path}: findings: 1, still without reason or link: 1\n"
    return path.read_text()


def explained(text: str) -> str:
    return text.replace('reason = ""', 'reason = "as meant"').replace('link = ""', 'link = "https://example.org"')


def test_a_record_must_be_explained(again: Main, tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    recorded(again, path)
    line = one_line(again("--expect", path))
    assert "ReclaimsTheLiving tuned heartbeat has no reason and no link; a finding needs both" in line


def test_what_is_known_is_no_finding_but_an_error_stays_one(again: Main, tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(explained(recorded(again, path)))
    said = again("--expect", path, "--plain")
    assert said.code == 4
    words = " ".join(said.out.split())
    assert "1 finding known, 0 new, 0 mended" in words
    assert "known: as meant (https://example.org)" in words
    text = path.read_text()
    assert again("--write-expect", path).code == 4
    assert path.read_text() == text


def test_what_is_new_and_what_is_mended_is_told(again: Main, tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    text = explained(recorded(again, path))
    path.write_text(text.replace("ReclaimsTheLiving", "Sane"))
    said = again("--expect", path, "--plain")
    assert said.code == 1
    assert "    new: ReclaimsTheLiving tuned, heartbeat: double-execution\n" in said.out
    assert "    mended: Sane tuned, heartbeat: double-execution\n" in said.out


def test_a_page_of_markdown(again: Main) -> None:
    said = again("--markdown", "-")
    assert said.code == 1
    assert "| heartbeat | pass | [**fail**](#reclaimstheliving-tuned-heartbeat) double-execution | error |" in said.out


# What starts nothing.


def test_a_record_that_is_not_there(again: Main) -> None:
    assert "cannot read known.toml: No such file or directory; --write-expect makes it" in one_line(
        again("--expect", "known.toml")
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "result.json is no result of a run in format 1"),
        ('{"format": 2, "subjects": [], "scenarios": []}', "result.json is no result of a run in format 1"),
        ('{"format": 1, "scenarios": []}', "result.json is no result of `validate`; see it with `leaseproof report"),
    ],
)
def test_a_file_that_is_no_result(text: str, said: str, main: Main, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(text)
    assert said in one_line(main("validate", tmp_path / "result.json"))


def test_a_subject_that_is_not_there(main: Main) -> None:
    assert "there is no subject 'queue_cor'; did you mean 'queue_core'?" in one_line(main("validate", "queue_cor"))


def test_a_scenario_that_is_not_there(main: Main) -> None:
    line = one_line(main("validate", "queue_core", "--scenario", "heartbeet"))
    assert "there is no scenario 'heartbeet'; did you mean 'heartbeat'?" in line


def test_a_dry_run(ran: Ran, main: Main) -> None:
    said: Said = main("validate", ran.cwd / "Sane", *SCENARIOS, "--dry-run", "--profile", "default")
    assert (said.code, said.err) == (0, "")
    assert "would run up to 12 arms" in said.out
    assert "Sane default, from " in said.out
    assert "in: heartbeat, delayed" in said.out
