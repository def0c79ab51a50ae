"""What `leaseproof init` writes: three places, and once they are filled in, a clean lint and a smoke that passes."""

import io
import os
import re
import shutil
from pathlib import Path

import pytest

from bench.init import HERE, LANGUAGES, MARK, InitError, init
from bench.made import make
from bench.subject import Subject
from tests.live.conftest import leaseproof
from tests.toys import fill

PROGRAMS = {"python": ["python3"], "node": ["node"], "go": ["go"], "ruby": ["ruby"], "java": ["java", "javac"]}
PACKAGES = {"node": "nodejs", "go": "golang", "ruby": "ruby", "java": "default-jdk-headless"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_written(language: str, tmp_path: Path) -> None:
    adapter = init("my-queue", language, ["redis", "postgres"], tmp_path / "q")
    text = adapter.read_text()
    assert [int(number) for number in re.findall(rf"{MARK}, (\d) of 3: ", text)] == [1, 2, 3]
    assert "the environment's LEASEPROOF_REDIS and the environment's LEASEPROOF_POSTGRES" in text
    assert text.count("my-queue") == 2
    assert len(text.splitlines()) < 150
    subject = Subject.load(tmp_path / "q")
    assert (subject.name, subject.services) == ("my-queue", ("redis", "postgres"))
    assert "/.env/" in (tmp_path / "q" / ".gitignore").read_text()
    readme = (tmp_path / "q" / "README.md").read_text()
    assert f"leaseproof lint {tmp_path / 'q'}" in readme
    assert len(readme.splitlines()) <= 10
    kit = HERE / "kits" / LANGUAGES[language][1]
    (copied,) = (tmp_path / "q").rglob(kit.name)
    assert copied.read_bytes() == kit.read_bytes()
    assert not [path for path in (tmp_path / "q").rglob("*") if path.is_file() and "{{" in path.read_text()]


def test_among_the_subjects_it_goes_by_its_name(tmp_path: Path) -> None:
    init("my-queue", "python", [], tmp_path / "subjects" / "my-queue")
    assert "leaseproof smoke my-queue\n" in (tmp_path / "subjects" / "my-queue" / "README.md").read_text()


@pytest.mark.parametrize(
    ("name", "services", "words"),
    [
        ("my queue", [], "'my queue' is no name for a subject"),
        ("../queue", [], "'../queue' is no name for a subject"),
        ("my-queue", ["redus"], "there is no service 'redus'; did you mean 'redis'?"),
    ],
)
def test_what_cannot_be_begun(name: str, services: list[str], words: str, tmp_path: Path) -> None:
    with pytest.raises(InitError) as raised:
        init(name, "python", services, tmp_path / "q")
    assert words in str(raised.value)
    assert not (tmp_path / "q").exists()


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(InitError, match="is there already, and not empty: give another --into, or another name"):
        init("my-queue", "go", [], tmp_path)
    with pytest.raises(InitError, match="is there already"):
        init("my-queue", "go", [], tmp_path / "mine")
    assert os.listdir(tmp_path) == ["mine"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_filled_in_it_is_clean(language: str, dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = [program for program in PROGRAMS[language] if not shutil.which(program)]
    if missing:
        why = f"{', '.join(missing)} is not installed: apt-get install {PACKAGES.get(language, '')}"
        if os.environ.get("LEASEPROOF_TEST_SERVICES") == "1":
            pytest.fail(why)
        pytest.skip(why)
    done = leaseproof("init", "toy", "--lang", language, "--into", "toy", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(MARK) == 3
    fill(language, tmp_path / "toy")
    monkeypatch.setenv("GOCACHE", str(Path.home() / ".cache" / "go-build"))  # not anew for each test: it takes minutes
    make(Subject.load(tmp_path / "toy"), io.StringIO())
    smoke = leaseproof("smoke", "toy", "--postgres", dsn, cwd=tmp_path)
    assert smoke.returncode == 0, smoke.stdout + smoke.stderr
    lint = leaseproof("lint", "toy", "--postgres", dsn, cwd=tmp_path)
    assert lint.returncode == 0, lint.stdout + lint.stderr
    assert "lint of toy 0, profile tuned: clean\n" in lint.stdout


@pytest.mark.parametrize(
    ("places", "words"),
    [
        (0, "NotImplementedError: 2 of 3: run jobs"),
        (1, "NotImplementedError: 2 of 3: run jobs"),
        (2, "could not do `inspect`: NotImplementedError: 3 of 3: say what became of one"),
    ],
)
def test_a_place_that_is_not_filled_in_is_named(places: int, words: str, dsn: str, tmp_path: Path) -> None:
    adapter = init("toy", "python", [], tmp_path / "toy")
    fill("python", tmp_path / "toy", places)
    toml = (tmp_path / "toy" / "subject.toml").read_text()
    (tmp_path / "toy" / "subject.toml").write_text(toml.replace("{env}/bin/python", "{python}"))
    if places:
        adapter.write_text("\n".join([*_database(), "", "", adapter.read_text()]))
    smoke = leaseproof("smoke", "toy", "--postgres", dsn, cwd=tmp_path)
    assert smoke.returncode == 4, smoke.stdout + smoke.stderr
    assert words in smoke.stdout


def _database() -> list[str]:
    """What the toy's third place brings with it."""
    toy = (Path(__file__).parents[1] / "toys" / "toy.python").read_text()
    return toy[toy.index("def database()") :].splitlines()


def test_a_lint_says_that_what_it_looks_at_is_old(dsn: str, tmp_path: Path) -> None:
    init("toy", "python", [], tmp_path / "toy")
    done = leaseproof("lint", "toy", "--postgres", dsn, cwd=tmp_path)
    assert done.returncode == 4
    said = " ".join(done.stdout.split())
    assert "files of the subject have changed since its environment was made, or it never was" in said
    assert "make its environment first: leaseproof make toy" in said
