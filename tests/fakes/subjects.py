"""The fakes as the bench takes them."""

from pathlib import Path

from bench.subject import Subject
from tests.fakes.sane import Sane

_COMMANDS = ("control", "worker")


def subject(fake: type[Sane]) -> Subject:
    """A fake as the bench takes a subject."""
    return Subject(fake.__name__, {command: _argv(fake, command) for command in _COMMANDS}, Path(__file__).parent)


def write(fake: type[Sane], folder: Path) -> Path:
    """Write a fake's subject.toml into a folder, for `--subject FOLDER`."""
    commands = "".join(f"{command} = {list(_argv(fake, command))}\n" for command in _COMMANDS)
    (folder / "subject.toml").write_text(f'name = "{fake.__name__}"\nprotocol = 1\n{commands}')
    return folder


def _argv(fake: type[Sane], command: str) -> tuple[str, ...]:
    return ("{python}", "-m", "tests.fakes", fake.__name__, command)
