"""The bench's own speed: one run of a scenario, and what is made of its figures and of its stamps."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bench import discover
from bench.history import dump
from bench.speed import own, own_clone, own_cpu
from bench.speed.command import CommandFailed, Ran, Refused, leaseproof, matrix
from bench.speed.figures import Sample
from bench.speed.ground import Ground


def ran(folder: Path, wall: float, cpu: float, *arms: float) -> Ran:
    scenario = {"arms": [{"seconds": seconds} for seconds in arms]}
    data: dict[str, Any] = {"wall_seconds": wall, "cpu_seconds": cpu, "lease": 2.0, "scenarios": [scenario]}
    return Ran(data, wall + 1, folder)


def test_a_run_is_held_against_its_longest_arm_or_its_cpu_whichever_is_more(tmp_path: Path) -> None:
    assert own.whole(ran(tmp_path, 30.0, 10.0, 4.0, 20.0), cores=2)["times"] == 1.5
    assert own.whole(ran(tmp_path, 30.0, 50.0, 4.0, 20.0), cores=2)["times"] == pytest.approx(1.2)


def test_a_scenario_is_held_against_the_leases_that_it_waits_for(tmp_path: Path) -> None:
    figures = own.one(ran(tmp_path, 9.0, 1.0, 8.0), own.Wait("sound-fault", {"this": 1.0, "that": 2.0}))
    assert figures["must"] == 6.0
    assert figures["times"] == 1.5


def test_the_scenarios_that_are_measured_have_the_arms_that_are_named() -> None:
    known = {scenario.name: scenario for scenario in discover.scenarios()}
    for name, wait in own.MUST_WAIT.items():
        assert wait.arm in [arm.id for arm in known[name].arms]


def test_one_run_of_the_command_has_its_processes_counted(tiny: Ground) -> None:
    run = leaseproof(tiny, "run", "heartbeat", "--arms", "sound-sham")
    assert [arm["id"] for arm in run.arms] == ["sound-sham"]
    tries = run.arms[0]["tries"]
    assert own_cpu.counted(run) == {
        "control processes": tries,
        "workers and other processes of the subject": 2 * tries,
        "servers": 1,
        "databases": tries,
    }
    probes = [
        Sample(name, 0, {"cpu": cpu, "wall": cpu})
        for name, cpu in {
            own_cpu.BARE: 0.01,
            own_cpu.DRIVER: 0.2,
            own_cpu.COMMAND: 0.3,
            own_cpu.SERVER: 0.2,
            own_cpu.WITH_DATABASES: 0.3,
            own_cpu.NURSERY: 0.2,
            own_cpu.WITH_FORKS: 0.3,
        }.items()
    ]
    _, bill = own_cpu.tables(run, probes)
    assert sum(row[3] for row in bill.rows if isinstance(row[3], float)) == pytest.approx(run.data["cpu_seconds"])
    run.discard()
    assert not run.out.exists()


def test_a_command_that_is_not_taken_up_says_why(tiny: Ground) -> None:
    with pytest.raises(Refused, match="below what this machine can hold"):
        leaseproof(tiny, "run", "heartbeat", "--lease", "0.01")
    with pytest.raises(CommandFailed, match="there is no scenario 'nothing'"):
        leaseproof(tiny, "run", "nothing")


def test_a_smaller_scale_runs_the_first_scenarios_and_says_nothing_of_the_matrix(tiny: Ground) -> None:
    assert matrix(tiny) == ["run", discover.scenarios()[0].name]
    assert not own.is_full(tiny)


def test_the_way_to_the_first_observation_is_told_by_stamps(tmp_path: Path) -> None:
    """Begun at 100; the environment took 20 s, the command 2, the server 3, the first worker 1, the rest 4."""
    out = tmp_path / "output"
    logs = out / own_clone.SCENARIO / own_clone.ARM
    files: dict[Path, tuple[str, float]] = {
        tmp_path / ".venv" / "bin" / ".run": ("", 120.0),
        out / "result.json": (json.dumps({"wall_seconds": 38.0}), 160.0),
        logs / "control.log": ("", 125.0),
        logs / "dying.log": ("", 125.5),
    }
    for file, (text, stamp) in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (stamp, stamp))
    events = [
        {"t": 0.0, "event": "header", "format": 1},
        {"t": 0.25, "event": "spawned", "worker": "dying"},
        {"t": 0.75, "event": "ready", "worker": "dying"},
        {"t": 1.0, "event": "ready", "worker": "other-1"},
        {"t": 4.75, "event": "observation", "n": 1},
        {"t": 6.0, "event": "observation", "n": 2},
    ]
    (out / own_clone.SCENARIO / f"{own_clone.ARM}.jsonl").write_bytes(dump(events))
    parts = own_clone.parts(tmp_path, out, began=100.0)
    told = {"environment": 20, "command": 2, "server": 3, "workers": 1, "observation": 4, "all": 30}
    assert parts == pytest.approx(told)
    rows = own_clone.table([Sample("a fresh clone", 0, parts)]).rows
    assert {str(row[0]): row[1] for row in rows} == pytest.approx(told)
