"""The command line."""

import json
import signal
import subprocess
import sys

import pytest

from queue_core import Queue
from queue_core.__main__ import main
from tests.core.helpers import eventually, expire, row


def output(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out.strip()


def test_install_enqueue_reclaim_stats(empty_dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "--dsn", empty_dsn]) == 0
    assert main(["enqueue", "mail", '{"to": "ada"}', "--priority", "2", "--dsn", empty_dsn]) == 0
    assert output(capsys) == "1"
    assert main(["reclaim", "--dsn", empty_dsn]) == 0
    assert output(capsys) == "[]"
    assert main(["stats", "--json", "--dsn", empty_dsn]) == 0
    stats = json.loads(output(capsys))
    assert stats.pop("oldest") >= 0
    assert stats == {"depth": 1, "running": 0, "failed": 0, "expired": 0}


def test_stats_for_people(dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "--dsn", dsn]) == 0
    assert output(capsys).splitlines()[3].split() == ["oldest", "-"]


def test_enqueue_options(queue: Queue, dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["enqueue", "x", "--queue", "slow", "--delay", "60", "--max-attempts", "1", "--dsn", dsn]) == 0
    job = row(queue, int(output(capsys)))
    assert (job["payload"], job["queue"], job["max_attempts"]) == ({}, "slow", 1)
    assert (job["run_at"] - job["created_at"]).total_seconds() == 60


def test_reclaim(queue: Queue, dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    job = queue.enqueue("x")
    queue.claim("a", 1, 0.02)
    expire(queue, job)
    assert main(["reclaim", "--limit", "5", "--dsn", dsn]) == 0
    assert output(capsys) == f"[{job}]"


def test_dsn_from_the_environment(
    dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", dsn)
    assert main(["stats", "--json"]) == 0
    assert json.loads(output(capsys))["depth"] == 0


def test_worker(queue: Queue, dsn: str) -> None:
    job = queue.enqueue("print", {"text": "hello"})
    command = [sys.executable, "-m", "queue_core", "worker", "--dsn", dsn, "--handlers", "tests.core.example_handlers"]
    with subprocess.Popen([*command, "--poll", "0.05"], stdout=subprocess.PIPE, text=True) as worker:
        eventually(lambda: row(queue, job)["state"] == "done")
        worker.send_signal(signal.SIGTERM)
        assert worker.communicate(timeout=20)[0] == "hello\n"
    assert worker.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "COMMAND"),
        (["dance"], "invalid choice"),
        (["enqueue"], "kind"),
        (["enqueue", "x", "{not json"], "not JSON"),
        (["enqueue", "x", "--max-attempts", "0"], "whole number above 0"),
        (["enqueue", "x", "--delay", "soon"], "number of seconds"),
        (["stats", "--dsn", "nonsense"], "--dsn"),
        (["worker"], "--handlers"),
        (["worker", "--handlers", "no_such_module"], "no_such_module"),
        (["worker", "--handlers", "json"], "no mapping `handlers`"),
        (["worker", "--handlers", "tests.core.example_handlers", "--lease", "0"], "lease"),
        (["worker", "--handlers", "tests.core.example_handlers", "--reclaim-every", "never"], "number of seconds"),
    ],
)
def test_bad_input(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["install", "enqueue", "worker", "reclaim", "stats"])
def test_help_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    assert f"example: python -m queue_core {command}" in " ".join(output(capsys).split())


def test_not_installed(empty_dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "--dsn", empty_dsn]) == 1
    assert "queue_core install" in capsys.readouterr().err


def test_no_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "--dsn", "host=127.0.0.1 port=1"]) == 1
    assert "port 1" in capsys.readouterr().err
