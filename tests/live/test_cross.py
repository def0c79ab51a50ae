"""A small cross as a user meets it: what it runs, what it shows, and that it can fail."""

import json
from pathlib import Path
from typing import Any

import jsonschema

import reports
from tests.fakes.sane import Sane
from tests.fakes.subjects import write
from tests.live.conftest import leaseproof

SCHEMA = json.loads((Path(reports.__file__).parent / "result.schema.json").read_text(encoding="utf-8"))


def shown(out: Path) -> dict[str, Any]:
    """The result: of each scenario and arm, what it showed."""
    data = json.loads((out / "result.json").read_text(encoding="utf-8"))
    jsonschema.validate(data, SCHEMA)
    return {
        f"{scenario['name']} {arm['id']}": {anomaly["name"] for anomaly in arm["anomalies"]} or arm["verdict"]
        for scenario in data["scenarios"]
        for arm in scenario["arms"]
    }


def test_two_twins_in_one_anothers_scenario(dsn: str, tmp_path: Path) -> None:
    names = ["late-finish", "self-reclaim"]
    done = leaseproof("cross", *names, "--lease", "1", "--out", "out", "--postgres", dsn, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert shown(tmp_path / "out") == {
        "late-finish sound-fault": "pass",
        "late-finish CompleteByAnyone-fault": {"stale-finish-accepted"},
        "late-finish FencedByName-fault": "pass",
        "self-reclaim sound-fault": "pass",
        "self-reclaim CompleteByAnyone-fault": {"stale-finish-accepted"},
        "self-reclaim FencedByName-fault": {"stale-finish-accepted"},
    }
    assert "  FencedByName      ✓ pass   ✓ fails  stale-finish-accepted\n" in done.stdout
    assert "CompleteByAnyone fails in self-reclaim, too: " in done.stdout
    assert "2 twins in 2 scenarios: 3 of 4 fail, all as they must" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_twin_that_fails_elsewhere_undeclared_is_a_finding(dsn: str, tmp_path: Path) -> None:
    options = ["--arms", "NoRenewal-fault", "--lease", "1", "--plain", "--out", "out", "--postgres", dsn]
    done = leaseproof("cross", "heartbeat", "sigterm-drain", *options, cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 1, done.stdout + done.stderr
    assert shown(tmp_path / "out") == {
        "heartbeat NoRenewal-fault": {"double-execution"},
        "sigterm-drain NoRenewal-fault": {"double-execution"},
    }
    assert "  NoRenewal  + fails  x fails  double-execution\n" in done.stdout
    assert "leaseproof cross sigterm-drain heartbeat --arms NoRenewal-fault" in done.stdout
    assert done.stdout.isascii()


def test_a_name_that_nothing_has(tmp_path: Path) -> None:
    done = leaseproof("cross", "late-finsh", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no scenario 'late-finsh'; did you mean 'late-finish'?" in done.stderr


def test_a_subject_without_twins(tmp_path: Path) -> None:
    done = leaseproof("cross", "--subject", write(Sane, tmp_path), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "has no twins, so there is nothing to cross" in done.stderr


def test_a_dry_run_says_what_must_come_out_where(tmp_path: Path) -> None:
    done = leaseproof("cross", "--dry-run", "--arms", "CompleteByAnyone", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "would run 6 arms" in done.stdout
    assert done.stdout.count("CompleteByAnyone-fault (without Queue.COMPLETE): must show stale-finish-accepted") == 2
    assert done.stdout.count("CompleteByAnyone-fault (without Queue.COMPLETE): must pass") == 4
    assert list(tmp_path.iterdir()) == []
