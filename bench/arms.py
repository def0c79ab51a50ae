"""One arm, from its set-up to its complete history."""

import contextlib
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import psutil

from bench import contract
from bench.contract import AdapterFault
from bench.history import FORMAT, Closed, Event, History
from bench.postgres import redact
from bench.scenario import Scenario
from bench.script import MARGIN, Run, Unmet
from bench.stage import Stage
from bench.stalls import StallMeter
from bench.subject import Control
from bench.terms import Terms
from bench.witness import Witness

PREPARED_WITHIN = 180.0
"""Seconds that a subject may take for its schema, which can be many migrations; nothing is timed meanwhile."""


def run_arm(
    stage: Stage,
    witness: Witness,
    stalls: StallMeter,
    versions: Mapping[str, str],
    begun: Callable[[History], None] = lambda history: None,
) -> list[Event]:
    """Run one arm and return its history, `end` included. Raises Closed when it is interrupted.

    Whatever goes wrong on the way is in the history; `begun` gets it while it grows.
    """
    stage.logs.mkdir(parents=True, exist_ok=True)
    control: Control | None = None
    run: Run | None = None
    describe: dict[str, Any] = {}
    terms: Terms | None = None
    trouble: tuple[str, str] | None = None
    try:
        try:
            control = Control(stage.launch, stage.environment, stage.logs / "control.log")
            describe = control.ask("describe")
            contract.check_describe(describe)
            terms = Terms.of(describe, stage.lease).waited_for(stage.longest, stage.lease)
            stage = replace(stage, lease=terms.lease)
            control.ask("prepare", within=PREPARED_WITHIN, **stage.preparation)
        except AdapterFault as error:
            trouble = ("adapter", str(error))
        history, since = History(), time.monotonic()
        history.add("header", **_header(stage, describe, versions))
        begun(history)
        desk = witness.desk(history, stage.lease * MARGIN)
        lacking = "" if trouble else stage.unsupported or _missing(stage, describe)
        if lacking:
            history.add("unsupported", reason=lacking)
        try:
            if control and terms and not trouble and not lacking:
                run = Run(stage, history, desk, control, describe, terms)
                trouble = _perform(run, stage)
        finally:
            witness.dismiss(desk)
        if trouble:
            history.add("trouble", kind=trouble[0], text=redact(trouble[1]))
        seconds, at = stalls.longest(since)
        history.add("stalled", seconds=round(seconds, 6), at=round(max(0.0, at - since), 6))
        history.add("end")
        return history.events()
    finally:
        if run:
            run.close()
        if control:
            control.close()


def _perform(run: Run, stage: Stage) -> tuple[str, str] | None:
    """Perform the script; what trouble there was, if any: whose it is, and its text."""
    script = stage.arm.scenario.run
    assert script is not None, f"scenario {stage.arm.scenario.name} has no script"
    try:
        with contextlib.suppress(Unmet):  # The history says what was missed; the rest would mean nothing.
            script(run)
        with contextlib.suppress(Unmet):
            run.settle()
        fault = run.adapter_fault()
        return ("adapter", fault) if fault else None
    except Closed:
        raise
    except AdapterFault as error:
        return ("adapter", str(error))
    except psutil.NoSuchProcess as error:
        return ("bench", f"a process was gone before the fault reached it: {error}")
    except Exception:  # noqa: BLE001 - whatever a script raises is the bench's fault, and must be told as that
        return ("bench", traceback.format_exc(limit=-6).rstrip())


def _missing(stage: Stage, describe: Mapping[str, Any]) -> str:
    return missing(stage.arm.scenario, describe, stage.uses, stage.lease, stage.longest)


def missing(
    scenario: Scenario, describe: Mapping[str, Any], services: Collection[str], lease: float, longest: float
) -> str:
    """What the scenario needs of a subject, and this one does not offer; empty when nothing is missing.

    `services` are those that it uses; `lease` and `longest`, the longest recovery to wait for, are in seconds.
    """
    if "postgres" in scenario.needs and "postgres" not in services:
        return "it is not on PostgreSQL"
    if "server" in scenario.needs and not services:
        return "it has no server, to which a connection could break"
    if "slots" in scenario.needs and describe.get("slots", 2) < 2:
        return "its workers run one job at a time"
    if "backlog" in scenario.needs and describe.get("deals"):
        return "it deals out what comes in, and keeps none of it for a worker that is idle"
    if "names" in scenario.needs and describe.get("unique_names"):
        return "it starts no worker under the name of one that is alive"
    offered = {*describe, *describe.get("tells", []), *describe.get("options", []), *_ASKED}
    lacking = [need for need in scenario.needs if need not in offered]
    if lacking:
        return f"its describe does not offer {', '.join(lacking)}"
    terms = Terms.of(describe, lease)
    waited = {
        "a recovery takes": terms.recovery if scenario.recovery else 0.0,
        "a retry waits": (scenario.retries and terms.retry_after) or 0.0,
    }
    for what, seconds in waited.items():
        if seconds > longest:
            return f"{what} {seconds:g} s by its own word, and this run waits {longest:g} s: see --longest"
    return ""


_ASKED = ("postgres", "server", "slots", "backlog", "names")
"""What a scenario may need that is no word of `describe`, and is asked for above."""


def _header(stage: Stage, describe: Mapping[str, Any], versions: Mapping[str, str]) -> dict[str, Any]:
    scenario = stage.arm.scenario
    return {
        "format": FORMAT,
        "scenario": scenario.name,
        "arm": stage.arm.describe(),
        "lease": stage.lease,
        "margin": round(stage.lease * MARGIN, 6),
        "subject": dict(describe),
        "explanations": dict(scenario.explanations),
        "versions": dict(versions),
        "seed": stage.seed,
        "wall": datetime.now(UTC).isoformat(timespec="seconds"),
    }
