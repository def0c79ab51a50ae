"""`leaseproof check` on saved histories, in this process: what it says, and what it exits with."""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.cli import main
from bench.history import Event, dump
from tests.bench.histories import QUEUED, Run, event, row, wait, whole

a = Run(1, "A")

Check = Callable[[list[Event]], tuple[int, str, str]]


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Check]:
    """Runs the command on these events: its exit code, and what it printed to stdout and to stderr."""
    path = tmp_path / "history.jsonl"

    def check(events: list[Event]) -> tuple[int, str, str]:
        path.write_bytes(dump(events))
        code = main(["check", str(path)])
        out, err = capsys.readouterr()
        return code, out, err.replace(str(path), "FILE")

    before = signal.getsignal(signal.SIGTERM)
    yield check
    signal.signal(signal.SIGTERM, before)


def saved(*events: Event, **header: Any) -> list[Event]:
    """A saved history of worker-death that leaves no doubt."""
    first, *rest = whole(*events)
    return [first | {"scenario": "worker-death"} | header, *rest]


FINE = saved(QUEUED, a.started, a.finished, row("done", attempt="1"))


def lacking(name: str) -> list[Event]:
    """The history without a field of its header."""
    return [{k: v for k, v in FINE[0].items() if k != name}, *FINE[1:]]


def test_what_passed_passes_again(check: Check) -> None:
    assert check(FINE) == (0, "worker-death sound-fault: pass, as it must be\n", "")


def test_a_finding_is_shown_with_its_lines(check: Check) -> None:
    code, out, err = check(saved(QUEUED, wait(False, "job", "2 L"), a.started, a.finished))
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "worker-death sound-fault: fail, not as it must be",
        "    stranded: not within 2.00 s (2 L): something (lines 2, 3)",
    ]


def test_a_cut_is_inconclusive(check: Check) -> None:
    code, out, _ = check(FINE[:-1])
    assert code == 3
    assert "the history is cut" in out


def test_a_stall_is_inconclusive(check: Check) -> None:
    code, out, _ = check([event | {"seconds": 9.0} if event["event"] == "stalled" else event for event in FINE])
    assert code == 3
    assert "this machine stalled for 9.000 s" in out


def test_what_was_not_run_is_no_finding(check: Check) -> None:
    unsupported = event("unsupported", reason="its describe does not offer hold")
    code, out, err = check([FINE[0], {"t": 1.0, **unsupported}, *FINE[-2:]])
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "worker-death sound-fault: unsupported, nothing was run",
        "    its describe does not offer hold",
    ]


def test_an_unknown_scenario_is_wrong_usage(check: Check) -> None:
    code, out, err = check(saved(scenario="worker-birth"))
    assert (code, out) == (2, "")
    assert "worker-birth" in err
    assert err.count("\n") == 1


def is_told_so(said: tuple[int, str, str], missing: str) -> None:
    code, out, err = said
    assert (code, out) == (2, "")
    assert err.startswith("leaseproof: FILE lacks what a history has: ")
    assert missing in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["margin", "arm", "subject"])
def test_a_header_that_lacks_what_a_verdict_needs(check: Check, name: str) -> None:
    is_told_so(check(lacking(name)), name)


@pytest.mark.parametrize("name", ["expected", "also", "fault"])
def test_an_arm_that_lacks_what_a_verdict_needs(check: Check, name: str) -> None:
    is_told_so(check(saved(arm={k: v for k, v in FINE[0]["arm"].items() if k != name})), name)


@pytest.mark.parametrize("kind", ["started", "finished", "row", "fault", "receipt", "stalled", "enqueued"])
def test_an_event_that_has_nothing_but_its_kind(check: Check, kind: str) -> None:
    is_told_so(check([e if e["event"] != kind else {"t": e["t"], "event": kind} for e in FINE]), "KeyError")


@pytest.mark.parametrize("margin", ["wide", None, []])
def test_a_margin_that_is_no_number(check: Check, margin: object) -> None:
    is_told_so(check(saved(margin=margin)), "TypeError")


def test_a_file_that_is_no_history(check: Check) -> None:
    code, out, err = check([{"t": 0, "event": "end"}])
    assert (code, out, err) == (2, "", "leaseproof: FILE is not a history: its first line is not a header\n")


CRASHED_ONCE: dict[str, tuple[list[Event], str]] = {
    "no scenario": (lacking("scenario"), "KeyError outside of the `try`, a traceback and exit code 4"),
    "a scenario that is no name": (saved(scenario=[]), "as above, TypeError"),
    "an arm without an id": (
        saved(arm={k: v for k, v in FINE[0]["arm"].items() if k != "id"}),
        "KeyError outside of the `try`, where the verdict is printed",
    ),
    "a bound that is no number": (
        saved(QUEUED, {**wait(False, "job", "2 L"), "within": "long"}),
        "ValueError of the format `.2f`, which is not caught",
    ),
}


@pytest.mark.parametrize(
    "events",
    [pytest.param(events, id=what) for what, (events, _) in CRASHED_ONCE.items()],
)
def test_what_once_crashed_is_told(check: Check, events: list[Event]) -> None:
    code, out, err = check(events)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_json_says_the_same(tmp_path: Path, check: Check, capsys: pytest.CaptureFixture[str]) -> None:
    check(FINE)
    assert main(["check", "--json", str(tmp_path / "history.jsonl")]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["verdict"], answer["as_expected"], answer["anomalies"]) == ("pass", True, [])
