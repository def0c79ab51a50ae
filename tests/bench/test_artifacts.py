"""The article's artifacts: what is in docs/artifacts, and the command where it runs nothing."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench import artifacts, discover, result, runner
from bench.cli import main
from bench.history import dump
from bench.scenario import Arm
from reports import artifacts_page, compared
from reports.captions import LANGUAGES
from reports.facts import SHOWN
from reports.transcript import transcript
from tests.reports.demonstrations import SOUND, broken, crowd, death, drained, unrenewed

DOCS = Path(__file__).resolve().parents[2] / "docs" / "artifacts"
FACTS = artifacts.read(DOCS / artifacts.FACTS)
ARTICLE = artifacts.read(DOCS / artifacts.ARTICLE)
SCENARIOS = {scenario.name: scenario for scenario in discover.scenarios()}

ANEW = "make it anew: make artifacts"


# What is there.


def test_every_side_that_is_to_be_told_is_there() -> None:
    assert {name: {*of["sides"]} for name, of in FACTS.items()} == {name: {*sides} for name, sides in SHOWN.items()}


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_transcripts_are_those_of_the_facts(name: str, language: str) -> None:
    text = (DOCS / f"{name}.{language}.txt").read_text(encoding="utf-8")
    assert text == transcript(name, FACTS[name]["lease"], FACTS[name]["sides"], language), ANEW


def test_the_page_is_that_of_the_facts() -> None:
    beside = compared.against(ARTICLE, FACTS)
    page = artifacts_page.page(FACTS, ARTICLE, beside, artifacts.read(DOCS / artifacts.LINES))
    assert (DOCS / "README.md").read_text(encoding="utf-8") == page, ANEW


@pytest.mark.parametrize("entry", ARTICLE["facts"], ids=lambda e: f"{e['scenario']}/{e['side']}: {e['fact']}")
def test_every_fact_of_the_article_is_as_there_or_differs_for_a_reason(entry: dict[str, Any]) -> None:
    (found,) = compared.against({"facts": [entry]}, FACTS)
    assert found.status != "changed"
    assert bool(entry.get("why")) == (entry.get("here", entry["value"]) != entry["value"])


@pytest.mark.parametrize("name", SHOWN)
def test_the_seconds_are_those_of_the_scenario(name: str) -> None:
    assert FACTS[name]["lease"] == SCENARIOS[name].lease(True, 1.0)


@pytest.mark.parametrize(("scenario", "side"), artifacts.ALL)
def test_the_sound_one_holds_and_a_twin_shows_what_it_must(scenario: str, side: str) -> None:
    twins = {twin.name: twin.anomaly for twin in SCENARIOS[scenario].twins}
    assert FACTS[scenario]["sides"][side]["shown"] == {"sound": "holds", **twins}[side]


def test_what_is_run_are_the_arms_with_the_fault() -> None:
    arms = [arm for group in artifacts.arms(artifacts.ALL).values() for arm in group]
    assert len(arms) == len(artifacts.ALL)
    assert all(arm.fault for arm in arms)


# The command, where it runs nothing.


def made(folder: Path, change: Callable[[dict[str, Any]], None] = lambda data: None) -> Path:
    """A finished run in a folder, of histories that are enough for it; its result is changed before it is written."""
    lock, lease = broken("freed-at-death"), broken("claimed-while-running")
    arms: dict[str, list[tuple[str, dict[str, Any], list[dict[str, Any]]]]] = {
        "worker-death": [
            ("sound", SOUND, death()),
            ("ClaimHoldsLock", lock, death()),
            ("ClaimLooksAtLease", lease, death()),
        ],
        "heartbeat": [("sound", SOUND, drained()), ("NoRenewal", broken("double-execution"), unrenewed())],
        "sigterm-drain": [("sound", SOUND, drained()), ("NoRenewalOnceTold", broken("double-execution"), unrenewed())],
        "claim-race": [
            ("sound", SOUND, crowd("claimer-1")),
            ("SelectThenUpdate", broken("double-claim"), crowd("claimer-1", "claimer-2", again=True)),
        ],
    }
    scenarios = []
    for name, of in arms.items():
        (folder / name).mkdir(parents=True)
        told = []
        for side, outcome, history in of:
            path = f"{name}/{side}-fault.jsonl"
            (folder / path).write_bytes(dump(history))
            about = {"id": f"{side}-fault", "history": path, "lease": 1.0, "tries": 1, "seconds": 2.0, "reason": ""}
            told.append({**about, **outcome, "verdict": "fail" if outcome["anomalies"] else "pass"})
        scenarios.append({"name": name, "arms": told})
    data: dict[str, Any] = {
        "format": result.FORMAT,
        "leaseproof": "0.1.0",
        "started": "2026-12-01T00:00:00Z",
        "article": True,
        "environment": {"postgres": "18.6 (embedded)", "python": "3.11.7", "psycopg": "3.3.9", "cpus": 2},
        "scenarios": scenarios,
    }
    change(data)
    result.write(data, folder / "result.json")
    return folder


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A folder with the artifacts of such a run, and an article that tells two facts of it."""
    folder = tmp_path / "record"
    folder.mkdir()
    facts = [
        {"scenario": "worker-death", "side": "sound", "fact": "reclaimed", "value": "1: [1]", "where": "there"},
        {
            "scenario": "worker-death",
            "side": "sound",
            "fact": "accepted",
            "value": "x",
            "where": "there",
            "here": "other-3 at attempt 2",
            "why": "a name",
        },
    ]
    result.write({**ARTICLE, "facts": facts}, folder / artifacts.ARTICLE)
    assert main(["artifacts", str(made(tmp_path / "first")), "--out", str(folder)]) == 0
    return folder


def set_row(row: list[str]) -> Callable[[Path], None]:
    """Changes the last row of the sound worker-death, in a run."""

    def change(run: Path) -> None:
        history = death()
        history[-2]["rows"] = [row]
        (run / "worker-death" / "sound-fault.jsonl").write_bytes(dump(history))

    return change


def test_a_run_is_written(record: Path) -> None:
    names = {f"{name}.{language}.txt" for name in SHOWN for language in LANGUAGES}
    assert {path.name for path in record.iterdir()} == names | {
        "README.md",
        "about.json",
        "article.json",
        "facts.json",
        "lines.json",
    }
    about = json.loads((record / "about.json").read_text(encoding="utf-8"))
    assert about["versions"] == {
        "leaseproof": "0.1.0",
        "postgres": "18.6 (embedded)",
        "python": "3.11.7",
        "psycopg": "3.3.9",
    }
    assert [*about["arms"]["claim-race"]] == ["sound", "SelectThenUpdate"]


def test_one_language_is_enough(tmp_path: Path, record: Path) -> None:
    folder = tmp_path / "ru"
    assert main(["artifacts", str(tmp_path / "first"), "--out", str(folder), "--lang", "ru"]) == 0
    assert {path.name for path in folder.glob("*.txt")} == {f"{name}.ru.txt" for name in SHOWN}


def test_the_same_facts_are_written_letter_by_letter(tmp_path: Path, record: Path) -> None:
    again = tmp_path / "again"

    def slower(data: dict[str, Any]) -> None:
        data["started"] = "2027-01-01T00:00:00Z"
        data["environment"]["postgres"] = "17.0 (system)"

    run = made(tmp_path / "second", slower)
    history = [{**event, "t": event["t"] * 2 + 0.1} for event in crowd("claimer-4")]
    (run / "claim-race" / "sound-fault.jsonl").write_bytes(dump(history))
    shutil.copytree(record, again)
    assert main(["artifacts", str(run), "--out", str(again)]) == 0
    different = {path.name for path in again.iterdir() if path.read_bytes() != (record / path.name).read_bytes()}
    assert different == {"about.json"}


def test_the_same_facts_are_as_recorded(tmp_path: Path, record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["artifacts", str(tmp_path / "first"), "--out", str(record), "--check"]) == 0
    out = capsys.readouterr().out
    assert ", 0 changed\n" in out
    assert "2 of the article: 1 the same here, 1 differ for a known reason, 0 by the script, 0 changed\n" in out


def test_a_changed_fact_is_named_old_and_new(tmp_path: Path, record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name: path.read_bytes() for path in record.iterdir()}
    set_row(["1", "done", "3"])(run := made(tmp_path / "second"))
    assert main(["artifacts", str(run), "--out", str(record), "--check"]) == 1
    out = capsys.readouterr().out
    assert "worker-death sound, observation 4 row: a fact has changed\n" in out
    assert "recorded: 1|done|2\n" in out
    assert "now:      1|done|3\n" in out
    assert {path.name: path.read_bytes() for path in record.iterdir()} == before
    assert main(["artifacts", str(run), "--out", str(record), "--check", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["exit_code"] == 1
    assert [(change["fact"], change["old"], change["new"]) for change in told["changed"]] == [
        ("observation 4 row", "1|done|2", "1|done|3")
    ]
    assert [each["status"] for each in told["article"]] == ["same", "known"]


def test_a_fact_that_is_the_articles_no_more(tmp_path: Path, record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    article = artifacts.read(record / artifacts.ARTICLE)
    article["facts"][0]["value"] = "2: [1, 2]"
    result.write(article, record / artifacts.ARTICLE)
    assert main(["artifacts", str(tmp_path / "first"), "--out", str(record), "--check"]) == 1
    assert "CHANGED" in capsys.readouterr().out


@pytest.mark.parametrize(("verdict", "code"), [("inconclusive", 3), ("unsupported", 3), ("error", 4)])
def test_without_a_verdict_there_is_nothing_to_tell(
    verdict: str, code: int, tmp_path: Path, record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def doubt(data: dict[str, Any]) -> None:
        data["scenarios"][0]["arms"][0] |= {"verdict": verdict, "reason": "a stall of 3 s"}

    run = made(tmp_path / "second", doubt)
    before = (record / "about.json").read_bytes()
    assert main(["artifacts", str(run), "--out", str(record)]) == code
    assert "a stall of 3 s" in capsys.readouterr().out
    assert (record / "about.json").read_bytes() == before
    assert main(["artifacts", str(run), "--out", str(record), "--check"]) == code


def test_what_came_too_late_to_be_seen_is_inconclusive(
    tmp_path: Path, record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = made(tmp_path / "second")
    (run / "heartbeat" / "NoRenewal-fault.jsonl").write_bytes(dump(unrenewed(late=True)))
    assert main(["artifacts", str(run), "--out", str(record), "--check"]) == 3
    assert "heartbeat NoRenewal: inconclusive: came too late to see the row of observation 1" in capsys.readouterr().out


def test_a_changed_fact_outranks_what_was_not_seen(tmp_path: Path, record: Path) -> None:
    set_row(["1", "done", "3"])(run := made(tmp_path / "second"))
    (run / "heartbeat" / "NoRenewal-fault.jsonl").write_bytes(dump(unrenewed(late=True)))
    assert main(["artifacts", str(run), "--out", str(record), "--check"]) == 1


def test_a_side_that_does_not_show_what_it_must_is_told(
    tmp_path: Path, record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def other(data: dict[str, Any]) -> None:
        data["scenarios"][1]["arms"][1] |= broken("lost", expected=False) | {"expected": "double-execution"}

    run = made(tmp_path / "second", other)
    assert main(["artifacts", str(run), "--out", str(record)]) == 1
    assert "heartbeat NoRenewal: it must show double-execution, and shows lost" in capsys.readouterr().out


def test_what_came_too_late_to_be_seen_is_run_again(tmp_path: Path) -> None:
    asked: list[dict[str, list[str]]] = []

    def perform(arms: Mapping[str, Sequence[Arm]], out: Path) -> dict[str, Any]:
        asked.append({name: [arm.id for arm in of] for name, of in arms.items()})
        run = made(out)
        if len(asked) == 1:
            (run / "heartbeat" / "NoRenewal-fault.jsonl").write_bytes(dump(unrenewed(late=True)))
        return artifacts.read(run / "result.json")

    seen = artifacts.look(tmp_path / "run", perform)
    assert asked[1:] == [{"heartbeat": ["NoRenewal-fault"]}]
    assert not seen.doubts
    assert {*seen.facts} == {*artifacts.ALL}


def test_it_is_run_again_twice_and_not_for_ever(tmp_path: Path) -> None:
    def perform(arms: Mapping[str, Sequence[Arm]], out: Path) -> dict[str, Any]:
        run = made(out)
        (run / "heartbeat" / "NoRenewal-fault.jsonl").write_bytes(dump(unrenewed(late=True)))
        return artifacts.read(run / "result.json")

    seen = artifacts.look(tmp_path / "run", perform)
    assert {*seen.doubts} == {("heartbeat", "NoRenewal")}
    assert {path.name for path in (tmp_path / "run").glob("again-*")} == {"again-2", "again-3"}


def no_article(data: dict[str, Any]) -> None:
    data["article"] = False


def no_arm(data: dict[str, Any]) -> None:
    del data["scenarios"][2]["arms"][1]


def no_history(data: dict[str, Any]) -> None:
    data["scenarios"][2]["arms"][1]["history"] = "sigterm-drain/gone.jsonl"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (no_article, "is of a run without --article: give one of `leaseproof run worker-death heartbeat"),
        (no_arm, "has no arm NoRenewalOnceTold-fault of sigterm-drain: give a run of `leaseproof run"),
        (no_history, "has no history of sigterm-drain/NoRenewalOnceTold-fault any more: run it again by"),
    ],
)
def test_a_run_that_will_not_do_is_told_with_the_cure(
    change: Callable[[dict[str, Any]], None], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["artifacts", str(made(tmp_path / "run", change)), "--out", str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_several_runs_together_will_do(tmp_path: Path, record: Path) -> None:
    def half(first: bool) -> Callable[[dict[str, Any]], None]:
        def keep(data: dict[str, Any]) -> None:
            data["scenarios"] = data["scenarios"][:2] if first else data["scenarios"][2:]
            data |= {"command": "", "wall_seconds": 1.0, "cpu_seconds": 1.0, "longest_stall": 0.0}
            for scenario in data["scenarios"]:
                scenario["twins"] = [{"name": name} for name in [*SHOWN[scenario["name"]]][1:]]

        return keep

    paths = [str(made(tmp_path / name, half(name == "a"))) for name in ("a", "b")]
    assert main(["artifacts", *paths, "--out", str(record), "--check"]) == 0
    assert main(["artifacts", paths[0], "--out", str(record), "--check"]) == 2


def test_without_a_record_there_is_nothing_to_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = made(tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    assert main(["artifacts", str(run), "--check"]) == 2
    assert "no docs/artifacts/facts.json to check against: run this in a clone" in capsys.readouterr().err
    assert main(["artifacts", str(run)]) == 2
    assert "no docs/artifacts here: run this in a clone of leaseproof, or name a folder by --out" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("article.json", "{", "cannot read"),
        ("article.json", "[]", "is no JSON object"),
        ("article.json", '{"facts": [{}]}', "lacks something"),
        ("facts.json", "no", "cannot read"),
        ("facts.json", '{"heartbeat": {"lease": 2, "sides": {"sound": {}}}}', "is not as it was written"),
        ("facts.json", '{"heartbeat": 2}', "is not as it was written"),
    ],
)
def test_a_file_that_is_broken_is_named(
    name: str, text: str, said: str, tmp_path: Path, record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (record / name).write_text(text, encoding="utf-8")
    assert main(["artifacts", str(tmp_path / "first"), "--out", str(record), "--check"]) == 2
    err = capsys.readouterr().err
    assert f"{record / name}" in err
    assert said in err
    assert "take it from git again" in err


def test_without_a_run_it_comes_to_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing that a run asks of the options is missing."""

    def begun(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "run", begun)
    assert main(["artifacts", "--out", str(tmp_path)]) == 130


def test_an_unknown_language_names_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["artifacts", "--lang", "de"])
    assert "choose from" in capsys.readouterr().err


def test_the_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["artifacts", "--help"])
    told = capsys.readouterr().out
    assert all(word in told for word in ("--check", "exit codes:", "about.json", artifacts.COMMAND, *SHOWN))
