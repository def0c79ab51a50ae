"""`leaseproof bench`: what it measures, writes and refuses; and what it puts into a document.

The measures are tiny, of contenders that count; the server is a real one.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from rich.console import Console

from bench import cli_bench, speed
from bench.cli import main as command
from bench.speed.figures import Goal, Measure, PromiseBroken, Result
from bench.speed.ground import Ground
from tests.command import Main, Said, main_in
from tests.speed import samples


def copied(ground: Ground) -> Result:
    """As `tiny`, without pictures: their names are taken."""
    return replace(samples.tiny(ground), measure="copied", charts=())


def stopped(ground: Ground) -> Result:
    raise KeyboardInterrupt


def unkept(ground: Ground) -> Result:
    raise PromiseBroken("lost: job 1 is queued in the end")


def unreached(ground: Ground) -> Result:
    return Result("unreached", {}, goals=[Goal("p99", "at most", 1.0, None)])


def mute(ground: Ground) -> Result:
    """What it leaves, JSON can't hold."""
    return Result("mute", {}, raw=object())


def badly_named(ground: Ground) -> Result:
    (chart, *_) = samples.result().charts
    return Result("badly_named", {}, charts=[replace(chart, name="../x")])


MEASURES = samples.MEASURES | {
    run.__name__: Measure(run.__name__, "", run) for run in (copied, stopped, unkept, unreached, mute, badly_named)
}


@pytest.fixture
def main(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Main:
    """The command in this process, in a folder of its own, and with the tiny measures as its only ones."""
    for name in ("LEASEPROOF_POSTGRES", "COLUMNS", "LC_ALL", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(speed, "MEASURES", {name: f"bench.speed.{name}" for name in (*MEASURES, "own", "lease")})
    for name, measure in MEASURES.items():
        module = ModuleType(f"bench.speed.{name}")
        vars(module)["MEASURE"] = measure
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return main_in(tmp_path, capsys, monkeypatch)


def saved(folder: Path, **changed: Any) -> Path:
    """What a measure left, in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    data = samples.record(**changed)
    path = folder / f"{data['measure']}.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def refused(said: Said) -> str:
    """A refusal: exit code 2, nothing on stdout."""
    assert (said.code, said.out) == (2, ""), said
    return " ".join(said.err.split())


# Measuring.


def test_a_measure_is_told_shown_and_written(main: Main) -> None:
    said = main("bench", "tiny", "--rounds", "2", "--scale", "0.01", "--out", "out")
    assert said.code == 0, said
    assert said.err.splitlines() == [
        *(f"tiny: round 1 of 2: {name}" for name in ("one", "one again", "the other")),
        *(f"tiny: round 2 of 2: {name}" for name in ("the other", "one again", "one")),
        "wrote out/tiny.json, and 2 pictures beside it",
    ]
    assert said.out.startswith("━━ tiny ━")
    assert "1 of 2 goals met" in said.out
    assert {path.name for path in Path("out").iterdir()} == {"tiny.json", "tiny-bars.svg", "tiny-lines.svg"}
    data = json.loads(Path("out/tiny.json").read_text(encoding="utf-8"))
    assert (data["measure"], data["rounds"], data["scale"]) == ("tiny", 2, 0.01)
    assert data["command"] == "leaseproof bench tiny --rounds 2 --scale 0.01 --out out"
    assert {"processor", "postgres", "load before"} <= {*data["machine"]}
    assert [goal["met"] for goal in data["goals"]] == [False, True]
    assert data["raw"]["samples"][0] == {"contender": "one", "round": 0, "figures": {"jobs/s": 10.0}}
    assert main("bench", "--from", "out").out == said.out


@pytest.mark.parametrize("width", [20, 80])
def test_on_a_terminal_a_step_is_one_line_that_goes_away(width: int) -> None:
    stream = io.StringIO()
    screen = Console(file=stream, force_terminal=True, force_interactive=True, width=width, legacy_windows=False)
    with cli_bench.told(screen, "tiny") as tell:
        tell("round 1 of 2: \x1b[31mthe first with a name that goes on and on and on and on and on and on")
        tell("round 2")
    shown = stream.getvalue().split("\r\x1b[2K")
    assert [words.partition(":")[0] for words in shown[1:]] == ["tiny"] * (len(shown) - 1)
    assert shown[0].endswith("\u2026")
    assert len(shown[0].removeprefix("\x1b[?25l")) == width
    assert stream.getvalue().endswith("\x1b[1A\x1b[2K")


def test_what_cannot_be_measured_is_told_with_its_cure_and_the_others_go_on(main: Main) -> None:
    said = main("bench", "lacking", "broken", "mute", "badly_named", "copied", "--rounds", "1", "--out", "out")
    assert said.code == 4
    assert "leaseproof: lacking is not measured: counter is not installed: apt-get install counter\n" in said.err
    assert "ZeroDivisionError: 1\nleaseproof: broken failed: the bench's own fault\n" in said.err
    assert "leaseproof: mute failed" in said.err
    assert "'../x' is no name for a picture" in said.err
    assert [path.name for path in Path("out").iterdir()] == ["copied.json"]
    assert "━━ copied ━" in said.out


def test_what_is_lacking_alone_is_no_fault(main: Main) -> None:
    assert main("bench", "lacking", "--out", "out").code == 3


def test_a_promise_that_was_broken_is_a_finding(main: Main) -> None:
    said = main("bench", "lacking", "unkept", "--out", "out")
    assert said.code == 1
    assert "leaseproof: unkept: lost: job 1 is queued in the end\n" in said.err


def test_a_goal_that_could_not_be_measured_leaves_something_open(main: Main) -> None:
    said = main("bench", "unreached", "--out", "out", "--json")
    told = json.loads(said.out)
    assert said.code == told["exit_code"] == 3
    assert [measure["measure"] for measure in told["measures"]] == ["unreached"]
    assert main("bench", "--from", "out").code == 0


def test_what_was_measured_before_an_interruption_is_kept(main: Main) -> None:
    said = main("bench", "copied", "stopped", "tiny", "--rounds", "1", "--out", "out")
    assert said.code == 130
    assert "interrupted; nothing is left running" in said.err
    assert [path.name for path in Path("out").iterdir()] == ["copied.json"]


def test_without_a_name_all_are_measured_but_the_long_ones(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "MEASURES", {name: f"bench.speed.{name}" for name in ("copied", "own", "lease")})
    said = main("bench", "--rounds", "1", "--plain")
    assert said.code == 0
    assert said.out.isascii()
    (folder,) = Path("leaseproof-runs").iterdir()
    assert [path.name for path in folder.iterdir()] == ["copied.json"]


def test_a_name_that_no_measure_has(main: Main) -> None:
    said = refused(main("bench", "tiny", "lackin"))
    assert "there is no measure 'lackin'; did you mean 'lacking'?; they are tiny, lacking, broken" in said
    assert not Path("leaseproof-runs").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rounds", "0"], "0 is not a number of rounds from 1"),
        (["--rounds", "many"], "many is not a number of rounds from 1"),
        (["--scale", "0"], "0 is not a scale: it is more than 0"),
        (["--scale", "nan"], "nan is not a scale"),
        (["--scale", "big"], "invalid _scale value: 'big'"),
        (["--postgres", "postgresql://me:secret@host/db"], "give --postgres auto, embedded or system[:MAJOR]"),
        (["--doc", "x.md"], "--doc is filled from what was measured: give its folder, too, by --from"),
        (["--list", "--from", "x"], "--from measures nothing: leave out the names of measures, and --list"),
        (["--out", "file/x"], "cannot write results to file/x: Not a directory; name another folder with --out"),
    ],
)
def test_wrong_usage_is_told_with_the_cure(arguments: list[str], said: str, main: Main) -> None:
    Path("file").touch()
    told = refused(main("bench", "tiny", *arguments) if "--list" not in arguments else main("bench", *arguments))
    assert said in told
    assert "secret" not in told


def test_the_list_says_what_each_measures(main: Main) -> None:
    assert main("bench", "--list", "tiny", "lacking").out == "tiny\n    It is tiny.\nlacking\n    It is lacking.\n"
    assert json.loads(main("bench", "--list", "tiny", "--json").out) == {"tiny": "It is tiny."}


def test_the_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        command(["bench", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    for word in (*speed.MEASURES, "exit codes:", "<!-- speed: MEASURE -->", "<!-- /speed -->", "--from"):
        assert word in told


def test_no_measure_is_imported_before_it_is_asked_for() -> None:
    code = "import sys; from bench.cli import _parser; _parser(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(speed.MEASURES.values()).isdisjoint(done.stdout.split())


# What was measured, again.


def test_it_is_shown_again_from_a_folder_or_from_files(main: Main, tmp_path: Path) -> None:
    saved(tmp_path / "a")
    saved(tmp_path / "a", measure="copied", charts=[])
    said = main("bench", "--from", "a")
    assert [line[:9] for line in said.out.splitlines() if line.startswith("━━")] == ["━━ tiny ━", "━━ copied"]
    assert main("bench", "--from", "a/copied.json", "a/tiny.json").out == said.out
    assert [each["measure"] for each in json.loads(main("bench", "--from", "a", "--json").out)["measures"]] == [
        "tiny",
        "copied",
    ]


def test_what_is_no_such_result_is_refused(main: Main, tmp_path: Path) -> None:
    Path("empty").mkdir()
    assert "there is no result of `leaseproof bench` in empty" in refused(main("bench", "--from", "empty"))
    assert "cannot read nowhere: No such file" in refused(main("bench", "--from", "nowhere"))
    one, two = saved(tmp_path / "a"), saved(tmp_path / "b")
    assert f"tiny is given twice, by {one} and {two}" in refused(main("bench", "--from", one, two))
    for text in ("", "[]", "{}", json.dumps(samples.record(format=0)), json.dumps(samples.record(tables=[{}]))):
        one.write_text(text, encoding="utf-8")
        assert "is not what `leaseproof bench` writes in format 1: measure it again" in refused(
            main("bench", "--from", one)
        )
    chart = samples.record()["charts"][0]
    assert "is not what" in refused(main("bench", "--from", saved(tmp_path / "c", charts=[chart | {"name": "../x"}])))


# The document.

PAGE = "# Fast\n\nOurs.\n\n<!-- speed: tiny -->\n<!-- /speed -->\n\n<!-- speed: copied -->\nkept\n<!-- /speed -->\n"


@pytest.fixture
def doc(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "fast.md").write_text(PAGE, encoding="utf-8")
    return Path("docs/fast.md")


def test_a_document_has_its_blocks_filled_and_its_pictures_beside_it(main: Main, doc: Path, tmp_path: Path) -> None:
    said = main("bench", "--from", saved(tmp_path / "a"), "--doc", doc)
    assert (said.code, said.err) == (0, "")
    pictures = ["docs/fast/tiny-bars.svg", "docs/fast/tiny-lines.svg"]
    assert said.out.splitlines() == [f"wrote {path}" for path in (doc, *pictures)]
    text = doc.read_text(encoding="utf-8")
    assert text.startswith(
        "# Fast\n\nOurs.\n\n<!-- speed: tiny -->\n\nMeasured by `leaseproof bench tiny --rounds 3`: "
    )
    assert text.endswith("<!-- /speed -->\n\n<!-- speed: copied -->\nkept\n<!-- /speed -->\n")
    assert "![Jobs a second](fast/tiny-bars.svg)" in text
    assert all(Path(path).is_file() for path in pictures)


def test_a_document_is_the_same_when_nothing_has_changed(main: Main, doc: Path, tmp_path: Path) -> None:
    path = saved(tmp_path / "a")
    main("bench", "--from", path, "--doc", doc)
    once = {each: each.read_bytes() for each in (doc, *Path("docs/fast").iterdir())}
    told = json.loads(main("bench", "--from", path, "--doc", doc, "--json").out)
    assert {Path(each) for each in told["written"]} == {*once}
    assert {each: each.read_bytes() for each in once} == once


def test_a_measure_without_a_block_is_told(main: Main, doc: Path, tmp_path: Path) -> None:
    saved(tmp_path / "a", measure="lacking")
    said = main("bench", "--from", "a", "--doc", doc)
    assert said.err == "leaseproof: docs/fast.md has no block of lacking, which is left out\n"
    assert doc.read_text(encoding="utf-8") == PAGE
    assert not Path("docs/fast").exists()


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (PAGE + "<!-- speed: tinny -->\n<!-- /speed -->\n", "there is no measure 'tinny'; did you mean 'tiny'?"),
        (PAGE + "<!-- speed: tiny -->\n", "the block of tiny has no end"),
    ],
)
def test_a_block_that_is_wrong_is_named(page: str, said: str, main: Main, doc: Path, tmp_path: Path) -> None:
    doc.write_text(page, encoding="utf-8")
    told = refused(main("bench", "--from", saved(tmp_path / "a"), "--doc", doc))
    assert f"leaseproof: docs/fast.md: {said}" in told
    assert doc.read_text(encoding="utf-8") == page


def test_a_document_that_is_not_there(main: Main, tmp_path: Path) -> None:
    told = refused(main("bench", "--from", saved(tmp_path / "a"), "--doc", "no.md"))
    assert "cannot read no.md: No such file or directory; write it first, with blocks to fill" in told
