"""A subject's own environment: made by its commands, and again only when there is a reason."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from bench import made
from bench.made import MakeError, is_stale, make
from bench.subject import Subject

COUNT = "import pathlib; p = pathlib.Path('{env}/count'); p.parent.mkdir(exist_ok=True); "
COUNT += "p.write_text(str(int(p.read_text() if p.exists() else 0) + 1))"


def subject(folder: Path, *commands: str) -> Subject:
    """One whose environment is made by Python programs."""
    return Subject("toy", {}, folder, make=tuple(("{python}", "-S", "-c", program) for program in commands))


@pytest.fixture
def toy(tmp_path: Path) -> Subject:
    (tmp_path / "adapter.py").write_text("1")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "file").write_text("1")
    return subject(tmp_path, COUNT)


def count(subject: Subject) -> int:
    return int((subject.env / "count").read_text())


def test_it_is_made_once(toy: Subject) -> None:
    out = io.StringIO()
    assert is_stale(toy)
    assert make(toy, out)
    assert not is_stale(toy)
    assert not make(toy, out)
    assert count(toy) == 1
    first, done, again = out.getvalue().splitlines()
    assert first.startswith(f"{toy.folder.name}: 1 of 1: {sys.executable} -S -c import pathlib;")
    assert done.startswith(f"{toy.folder.name}: done in ")
    assert again == f"{toy.folder.name}: up to date"


@pytest.mark.parametrize("change", ["main.go", "more/file", "more/new", "requirements.txt"])
def test_a_changed_or_new_file_makes_it_again(change: str, toy: Subject) -> None:
    make(toy, io.StringIO())
    (toy.folder / change).write_text("2")
    assert is_stale(toy)
    make(toy, io.StringIO())
    assert count(toy) == 2


def test_a_file_that_is_gone_or_has_another_name_makes_it_again(toy: Subject) -> None:
    make(toy, io.StringIO())
    (toy.folder / "more" / "file").rename(toy.folder / "more" / "fill")
    assert is_stale(toy)


def test_its_commands_run_outside_of_the_benchs_own_environment(toy: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}/usr/bin")
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    told = "import os; print(os.environ['PATH'], 'VIRTUAL_ENV' in os.environ); raise SystemExit(1)"
    with pytest.raises(MakeError, match="/usr/bin False") as error:
        make(subject(toy.folder, told), io.StringIO())
    assert sys.prefix == sys.base_prefix or f"{Path(sys.executable).parent}{os.pathsep}" not in str(error.value)


def test_another_command_makes_it_again(toy: Subject) -> None:
    make(toy, io.StringIO())
    assert is_stale(subject(toy.folder, COUNT, "pass"))


@pytest.mark.parametrize("read", ["adapter.py", "adapter.js", "README.md", "known.toml"])
def test_what_is_run_or_read_as_it_is_does_not_count(read: str, toy: Subject) -> None:
    make(toy, io.StringIO())
    (toy.folder / read).write_text("2")
    assert not is_stale(toy)


@pytest.mark.parametrize("made_by_tools", ["node_modules/x", "target/x", "__pycache__/x", ".env/x", ".cache/x"])
def test_what_tools_make_does_not_count(made_by_tools: str, toy: Subject) -> None:
    make(toy, io.StringIO())
    path = toy.folder / made_by_tools
    path.parent.mkdir(exist_ok=True)
    path.write_text("x")
    assert not is_stale(toy)


def test_it_can_be_forced(toy: Subject) -> None:
    make(toy, io.StringIO())
    make(toy, io.StringIO(), force=True)
    assert count(toy) == 2


def test_nothing_to_make(tmp_path: Path) -> None:
    out = io.StringIO()
    assert not make(subject(tmp_path), out)
    assert not is_stale(subject(tmp_path))
    assert out.getvalue() == f"{tmp_path.name}: nothing to make\n"


def test_a_failure_names_the_command_and_has_its_last_words(tmp_path: Path) -> None:
    failing = subject(tmp_path, COUNT, "import sys; [print(i) for i in range(30)]; sys.exit('no such package')")
    with pytest.raises(MakeError) as raised:
        make(failing, io.StringIO())
    lines = str(raised.value).splitlines()
    assert lines[0].startswith(f"toy: {sys.executable} -S -c import sys;")
    assert lines[0].endswith("failed with status 1")
    assert (lines[1], lines[-1], len(lines)) == ("    11", "    no such package", 21)
    assert is_stale(failing)
    assert count(failing) == 1


def test_a_failure_leaves_what_was_made_before_stale(toy: Subject) -> None:
    make(toy, io.StringIO())
    with pytest.raises(MakeError):
        make(subject(toy.folder, "raise SystemExit(3)"), io.StringIO())
    assert is_stale(toy)


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    lost = Subject("toy", {}, tmp_path, make=(("/no/such/npm", "ci"),))
    with pytest.raises(MakeError, match="toy: /no/such/npm could not be started: No such file or directory"):
        make(lost, io.StringIO())


def test_an_interrupt_ends_what_it_has_started(tmp_path: Path) -> None:
    (tmp_path / "subject.toml").write_text(
        'name = "toy"\nprotocol = 1\ncontrol = ["x"]\nworker = ["x"]\n'
        'make = [["sh", "-c", "sleep 600 & echo $! > pid; mv pid ready; wait"]]\n'
    )
    leaseproof = Path(sys.executable).with_name("leaseproof")
    process = subprocess.Popen([leaseproof, "make", tmp_path], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "ready").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    child = psutil.Process(int((tmp_path / "ready").read_text()))
    os.kill(process.pid, signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in said
    child.wait(timeout=60)


def test_it_is_made_by_its_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from bench.cli import main

    (tmp_path / "subject.toml").write_text(
        'name = "toy"\nprotocol = 1\ncontrol = ["x"]\nworker = ["x"]\nmake = [["sh", "-c", "echo made > it"]]\n'
    )
    assert main(["make", str(tmp_path)]) == 0
    assert (tmp_path / "it").read_text() == "made\n"
    assert "1 of 1: sh -c echo made > it" in capfd.readouterr().err
    (tmp_path / "subject.toml").write_text(
        'name = "toy"\nprotocol = 1\ncontrol = ["x"]\nworker = ["x"]\nmake = [["false"]]\n'
    )
    assert main(["make", str(tmp_path)]) == 4
    assert "leaseproof: toy: false failed with status 1" in capfd.readouterr().err
    assert made.is_stale(Subject.load(tmp_path))
