"""`leaseproof report`, and its flags on the commands that run something: what is written, and what is refused."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bench import cli_report, runner, runs
from bench.history import dump
from reports.html import html
from reports.markdown import ROOM
from reports.svg import Panel
from tests.bench.test_runs import HEARTBEAT, RACE, Data, result, saved, with_arms
from tests.command import Main, Said, main_in
from tests.reports.results import arm, mixed, sound
from tests.reports.samples import HISTORIES
from tests.reports.validations import cell, subject, validation


@pytest.fixture
def main(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Main:
    """The command in this process, in a folder of its own."""
    for name in ("GITHUB_STEP_SUMMARY", "COLUMNS", "LC_ALL", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return main_in(tmp_path, capsys, monkeypatch)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of six scenarios, of which three are not proven."""
    saved(tmp_path / "run", mixed())
    return Path("run")


@pytest.fixture
def subjects(tmp_path: Path) -> Path:
    rq = subject("rq", "default", cell("worker-death", "fail", "stranded"), cell("heartbeat", "pass"))
    arq = subject("arq", "tuned", cell("worker-death", "pass"), cell("heartbeat", "pass"))
    data = validation(rq, arq)
    saved(tmp_path / "subjects", data | {"scenarios": data["scenarios"][:2]}, "validate.json")
    return Path("subjects")


def kept(path: Path) -> None:
    """A history where a run has one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(dump(HISTORIES["worker-death"]()))


def refused(said: Said) -> str:
    """A refusal: exit code 2, nothing on stdout."""
    assert (said.code, said.out) == (2, ""), said
    return " ".join(said.err.split())


def test_without_a_flag_the_matrix_is_printed_as_the_run_printed_it(main: Main, run: Path) -> None:
    said = main("report", run)
    assert (said.code, said.err) == (0, "")
    assert "  heartbeat" in said.out
    assert "results in run" in said.out.replace("\n  ", " ")
    assert main("report", run / "result.json").out == said.out


def test_subjects_are_shown_by_the_same_command(main: Main, subjects: Path) -> None:
    assert "rq default, worker-death: fail" in main("report", subjects).out


def test_one_scenario_has_its_timelines(main: Main, run: Path, tmp_path: Path) -> None:
    kept(tmp_path / run / "heartbeat" / "sound-fault.jsonl")
    said = main("report", run, "--scenario", "heartbeat")
    assert "the sound queue, with the fault" in said.out
    assert "L = 1 s" in said.out
    assert "L = 1 s" not in main("report", run).out


def test_several_forms_at_once_into_the_folder_of_the_run(main: Main, run: Path) -> None:
    said = main("report", run, "--junit", "--markdown", "--text", "--badge")
    assert said.code == 0
    names = ["junit.xml", "report.md", "report.txt", "badge.json"]
    assert said.out.splitlines() == [f"wrote {run / name}" for name in names]
    assert (run / "junit.xml").read_text().startswith("<?xml")
    assert (run / "report.md").read_text().startswith("# leaseproof: 3 of 6 proven")
    assert json.loads((run / "badge.json").read_text())["message"].startswith("3 of 6 proven")
    assert "✗ double-claim" in (run / "report.txt").read_text()


def test_a_file_of_ones_own_in_a_folder_that_is_not_there_yet(main: Main, run: Path) -> None:
    assert main("report", run, "--junit", "new/folder/a.xml").out == "wrote new/folder/a.xml\n"
    assert Path("new/folder/a.xml").is_file()
    assert not (run / "junit.xml").exists()


@pytest.mark.parametrize(
    ("flag", "first"), [("junit", "<?xml"), ("markdown", "# lease"), ("text", "   "), ("badge", "{")]
)
def test_a_file_of_a_dash_is_stdout(flag: str, first: str, main: Main, run: Path) -> None:
    said = main("report", run, f"--{flag}", "-")
    assert said.out.startswith(first)
    assert said.err == ""


def test_what_is_written_beside_stdout_is_told_on_stderr(main: Main, run: Path) -> None:
    said = main("report", run, "--badge", "-", "--junit")
    assert json.loads(said.out)
    assert said.err == "wrote run/junit.xml\n"


def test_plain_text_is_ascii(main: Main, run: Path) -> None:
    assert main("report", run, "--text", "-", "--plain").out.isascii()


def test_a_text_has_no_colours_whatever_the_terminal_has(
    main: Main, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    said = main("report", run, "--text", "-").out
    assert "✗" in said
    assert "\x1b" not in said


def test_several_runs_are_one_report_in_the_current_folder(main: Main, tmp_path: Path) -> None:
    saved(tmp_path / "shards" / "1", result(HEARTBEAT, **ENVELOPE))
    saved(tmp_path / "shards" / "2", result(RACE, **ENVELOPE))
    said = main("report", "shards/1", "shards/2", "--markdown", "--badge")
    assert said.out == "wrote leaseproof-report.md\nwrote leaseproof-badge.json\n"
    assert json.loads(Path("leaseproof-badge.json").read_text())["message"] == "2 of 2 proven"
    merged = json.loads(main("report", "shards/1", "shards/2", "--json").out)
    assert [scenario["name"] for scenario in merged["scenarios"]] == ["heartbeat", "claim-race"]
    assert merged["scenarios"][0]["arms"][0]["history"] == "1/heartbeat/sound-fault.jsonl"


ENVELOPE = {key: value for key, value in sound().items() if key != "scenarios"}


def test_arms_of_one_scenario_that_were_run_apart_are_proven_together(main: Main, tmp_path: Path) -> None:
    part = {**ENVELOPE, "verdict": "partial"}
    for name, side in (("a", "fault"), ("b", "sham")):
        arms = with_arms(RACE, f"sound-{side}", f"SelectThenUpdate-{side}")
        saved(tmp_path / name, result({**arms, "status": "partial"}, **part))
    assert json.loads(main("report", "a", "b", "--badge", "-").out)["message"] == "1 of 1 proven"


def test_runs_that_do_not_go_together_are_refused(main: Main, tmp_path: Path) -> None:
    saved(tmp_path / "a", sound())
    saved(tmp_path / "b", sound() | {"lease": 2.0})
    assert "different leases" in refused(main("report", "a", "b", "--badge"))


def test_a_run_that_is_not_there(main: Main) -> None:
    assert "cannot read nowhere: No such file" in refused(main("report", "nowhere"))


def test_the_document_has_each_flag_and_its_file() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reports.md").read_text(encoding="utf-8")
    for form in cli_report.FORMATS:
        assert f"| `--{form.flag} [FILE]` | {form.file} |" in text


# Narrowed.


def test_a_report_is_narrowed_to_scenarios(main: Main, run: Path) -> None:
    found = json.loads(main("report", run, "--scenario", "heartbeat", "--scenario", "worker-death", "--json").out)
    assert [scenario["name"] for scenario in found["scenarios"]] == ["worker-death", "heartbeat"]
    assert (found["verdict"], found["exit_code"]) == ("unproven", 1)
    good = json.loads(main("report", run, "--scenario", "worker-death", "--json").out)
    assert (good["verdict"], good["exit_code"]) == ("proven", 0)


def test_a_report_is_narrowed_to_subjects(main: Main, subjects: Path) -> None:
    found = json.loads(main("report", subjects, "--subject", "arq", "--scenario", "heartbeat", "--json").out)
    assert [(each["name"], [it["scenario"] for it in each["cells"]]) for each in found["subjects"]] == [
        ("arq", ["heartbeat"])
    ]
    assert (found["verdict"], found["exit_code"]) == ("clean", 0)


def test_a_record_is_narrowed_as_the_run_is(tmp_path: Path) -> None:
    def finding(name: str, scenario: str) -> Data:
        return {"subject": name, "profile": "default", "scenario": scenario, "fault": ["lost"], "sham": []}

    cells = [cell("worker-death", "fail", "lost"), cell("heartbeat", "fail", "lost")]
    data = validation(subject("rq", "default", *cells), subject("arq", "default", *cells))
    data["scenarios"] = data["scenarios"][:2]
    data["expected"] = {
        "file": "known.toml",
        "known": [finding("rq", "worker-death")],
        "new": [finding("rq", "heartbeat"), finding("arq", "worker-death"), finding("arq", "heartbeat")],
        "mended": [],
    }
    whole = runs.Run(tmp_path, data)
    assert runs.narrowed(whole, [], []) is whole
    rq = runs.narrowed(whole, ["worker-death"], ["rq"]).data
    assert (rq["expected"]["known"], rq["expected"]["new"], rq["exit_code"]) == ([finding("rq", "worker-death")], [], 0)
    assert rq["expected"]["file"] == "known.toml"
    arq = runs.narrowed(whole, [], ["arq"]).data
    assert (len(arq["expected"]["new"]), arq["exit_code"]) == (2, 1)


def test_a_name_that_the_run_has_not(main: Main, run: Path, subjects: Path) -> None:
    assert "has no scenario 'hartbeat'; did you mean 'heartbeat'?" in refused(
        main("report", run, "--scenario", "hartbeat")
    )
    assert "has no subject 'zzz'; it has rq, arq" in refused(main("report", subjects, "--subject", "zzz"))
    assert "--subject narrows a run of subjects" in refused(main("report", run, "--subject", "rq"))


# A FILE that was none.


@pytest.mark.parametrize("word", ["run", "run/result.json", "heartbeat", "rq", "own"])
@pytest.mark.parametrize("command", ["report", "run", "matrix", "cross", "validate"])
def test_a_flag_that_took_what_was_to_be_reported_or_run(word: str, command: str, main: Main, run: Path) -> None:
    Path("own").mkdir()
    Path("own/subject.toml").write_text("")
    before = (run / "result.json").read_text()
    line = refused(main(command, "--html", word))
    assert f"argument --html: {word} is " in line
    assert "name it before the flag, or give the flag =FILE" in line
    assert f"argument --svg: {word} is " in refused(main(command, "--svg", word))
    assert (run / "result.json").read_text() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--text", "folder"], "--text folder is a folder; name a file in it"),
        (["--text", "file/a.txt"], "--text file/a.txt cannot be written: "),
        (["--svg", "-"], "--svg -: pictures go into a folder"),
        (["--json", "--badge", "-"], "--json and --badge - would both print"),
    ],
)
def test_what_cannot_be_written_is_refused(arguments: list[str], said: str, main: Main, run: Path) -> None:
    Path("folder").mkdir()
    Path("file").write_text("")
    assert said in refused(main("report", run, *arguments))


def test_a_write_that_fails_says_how_it_is_done_again(main: Main, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    line = refused(main("report", run, "--junit", "a.xml"))
    assert "cannot write a.xml: No space left on device; `leaseproof report run --junit=FILE` does it" in line


# Straight from a command that runs something.


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Callable[[Data], None]:
    """Has a run end with a result, and nothing run."""

    def ran(data: Data) -> None:
        monkeypatch.setattr(runner, "run", lambda *_: data)

    return ran


@pytest.fixture
def one(ran: Callable[[Data], None]) -> None:
    failed = with_arms(HEARTBEAT, "sound-sham", "NoRenewal-fault", "NoRenewal-sham")
    failed["arms"].insert(0, arm("heartbeat", "sound-fault", "inconclusive", reason="it stalled"))
    ran(result({**failed, "status": "inconclusive"}, **{**ENVELOPE, "verdict": "inconclusive", "exit_code": 3}))


@pytest.mark.usefixtures("one")
@pytest.mark.parametrize("command", [["run", "heartbeat"], ["matrix"], ["cross"]])
def test_a_run_writes_its_reports_and_keeps_its_exit_code(command: list[str], main: Main) -> None:
    reports = [*command, "--out", "out", "--junit", "--badge", "b/badge.json"]
    said = main(*reports, "--markdown", "-")
    assert said.code == 3
    assert "wrote out/junit.xml\nwrote b/badge.json\n" in said.err
    assert said.out.startswith("# leaseproof: ")
    assert "results in out" not in said.out
    assert json.loads(main(*reports, "--json").out)["exit_code"] == 3


@pytest.mark.usefixtures("one")
def test_the_summary_of_a_step_is_added_to(main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = tmp_path / "step.md"
    step.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    said = main("matrix", "--out", "out")
    assert "results in out" in said.out
    first, rest = step.read_text().split("\n", 1)
    assert first == "before"
    assert rest.startswith("# leaseproof: 0 of 1 proven, 1 inconclusive\n")
    step.write_text("x" * ROOM)
    main("matrix", "--out", "out")
    assert step.stat().st_size == ROOM


@pytest.mark.usefixtures("one")
@pytest.mark.parametrize("path", ["nowhere/step.md", "."])
def test_a_summary_that_cannot_be_written_is_a_warning(path: str, main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", path)
    said = main("matrix", "--out", "out")
    assert said.code == 3
    assert f"leaseproof: warning: no summary for GitHub in {path}: " in said.err
    assert "results in out" in said.out


@pytest.mark.usefixtures("one")
def test_what_cannot_be_written_is_refused_before_anything_is_run(main: Main) -> None:
    Path("file").write_text("")
    assert "cannot be written" in refused(main("matrix", "--out", "out", "--html", "file/a.html"))
    assert not Path("out").exists()


def test_a_saved_validation_has_the_flags_and_is_held_against_a_record(main: Main, subjects: Path) -> None:
    path = subjects / "validate.json"
    said = main("validate", path, "--markdown", "docs/matrix.md", "--junit")
    assert (said.code, said.err) == (1, "wrote subjects/junit.xml\nwrote docs/matrix.md\n")
    assert Path("docs/matrix.md").read_text() == main("validate", path, "--markdown", "-").out
    assert "## The matrix" in Path("docs/matrix.md").read_text()
    Path("known.toml").write_text(
        "format = 1\n[[finding]]\nsubject = 'rq'\nprofile = 'default'\nscenario = 'worker-death'\n"
        "fault = ['stranded']\nreason = 'so it is'\nlink = 'https://example.org'\n"
    )
    one = ["validate", path, "--expect", "known.toml", "--scenario", "worker-death"]
    assert main(*one, "--junit", "-").out.count("<skipped message=") == 1
    assert main(*one).code == 0


# HTML and pictures.


@pytest.fixture
def drawn(tmp_path: Path, run: Path, subjects: Path) -> None:
    """Histories to draw."""
    for path in ("claim-race/sound-fault", "claim-race/SelectThenUpdate-fault", "claim-race/sound-sham"):
        kept(tmp_path / run / f"{path}.jsonl")
    kept(tmp_path / subjects / "sidekiq/default/worker-death/sound-fault.jsonl")


@pytest.mark.usefixtures("drawn")
def test_a_page_of_html_gets_the_run_and_its_histories(main: Main, run: Path) -> None:
    assert main("report", run, "--html").out == "wrote run/report.html\n"
    page = (run / "report.html").read_text()
    assert page == html(mixed(), runs.read(run).history)
    assert page != html(mixed(), lambda arm: None)


@pytest.mark.usefixtures("drawn")
def test_a_picture_a_scenario_with_its_arms_under_the_fault(main: Main, run: Path) -> None:
    assert main("report", run, "--svg").out == "wrote 1 picture in run/svg\n"
    picture = (run / "svg" / "claim-race.svg").read_text()
    assert "the sound queue, with the fault" in picture
    assert "the twin SelectThenUpdate, with the fault" in picture
    assert "without the fault" not in picture
    assert main("report", run, "--svg", "pictures").out == "wrote 1 picture in pictures\n"
    assert Path("pictures/claim-race.svg").read_text() == picture


@pytest.mark.usefixtures("drawn")
def test_the_events_that_prove_an_anomaly_are_marked(main: Main, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Sequence[Panel]] = []

    def draw(panels: Sequence[Panel]) -> str:
        seen.append(panels)
        return ""

    monkeypatch.setattr(cli_report, "svg", draw)
    main("report", run, "--svg")
    assert [[panel.marked for panel in panels] for panels in seen] == [[(2, 3, 4, 5, 6, 7, 8, 9), (9, 14)]]


@pytest.mark.usefixtures("drawn")
def test_a_picture_a_fail_of_a_subjects(main: Main, subjects: Path) -> None:
    assert main("report", subjects, "--svg").out == "wrote 1 picture in subjects/svg\n"
    assert "rq default, with the fault" in (subjects / "svg/rq/default/worker-death.svg").read_text()


@pytest.mark.parametrize("name", ["../../x", "/etc/x", ".hidden", "a/b\0c", "..", "w" * 10_000])
def test_no_name_leads_out_of_the_folder_of_the_pictures(name: str) -> None:
    safe = cli_report._safe(name)
    assert Path("svg", safe).parent == Path("svg")
    assert 0 < len(safe) <= 100
    assert not safe.startswith(".")
