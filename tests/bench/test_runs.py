"""Runs are read back from their folders, and several become one."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from bench.history import History, dump
from bench.runs import Run, RunError, merged, read
from tests.reports.results import anomaly, arm, pair
from tests.reports.validations import cell, subject, validation

Data = dict[str, Any]


def result(*scenarios: Data, **more: Any) -> Data:
    """A result of `leaseproof matrix` with these scenarios."""
    return {
        "format": 1,
        "started": "2026-11-30T09:30:00Z",
        "command": "leaseproof matrix",
        "wall_seconds": 1.0,
        "cpu_seconds": 2.0,
        "given": "queue_core",
        "lease": 1.0,
        "article": False,
        "environment": {"python": "3.11.2", "platform": "Linux"},
        "longest_stall": 0.1,
        "verdict": "proven",
        "exit_code": 0,
        "scenarios": list(scenarios),
        **more,
    }


def saved(folder: Path, data: Data, name: str = "result.json") -> Path:
    folder.mkdir(parents=True)
    (folder / name).write_text(json.dumps(data))
    return folder


def with_arms(scenario: Data, *ids: str) -> Data:
    return {**scenario, "arms": [arm for arm in scenario["arms"] if arm["id"] in ids]}


HEARTBEAT = pair("heartbeat", "A renewed lease keeps its owner.", 2, "NoRenewal", "Worker.renew", "double-execution")
RACE = pair("claim-race", "A job is handed out once.", 4, "SelectThenUpdate", "Queue.claim", "double-claim")


def test_a_run_is_read_from_its_folder_or_from_its_file(tmp_path: Path) -> None:
    folder = saved(tmp_path / "run", result(RACE))
    assert read(folder) == read(folder / "result.json") == Run(folder, result(RACE))


@pytest.mark.parametrize(
    ("text", "said"), [("{}", "no result of a run"), ("[1]", "no result"), ("rubbish", "no result")]
)
def test_what_is_no_result_is_refused_by_its_name(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(RunError, match=said) as caught:
        read(tmp_path)
    assert str(tmp_path / "result.json") in str(caught.value)


def test_a_folder_without_a_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no result\.json and no validate\.json"):
        read(tmp_path)
    with pytest.raises(RunError, match="cannot read"):
        read(tmp_path / "nowhere.json")


def test_a_history_is_found_beside_its_result_and_may_be_gone(tmp_path: Path) -> None:
    history = History()
    history.add("header", format=1)
    history.add("end")
    run = read(saved(tmp_path / "run", result(RACE)))
    here = RACE["arms"][0]
    assert run.history(here) is None
    (run.folder / here["history"]).parent.mkdir()
    (run.folder / here["history"]).write_bytes(dump(history.events()))
    assert run.history(here) == history.events()
    assert run.history({**here, "history": ""}) is None


def test_shards_become_one_matrix_whose_histories_are_found(tmp_path: Path) -> None:
    one, two = (saved(tmp_path / name, result(RACE if name == "a" else HEARTBEAT)) for name in ("a", "b"))
    run = merged([read(one), read(two)])
    assert [scenario["name"] for scenario in run.data["scenarios"]] == ["claim-race", "heartbeat"]
    assert run.folder == tmp_path
    assert run.data["scenarios"][1]["arms"][0]["history"] == "b/heartbeat/sound-fault.jsonl"
    assert (run.data["verdict"], run.data["exit_code"]) == ("proven", 0)
    assert (run.data["wall_seconds"], run.data["cpu_seconds"]) == (2.0, 4.0)


def test_one_run_is_merged_into_itself(tmp_path: Path) -> None:
    run = read(saved(tmp_path / "run", result(RACE)))
    assert merged([run]) is run


def test_arms_that_were_run_apart_prove_their_scenario_together(tmp_path: Path) -> None:
    ids = [arm["id"] for arm in RACE["arms"]]
    halves = [{**with_arms(RACE, *some), "status": "partial", "why": "2 of 4"} for some in (ids[2:], ids[:2])]
    run = merged([read(saved(tmp_path / str(i), result(half))) for i, half in enumerate(halves)])
    (scenario,) = run.data["scenarios"]
    assert [arm["id"] for arm in scenario["arms"]] == ["sound-fault", "sound-sham", *ids[2:]]
    assert (scenario["status"], scenario["why"]) == ("proven", "")


def test_a_part_is_still_a_part(tmp_path: Path) -> None:
    part = with_arms(RACE, "sound-fault")
    run = merged([read(saved(tmp_path / name, result(part))) for name in ("a", "b")])
    assert run.data["scenarios"][0]["status"] == "partial"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_finding_is_not_explained_away_by_another_run(order: tuple[int, int], tmp_path: Path) -> None:
    failed = deepcopy(RACE)
    failed["arms"][0] = arm("claim-race", "sound-fault", "fail", anomalies=[anomaly("lost", "gone", 3)])
    failed["arms"][0]["as_expected"] = False
    found = [read(saved(tmp_path / str(i), result([RACE, failed][i]))) for i in order]
    run = merged(found)
    assert run.data["scenarios"][0]["status"] == "unproven"
    assert run.data["exit_code"] == 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_verdict_of_one_run_stands_for_none_in_another(order: tuple[int, int], tmp_path: Path) -> None:
    doubt = deepcopy(RACE)
    doubt["arms"][0] = arm("claim-race", "sound-fault", "inconclusive", reason="it stalled")
    run = merged([read(saved(tmp_path / str(i), result([RACE, doubt][i]))) for i in order])
    assert run.data["scenarios"][0]["status"] == "proven"


def test_runs_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    def refused(said: str, *data: Data) -> None:
        found = [Run(tmp_path / str(i), each) for i, each in enumerate(data)]
        with pytest.raises(RunError, match=said):
            merged(found)

    refused("different leases", result(RACE), result(RACE, lease=2.0))
    refused("the article's seconds", result(RACE), result(RACE, article=True))
    refused("different subjects", result(RACE), result(RACE, given="pgmq"))
    other = {**RACE, "twins": [{**RACE["twins"][0], "diff": "+ another"}]}
    refused("claim-race has other twins", result(RACE), result(other))
    refused("validate it", validation(), result(RACE, given="pgmq"))


def test_subjects_that_were_run_apart_stand_beside_one_another(tmp_path: Path) -> None:
    one = validation(subject("rq", "default", cell("worker-death", "fail", "stranded")))
    two = validation(subject("pgmq", "tuned", cell("heartbeat", "pass"), cell("worker-death", "pass")))
    run = merged([Run(tmp_path / "a", one), Run(tmp_path / "b", two)])
    assert run.of_subjects
    assert [each["name"] for each in run.data["subjects"]] == ["rq", "pgmq"]
    names = [scenario["name"] for scenario in run.data["scenarios"]]
    told = [[(c["scenario"], c["verdict"]) for c in each["cells"]] for each in run.data["subjects"]]
    assert [name for name, _ in told[0]] == [name for name, _ in told[1]] == names
    assert dict(told[0])["heartbeat"] == "unsupported"
    assert dict(told[0])["worker-death"] == "fail"
    assert run.data["verdict"] == "finding"


def test_a_subject_whose_scenarios_were_run_apart_is_one(tmp_path: Path) -> None:
    one = validation(subject("rq", "default", cell("worker-death", "fail", "stranded")))
    two = validation(subject("rq", "default", cell("worker-death", "pass"), cell("heartbeat", "pass")))
    for order in ((one, two), (two, one)):
        run = merged([Run(tmp_path / str(i), each) for i, each in enumerate(order)])
        (rq,) = run.data["subjects"]
        verdicts = {c["scenario"]: c["verdict"] for c in rq["cells"]}
        assert (verdicts["worker-death"], verdicts["heartbeat"]) == ("fail", "pass")


def test_two_versions_of_a_subject_are_not_one(tmp_path: Path) -> None:
    one, two = (subject("rq", "default", cell("worker-death", "pass")) for _ in range(2))
    two["describe"] = {**two["describe"], "version": "8"}
    with pytest.raises(RunError, match="version 7"):
        merged([Run(tmp_path / "a", validation(one)), Run(tmp_path / "b", validation(two))])


def test_a_matrix_goes_with_the_subjects_that_were_run_beside_it(tmp_path: Path) -> None:
    run = merged(
        [
            Run(tmp_path / "a", result(RACE)),
            Run(tmp_path / "b", validation(subject("rq", "default", cell("worker-death", "pass")))),
        ]
    )
    assert run.of_subjects
    assert "claim-race" in [scenario["name"] for scenario in run.data["scenarios"]]


def test_records_are_joined_where_every_run_has_one(tmp_path: Path) -> None:
    record = {"file": "known.toml", "known": [], "new": [], "mended": []}
    scenario = validation()["scenarios"][:3]

    def runs(*records: Data | None) -> list[Run]:
        return [
            Run(
                tmp_path / str(i),
                {
                    **validation(subject(f"rq{i}", "default", cell("worker-death", "fail", "stranded"))),
                    "scenarios": scenario,
                    "expected": each,
                },
            )
            for i, each in enumerate(records)
        ]

    assert merged(runs(record, record)).data["exit_code"] == 0
    assert merged(runs(record, None)).data["expected"] is None
    assert merged(runs(record, None)).data["exit_code"] == 1
    found = {**record, "new": [{"subject": "rq0"}]}
    assert merged(runs(record, found)).data["exit_code"] == 1
