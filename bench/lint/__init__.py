"""`leaseproof lint`: does an adapter keep the contract? Its processes are started, talked to, and overheard.

Each message of both directions is held against its schema (wire.py), and what is declared against what really happens
(control.py, work.py, options.py). It is an arm like any other: what it needs is started, and ended, as for every run.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from bench import made, runner
from bench.lint import control, options, work
from bench.lint.findings import Finding, Findings
from bench.lint.look import Look
from bench.lint.wire import Wire
from bench.lint.wiretap import Wiretap
from bench.runner import Bench, Settings, Unwatched
from bench.scenario import Arm, Scenario
from bench.subject import Control

__all__ = ["Finding", "Report", "lint", "linted"]

TRANSCRIPT = "messages.jsonl"
"""In the folder of results: all messages, a line each."""


@dataclass(frozen=True)
class Report:
    """What came of a lint. `stopped` says why it went no further, `doubt` why it could not be had; or they are empty.

    `heard` is the number of messages.
    """

    subject: str
    version: str
    findings: list[Finding]
    stopped: str
    doubt: str
    heard: int
    seconds: float

    @property
    def wrong(self) -> str:
        """What is wrong with the adapter, in a sentence; empty when nothing is."""
        what = [f"{finding.where}: {finding.what}" for finding in self.findings if finding.blame == "adapter"]
        return "; ".join([*what, *([self.stopped] if self.stopped else [])])

    @property
    def exit_code(self) -> int:
        """0: clean; 4: the adapter is broken, or the bench; 3: nothing can be said."""
        if any(finding.blame != "nobody" for finding in self.findings) or self.stopped:
            return 4
        return 3 if self.doubt else 0


def lint(settings: Settings) -> Report:
    """Lint a subject. Raises what a run raises."""
    with runner.bench(settings, []) as running:
        return linted(running)


def linted(running: Bench) -> Report:
    """Lint the subject of a bench that is up. Raises Closed as a run does."""
    settings, findings = running.settings, Findings()
    settings.out.mkdir(parents=True, exist_ok=True)
    if made.is_stale(settings.subject):
        findings.add(
            str(settings.subject.env),
            "files of the subject have changed since its environment was made, or it never was",
            "`make` in subject.toml makes it.",
            f"leaseproof make {settings.subject.folder.name}",
            blame="nobody",
        )
    with (settings.out / TRANSCRIPT).open("w", encoding="utf-8", errors="backslashreplace") as transcript:
        wire = Wire(findings, transcript)
        scenario = Scenario(
            name="lint",
            claim="The adapter keeps the contract.",
            row=0,
            origin="docs/protocol.md",
            fault="a worker is told to stop",
            sham="",
            twins=[],
            checks=[],
            recovery=False,
            run=lambda run: _perform(Look(run, findings, wire)),
        )
        with Wiretap(settings.subject.launch, wire).on() as tap:
            arm = replace(running, launch=tap.launch).once(Arm(scenario, None, fault=True), 1, Unwatched())
    verdict, describe = arm.verdict, arm.events[0]["subject"]
    whose, _, text = verdict.reason.partition(": ") if verdict.verdict == "error" else ("", "", "")
    if text in [finding.what for finding in findings]:
        text = ""
    elif text and not findings.wrong():
        findings.add(*_blamed(text, settings.out), blame="bench" if whose == "bench" else "adapter")
        text = ""
    return Report(
        subject=describe.get("subject", settings.subject.name),
        version=describe.get("version", ""),
        findings=list(findings),
        stopped=text,
        doubt=verdict.reason if verdict.verdict == "inconclusive" else "",
        heard=wire.heard,
        seconds=arm.events[-1]["t"],
    )


def _perform(look: Look) -> None:
    """The script, in the order of docs/protocol.md."""
    jobs = [*look.run.load(2, "lint", orders=[]), look.run.enqueue("lint-3")]
    control.rows(look, jobs)
    control.statements(look, jobs[0])
    worker = look.worker("lint-worker")
    work.in_order(look, worker, jobs)
    work.slots(look)
    for option, trial in options.TRIALS.items():
        look.attempt(option, trial)
    work.stopped(look, work.reclaimed(look, worker))
    work.undeclared(look)
    control.ends(look, "`stop`", lambda process: process.say("stop"))
    control.ends(look, "the end of its stdin", Control.hang_up)


def _blamed(text: str, out: Path) -> tuple[str, str, str, str]:
    """Where, what, rule and cure of what the bench itself met with."""
    rule, cure = next((rule, cure) for pattern, rule, cure in TROUBLE if re.search(pattern, text, re.DOTALL))
    where = "worker" if re.match("worker|scheduler|the witness", text) else "control"
    return where, text, rule, cure.format(logs=out / "lint")


TROUBLE = [
    ("inspect: rows", "A row for each id, in order.", "answer a row for each id, in the order of the request"),
    (
        "could not be started",
        "subject.toml names the commands.",
        "mend the command, or make the environment that it is in",
    ),
    ("hung: no answer", "Every request has one answer.", "answer each request, and flush stdout after each line"),
    ("out of turn", "An answer has the `id` of its request.", "answer one request after another, with its `id`"),
    (
        "without an `answer`",
        "An answer has the `id` of its request, and `answer` or `error`.",
        "add `answer`, an object",
    ),
    (
        "did not say that it is ready",
        "The first message of the worker's own line says that jobs are taken from now on.",
        "call the kit's `ready` when the worker begins to look for jobs; it needs LEASEPROOF_WITNESS and the rest",
    ),
    ("before it was ready", "A worker runs until it is told to stop.", "see its log in {logs}"),
    ("nobody told it to", "A worker runs until it is told to stop.", "see its log in {logs}"),
    (
        "was given to",
        "One id, a string, for each job; no two alike in all of the arm.",
        "answer the ids that the queue itself gave, or ids of your own that never come again",
    ),
    (
        "could not do",
        "What can't be done is answered with `error`, which is the adapter's fault.",
        "see its log in {logs}",
    ),
    ("died at", "A long-lived process: it ends when it is told `stop`, or its stdin ends.", "see its log in {logs}"),
    ("", "docs/protocol.md", "see the logs in {logs}"),
]
"""What stops a lint: a pattern of its text, the rule that it breaks, and the cure."""
