"""The command in this process: what it says, and what it exits with."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench import cli


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str


Main = Callable[..., Said]


def main_in(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Main:
    """The command, run in a folder, on a machine that does not stall."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(cli, "measure", lambda seconds: 0.0)

    def main(*arguments: str | Path) -> Said:
        argv = [str(argument) for argument in arguments]
        monkeypatch.setattr("sys.argv", ["leaseproof", *argv])
        try:
            code = cli.main(argv)
        except SystemExit as end:
            code = int(end.code or 0)
        return Said(code, *capsys.readouterr())

    return main
