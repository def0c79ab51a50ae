"""One arm, from its set-up to its complete history."""

import contextlib
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import psutil

from bench import contract
from bench.contract import AdapterFault
from bench.history import FORMAT, Closed, Event, History
from bench.postgres import redact
from bench.script import MARGIN, Run, Unmet
from bench.stage import Stage
from bench.stalls import StallMeter
from bench.subject import Control
from bench.terms import Terms
from bench.witness import Witness


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
    trouble: tuple[str, str] | None = None
    try:
        try:
            control = Control(stage.launch, stage.environment, stage.logs / "control.log")
            describe = control.ask("describe")
            contract.check_describe(describe)
            stage = replace(stage, lease=describe.get("lease") or stage.lease)
            control.ask("prepare", **stage.preparation)
        except AdapterFault as error:
            trouble = ("adapter", str(error))
        history, since = History(), time.monotonic()
        history.add("header", **_header(stage, describe, versions))
        begun(history)
        desk = witness.desk(history, stage.lease * MARGIN)
        unsupported = "" if trouble else stage.unsupported or _missing(stage, describe)
        if unsupported:
            history.add("unsupported", reason=unsupported)
        try:
            if control and not trouble and not unsupported:
                run = Run(stage, history, desk, control, describe)
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
    """What the scenario needs of a subject, and this one does not offer; empty when nothing is missing."""
    offered = {*describe, *describe.get("tells", []), *describe.get("options", [])}
    missing = [need for need in stage.arm.scenario.needs if need not in offered]
    if missing:
        return f"its describe does not offer {', '.join(missing)}"
    recovery = Terms.of(describe, stage.lease).recovery
    if recovery > stage.longest:
        return f"a recovery takes {recovery:g} s by its own word, and this run waits {stage.longest:g} s: see --longest"
    return ""


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
