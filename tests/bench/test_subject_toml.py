"""What subject.toml may say of profiles, of its own environment and of its commands, and how a slip is told."""

import json
import os
import sys
from pathlib import Path

import pytest

from bench.children import LaunchError
from bench.subject import Subject, SubjectError

GOOD = 'name = "x"\nprotocol = 1\ncontrol = ["{env}/bin/python", "{folder}/a.py"]\nworker = ["{python}"]\n'

PROFILES = """
[profiles.default]
about = "as its first page has it"
docs = "https://example.org/start"
[profiles.tuned]
about = "set for the lease"
docs = "https://example.org/settings"
visibility = 3
deep = {a = [1, 2]}
"""


def load(text: str, folder: Path) -> Subject:
    (folder / "subject.toml").write_text(text)
    return Subject.load(folder)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("workers = []\n" + GOOD, "has the unknown key 'workers'; did you mean 'worker'? known are: name, protocol"),
        ("service = []\n" + GOOD, "has the unknown key 'service'; did you mean 'services'?"),
        ("zzz = []\n" + GOOD, "has the unknown key 'zzz'; known are: name, protocol"),
        (GOOD + 'make = ["make"]', "make must be a list of commands, each a list of strings, not ['make']"),
        (GOOD + "make = [[]]", "make must be a list of commands"),
        (GOOD + 'make = "make"', "make must be a list, not 'make'"),
        (
            GOOD + "[profiles.tunned]\n",
            "has the unknown profile 'tunned'; did you mean 'tuned'? known are: default, tuned",
        ),
        (GOOD + "[profiles]\ndefault = 1\n", "profiles.default must be a table, not 1"),
        (GOOD + '[profiles.default]\nabout = "x"\n', "[profiles.default] lacks the key 'docs', a string"),
        (GOOD + PROFILES.replace("about", "abut"), "[profiles.default] lacks the key 'about', a string"),
        (GOOD + PROFILES.partition("[profiles.tuned]")[0], "[profiles.tuned] lacks the key 'about', a string"),
    ],
)
def test_a_slip_is_told(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(SubjectError) as raised:
        load(text, tmp_path)
    assert words in str(raised.value)
    assert str(tmp_path / "subject.toml") in str(raised.value)


def test_what_a_profile_sets_is_handed_out(tmp_path: Path) -> None:
    subject = load(GOOD + PROFILES, tmp_path)
    tuned = subject.environment("tuned")
    assert tuned["LEASEPROOF_PROFILE"] == "tuned"
    assert json.loads(tuned["LEASEPROOF_SETTINGS"]) == {"visibility": 3, "deep": {"a": [1, 2]}}
    assert subject.environment("default") == {"LEASEPROOF_PROFILE": "default", "LEASEPROOF_SETTINGS": "{}"}


def test_a_subject_without_profiles_is_told_which_it_is_all_the_same(tmp_path: Path) -> None:
    assert load(GOOD, tmp_path).environment("default")["LEASEPROOF_PROFILE"] == "default"


def test_places_are_filled_in(tmp_path: Path) -> None:
    subject = load(GOOD, tmp_path)
    assert subject.argv(subject.commands["control"]) == [f"{tmp_path}/.env/bin/python", f"{tmp_path}/a.py"]
    assert subject.argv(("{python}", "x={env}", "{other}")) == [sys.executable, f"x={tmp_path}/.env", "{other}"]


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    subject = load(GOOD, tmp_path)
    with pytest.raises(LaunchError, match=r"subject.toml has no command `scheduler`"):
        subject.launch("scheduler", os.environ, (0, 1, 2))


def test_an_environment_that_nobody_has_made(tmp_path: Path) -> None:
    subject = load(GOOD + 'make = [["true"]]', tmp_path)
    with pytest.raises(LaunchError, match=f"make its environment first: leaseproof make {tmp_path.name}"):
        subject.launch("control", os.environ, (0, 1, 2))
    (tmp_path / ".env").mkdir()
    with pytest.raises(LaunchError, match=r"could not be started: No such file or directory$"):
        subject.launch("control", os.environ, (0, 1, 2))
