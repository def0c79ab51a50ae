"""Results of `leaseproof validate` written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.reports.results import Result, anomaly, arm, pair

REASON = "its describe does not offer hold"
ROTTEN = "adapter: the control process died at `describe` with status 1; it said last:\n    no such broker"


def cell(scenario: str, verdict: str, *found: str, sham: Sequence[str] = (), **more: Any) -> Result:
    """A cell in which the arm with the fault shows these anomalies, and the sham those."""
    arms = [
        _arm(scenario, "sound-fault", "fail" if found else verdict, found, **more.pop("arm", {})),
        _arm(scenario, "sound-sham", "fail" if sham else "pass" if found else verdict, sham),
    ]
    return {
        "scenario": scenario,
        "verdict": verdict,
        "reason": "",
        "without_fault": bool(sham),
        "not_kept": [],
        "arms": arms,
        **more,
    }


def _arm(scenario: str, id_: str, verdict: str, found: Sequence[str], **more: Any) -> Result:
    anomalies = [anomaly(name, f"{name} was seen", 4, 9) for name in found]
    reason = "" if verdict in ("pass", "fail") else "the machine stalled"
    history = f"sidekiq/default/{scenario}/{id_}.jsonl"
    return arm(scenario, id_, verdict, anomalies=anomalies, **{"reason": reason, "history": history, **more})


def empty(scenario: str, verdict: str, reason: str) -> Result:
    """A cell of which nothing is shown."""
    return cell(scenario, verdict, reason=reason) | {"arms": []}


def subject(name: str, profile: str, *cells: Result, error: str = "", smoke: str = "") -> Result:
    described = {"subject": name, "version": "7.3.1", "reclaim": "automatic"}
    return {
        "name": name,
        "given": f"subjects/{name}",
        "profile": profile,
        "settings": {"about": f"as its {profile} has it.", "docs": f"https://example.org/{name}"},
        "describe": {} if error else described,
        "recovery": None if error else 45.0,
        "error": error,
        "smoke": smoke,
        "cells": list(cells),
    }


def validation(*subjects: Result, verdict: str = "finding", exit_code: int = 1, **more: Any) -> Result:
    """Three scenarios; the reference has proven the first three, and not the last."""
    scenarios = [
        pair("worker-death", "The state holds a job.", 1, "NoReclaim", "Queue.reclaim", "stranded"),
        pair("heartbeat", "A renewed lease keeps its owner.", 2, "NoRenewal", "Worker.renew", "double-execution"),
        pair("claim-race", "A job is handed out once.", 4, "SelectThenUpdate", "Queue.claim", "double-claim"),
        pair("late-finish", "A late finish is refused.", 7, "Trusting", "Queue.complete", "stale-finish-accepted"),
    ]
    scenarios[3] |= {"status": "inconclusive", "why": "sound-fault: the machine stalled"}
    return {
        "format": 1,
        "leaseproof": "0.1.0",
        "started": "2026-11-30T09:30:00Z",
        "command": "leaseproof validate all",
        "wall_seconds": 41.2,
        "cpu_seconds": 55.0,
        "lease": 1.0,
        "longest": 60.0,
        "seed": 12345,
        "jobs": 8,
        "environment": {"postgres": "18.6 (embedded)", "python": "3.11.2", "platform": "Linux"},
        "longest_stall": 0.02,
        "verdict": verdict,
        "exit_code": exit_code,
        "expected": None,
        "scenarios": scenarios,
        "subjects": list(subjects),
        **more,
    }


UNPROVEN = empty("late-finish", "unproven", "inconclusive: sound-fault: the machine stalled")
UNSUPPORTED = empty("claim-race", "unsupported", REASON)
NOT_KEPT = ["reclaim automatic, an abandoned job back within 45 s"]


def mixed() -> Result:
    """One of each kind of cell."""
    figure = {"figures": [["back after", "31.20 s: 30.00 s of lease, 1.20 s of reclaim"]]}
    return validation(
        subject(
            "sidekiq",
            "default",
            cell("worker-death", "fail", "stranded", "lost", not_kept=NOT_KEPT),
            cell("heartbeat", "pass"),
            UNSUPPORTED,
            UNPROVEN,
        ),
        subject(
            "sidekiq",
            "tuned",
            cell("worker-death", "pass", arm=figure),
            cell("heartbeat", "inconclusive", reason="sound-fault: the machine stalled"),
            UNSUPPORTED,
            UNPROVEN,
        ),
        subject(
            "rotten",
            "default",
            *(empty(name, "error", ROTTEN) for name in ("worker-death", "heartbeat", "claim-race")),
            UNPROVEN,
            error=ROTTEN,
        ),
        subject(
            "plain",
            "default",
            cell("worker-death", "fail", "double-execution", sham=["disturbed"]),
            cell("heartbeat", "error", reason="adapter: the control process hung", arm={"reason": "adapter: hung"}),
            UNSUPPORTED,
            UNPROVEN,
            smoke="smoke-good was begun 2 times, and is `done`",
        ),
    )


def clean() -> Result:
    """One subject that holds everywhere."""
    cells = [cell("worker-death", "pass"), cell("heartbeat", "pass"), UNSUPPORTED, UNPROVEN]
    return validation(subject("fine", "default", *cells), verdict="clean", exit_code=0)


def many() -> Result:
    """Twelve subjects, in two profiles each."""
    subjects = [
        subject(
            f"queue-number-{n}",
            profile,
            cell("worker-death", "fail" if n % 3 else "pass", *["stranded"] * (n % 3 > 0)),
            cell("heartbeat", "pass"),
            UNSUPPORTED,
            UNPROVEN,
        )
        for n in range(1, 13)
        for profile in ("default", "tuned")
    ]
    return validation(*subjects)
