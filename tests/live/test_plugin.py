"""`pytest scenarios` is the matrix, with pytest's own tools."""

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def pytest_scenarios(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "scenarios", "-q", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_arms_are_items(tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    done = pytest_scenarios("-k", "impossible_states", f"--junitxml={report}", f"--out={tmp_path}")
    assert done.returncode == 0, done.stdout + done.stderr
    cases = {case.attrib["name"]: case for case in ET.parse(report).iter("testcase")}
    assert set(cases) == {"sound-fault", "sound-sham", "NoLeaseCheck-fault", "NoLeaseCheck-sham"}
    properties = {p.attrib["name"]: p.attrib["value"] for p in cases["NoLeaseCheck-fault"].iter("property")}
    assert properties["expected"] == "impossible-state"
    assert (tmp_path / properties["history"]).is_file()


def test_an_arm_that_can_not_be_run_is_skipped_and_says_why(dsn: str, tmp_path: Path) -> None:
    done = pytest_scenarios("-k", "database_crash and sound", "-rs", f"--postgres={dsn}", f"--out={tmp_path}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 skipped" in done.stdout
    assert "unsupported: needs a server of its own, which it may crash: not the one behind a DSN" in done.stdout


def test_all_arms_are_collected_and_nothing_is_started(tmp_path: Path) -> None:
    done = pytest_scenarios("--collect-only", f"--out={tmp_path / 'out'}")
    assert done.returncode == 0
    assert "worker_death.py::ClaimHoldsLock-sham" in done.stdout
    assert not (tmp_path / "out").exists()
