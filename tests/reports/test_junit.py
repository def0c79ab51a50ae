"""JUnit as those read it who know nothing of leaseproof: junitparser, and an XML parser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from bench import expect
from reports.junit import REFERENCE, junit
from tests.reports.hostile import TEXTS, results
from tests.reports.results import Result, anomaly, arm, mixed, sound
from tests.reports.test_cross import broken as cross
from tests.reports.test_subjects import compared
from tests.reports.validations import cell, clean, subject, validation
from tests.reports.validations import mixed as mixed_subjects


def read(result: Result) -> dict[str, TestSuite]:
    """The suites, by name."""
    return {str(suite.name): suite for suite in JUnitXml.fromstring(junit(result).encode())}


def settings(suite: TestSuite) -> dict[str, str]:
    return {str(it.name): str(it.value) for it in suite.properties()}  # type: ignore[no-untyped-call]


def cases(result: Result, suite: str) -> dict[str, TestCase]:
    return {str(case.name): case for case in read(result)[suite]}


def outcome(case: TestCase) -> tuple[type, str, str]:
    """What became of it: its one result, the message and the text."""
    (found,) = case.result
    return type(found), str(found.message), str(found.text or "")


def test_a_suite_a_scenario_and_a_case_an_arm() -> None:
    suites = read(sound())
    assert list(suites) == [scenario["name"] for scenario in sound()["scenarios"]]
    suite = suites["heartbeat"]
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (4, 0, 0, 0)
    assert [case.name for case in suite] == ["sound-fault", "sound-sham", "NoRenewal-fault", "NoRenewal-sham"]
    assert {case.classname for case in suite} == {"leaseproof.heartbeat"}
    assert suite.time == pytest.approx(4 * 3.2)
    assert suite.timestamp == "2026-07-18T09:30:00"


def test_a_suite_says_what_was_run_on_what_and_not_on_which_host() -> None:
    suite = read(sound())["heartbeat"]
    told = settings(suite)
    assert told["postgres"] == "18.6 (embedded)"
    assert told["subject"] == "queue_core 0.1.0"
    assert (told["lease"], told["seed"], told["profile"]) == ("1.0", "12345", "tuned")
    assert suite.hostname is None


def test_a_twin_that_broke_as_it_must_has_passed_and_says_how() -> None:
    case = cases(sound(), "worker-death")["ClaimByLease-fault"]
    assert case.is_passed
    assert "claimed-while-running: rival-2 was given job 1" in case.system_out


def test_a_twin_that_did_not_is_a_failure() -> None:
    kind, message, text = outcome(cases(mixed(), "heartbeat")["NoRenewal-fault"])
    assert (kind, message) == (Failure, "it must show double-execution, and it passed")
    assert "history: heartbeat/NoRenewal-fault.jsonl" in text
    assert "again: leaseproof run heartbeat --arms NoRenewal-fault" in text


def test_a_violation_is_a_failure_with_each_anomaly_and_its_events() -> None:
    kind, message, text = outcome(cases(mixed(), "claim-race")["sound-fault"])
    assert (kind, message) == (Failure, "it must pass, and it showed double-claim")
    assert "double-claim: job 2 was handed out twice, to w1 and to w2 (events 2, 3)\n" in text
    assert text.count("double-claim: ") == 7


@pytest.mark.parametrize(("verdict", "kind"), [("inconclusive", Error), ("error", Error), ("unsupported", Skipped)])
def test_what_has_no_verdict_has_its_reason(verdict: str, kind: type) -> None:
    result = sound()
    result["scenarios"][1]["arms"][0] = arm("heartbeat", "sound-fault", verdict, reason="it stalled\nfor long")
    found, message, text = outcome(cases(result, "heartbeat")["sound-fault"])
    assert (found, message) == (kind, "it stalled for long")
    assert "it stalled\nfor long\n" in text


def test_a_cross_is_repeated_as_one() -> None:
    text = junit(cross())
    assert "again: leaseproof cross" in text
    assert "again: leaseproof run" not in text


def test_subjects_are_suites_with_a_case_a_scenario_beside_the_reference() -> None:
    suites = read(mixed_subjects())
    assert list(suites) == [REFERENCE, "sidekiq default", "sidekiq tuned", "rotten default", "plain default"]
    assert [case.name for case in suites["sidekiq default"]] == [
        "worker-death",
        "heartbeat",
        "claim-race",
        "late-finish",
    ]
    told = settings(suites["sidekiq default"])
    assert told["subject"] == "sidekiq 7.3.1"
    assert told["profile.docs"] == "https://example.org/sidekiq"


def test_the_cells_of_a_subject() -> None:
    found = cases(mixed_subjects(), "sidekiq default")
    kind, message, text = outcome(found["worker-death"])
    assert kind is Failure
    assert message.startswith("stranded, lost: it declares reclaim automatic")
    assert "with the fault: it must pass, and it showed stranded and lost\n" in text
    again = "leaseproof run worker-death --subject subjects/sidekiq --profile default --arms sound-fault"
    assert f"again: {again}" in text
    assert found["heartbeat"].is_passed
    assert outcome(found["claim-race"])[:2] == (Skipped, "its describe does not offer hold")
    assert outcome(found["late-finish"])[0] is Skipped
    assert outcome(cases(mixed_subjects(), "sidekiq tuned")["heartbeat"])[0] is Error
    assert outcome(cases(mixed_subjects(), "rotten default")["heartbeat"])[0] is Error


def test_a_scenario_that_the_reference_does_not_prove_is_seen() -> None:
    assert outcome(cases(clean(), REFERENCE)["late-finish"])[:2] == (Error, "sound-fault: the machine stalled")
    assert cases(clean(), REFERENCE)["heartbeat"].is_passed


def test_a_smoke_that_went_wrong_is_a_note() -> None:
    case = cases(mixed_subjects(), "plain default")["smoke"]
    assert case.is_passed
    assert "begun 2 times" in case.system_out


def test_what_is_known_is_skipped_and_what_is_new_or_mended_fails() -> None:
    known = outcome(cases(compared(), "sidekiq default")["worker-death"])
    assert known[:2] == (Skipped, "known: stranded, lost: it has no reclaim (https://example.org/1)")
    new = outcome(cases(compared(), "plain default")["worker-death"])
    assert new[0] is Failure
    assert new[1].startswith("new: double-execution, disturbed: the queue breaks even without the fault")
    mended = outcome(cases(compared(), "sidekiq tuned")["worker-death"])
    assert mended[:2] == (Failure, "mended: lost, stranded; take it out of known.toml")


def test_what_is_new_beside_what_is_known_fails_with_that_alone() -> None:
    result = compared()
    result["expected"]["new"][0] |= {"subject": "sidekiq", "fault": ["lost"], "sham": []}
    assert outcome(cases(result, "sidekiq default")["worker-death"])[:2] == (
        Failure,
        "new, beside what is known: lost",
    )


REASON = {"reason": "as it is", "link": "https://example.org/1"}


def finding(**more: Any) -> expect.Finding:
    return expect.Finding("rq", "default", "worker-death", **{**REASON, **more})


@pytest.mark.parametrize(
    ("found", "known"),
    [
        (cell("worker-death", "pass"), []),
        (cell("worker-death", "fail", "lost"), []),
        (cell("worker-death", "fail", "lost"), [finding(fault=("lost",))]),
        (cell("worker-death", "fail", "lost", "stranded"), [finding(fault=("lost",))]),
        (cell("worker-death", "fail", "lost"), [finding(fault=("lost", "stranded"))]),
        (cell("worker-death", "fail", "lost"), [finding(sometimes=("lost",))]),
        (cell("worker-death", "pass"), [finding(sometimes=("lost",))]),
        (cell("worker-death", "pass"), [finding(fault=("lost",))]),
        (cell("worker-death", "inconclusive", reason="it stalled"), [finding(fault=("lost",))]),
        (cell("worker-death", "unsupported", reason="it can't") | {"arms": []}, [finding(fault=("lost",))]),
    ],
)
def test_it_fails_exactly_where_the_run_does(found: Result, known: list[expect.Finding]) -> None:
    result = validation(subject("rq", "default", found), verdict="clean", exit_code=0)
    result["scenarios"] = result["scenarios"][:1]
    held = expect.held(result, Path("known.toml"), known)
    total = JUnitXml.fromstring(junit(held).encode())
    total.update_statistics()  # type: ignore[no-untyped-call]
    assert (total.failures + total.errors == 0) == (held["exit_code"] == 0)
    assert (total.errors > 0) == (held["exit_code"] == 3)


@pytest.mark.parametrize("name", TEXTS)
def test_whatever_a_subject_says_it_is_xml(name: str) -> None:
    for result in results(TEXTS[name]):
        text = junit(result)
        root = ElementTree.fromstring(text.encode())
        assert {it.tag for it in root.iter()} <= TAGS
        read(result)
        assert max(map(len, text.splitlines())) < 20_000


TAGS = {
    "testsuites",
    "testsuite",
    "properties",
    "property",
    "testcase",
    "failure",
    "error",
    "skipped",
    "system-out",
}


def shape(text: str) -> set[tuple[str, str, str]]:
    """Each element by its parent, with the names of its attributes."""
    root = ElementTree.fromstring(text)
    return {(up.tag, it.tag, key) for up in root.iter() for it in up for key in ("", *it.keys())}


PYTEST = """
import pytest

def test_passes(record_property, record_testsuite_property):
    record_testsuite_property("postgres", "18")
    print("said")

def test_fails():
    assert False

def test_is_skipped():
    pytest.skip("why")

@pytest.fixture
def broken():
    raise RuntimeError

def test_is_an_error(broken):
    pass
"""


def test_it_is_in_the_dialect_that_pytest_writes(tmp_path: Path) -> None:
    """CI systems read that of pytest; an element or an attribute of our own would be one that some refuse."""
    (tmp_path / "test_all.py").write_text(PYTEST)
    junit_of_pytest = ["-o", "junit_logging=all", "--junitxml=junit.xml", "-p", "no:cacheprovider", "-q"]
    subprocess.run([sys.executable, "-m", "pytest", *junit_of_pytest], cwd=tmp_path, check=False, capture_output=True)
    theirs = shape((tmp_path / "junit.xml").read_text())
    ours = shape(junit(mixed())) | shape(junit(mixed_subjects())) | shape(junit(compared()))
    assert ours <= theirs


def test_the_same_run_gives_the_same_file() -> None:
    assert junit(mixed()) == junit(mixed())
    assert junit(mixed_subjects()) == junit(mixed_subjects())


def test_an_anomaly_without_events_has_none() -> None:
    result = mixed()
    result["scenarios"][3]["arms"][0]["anomalies"] = [anomaly("lost", "gone")]
    assert outcome(cases(result, "claim-race")["sound-fault"])[2].startswith("lost: gone\n")
