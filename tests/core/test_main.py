"""The command line."""

import json
import signal
import subprocess
import sys

import psycopg
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
    assert stats["oldest"] >= 0
    assert [stats[figure] for figure in ("depth", "due", "running", "failed", "last_success")] == [1, 1, 0, 0, None]


def test_stats_for_people(dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "--dsn", dsn]) == 0
    lines = output(capsys).splitlines()
    assert lines[0].split() == ["depth", "0", "jobs", "queued,", "due", "or", "not"]
    assert lines[4].split()[:3] == ["oldest", "-", "seconds"]


def test_stats_for_prometheus(queue: Queue, dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    queue.enqueue("x")
    assert main(["stats", "--prometheus", "--dsn", dsn]) == 0
    assert "queue_core_depth 1.0" in output(capsys).splitlines()


def test_alarms(queue: Queue, dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    queue.enqueue("x")
    limits = ["--alarm-depth", "0", "--alarm-oldest", "600", "--alarm-silence", "600", "--alarm-expired", "0"]
    assert main(["stats", "--json", *limits, "--alarm-failed", "0", "--dsn", dsn]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["depth"] == 1
    assert said.err == "queue_core: depth: 1 in the queue, more than 0\n"
    queue.complete("a", queue.claim("a", 1, 60))
    assert main(["stats", *limits, "--dsn", dsn]) == 0


def test_purge(queue: Queue, dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    for retry_in in (None, None):
        queue.enqueue("x")
        queue.fail("a", queue.claim("a", 1, 60)[0], "no", retry_in)
    queue.enqueue("x")
    queue.complete("a", queue.claim("a", 1, 60))
    for options, count in [([], "0"), (["--done-after", "0"], "1"), (["--failed-after", "0", "--batch", "1"], "2")]:
        assert main(["purge", *options, "--dsn", dsn]) == 0
        assert output(capsys) == count


def test_install_makes_all_that_there_is(empty_dsn: str) -> None:
    assert main(["install", "--dsn", empty_dsn]) == main(["install", "--dsn", empty_dsn]) == 0
    with psycopg.connect(empty_dsn) as connection:
        for table in ("jobs", "ticks", "effects"):
            assert connection.execute("SELECT to_regclass(%s)::text", [table]).fetchone() == (table,)


def test_scheduler(empty_dsn: str) -> None:
    assert main(["install", "--dsn", empty_dsn]) == 0
    command = [sys.executable, "-m", "queue_core", "scheduler", "--schedules", "tests.core.example_schedules"]
    with psycopg.connect(empty_dsn, autocommit=True) as connection:
        queue = Queue(connection)
        with subprocess.Popen([*command, "--poll", "0.05", "--dsn", empty_dsn]) as scheduler:
            eventually(lambda: queue.stats().depth >= 2)
            scheduler.send_signal(signal.SIGTERM)
            assert scheduler.wait(20) == 0
        (job, *_) = queue.claim("a", 1, 60)
    assert job.kind == "quick"
    assert job.payload["schedule"] == "often"


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
        (["scheduler"], "--schedules"),
        (["scheduler", "--schedules", "no_such_module"], "no_such_module"),
        (["scheduler", "--schedules", "tests.core.example_handlers"], "no sequence `schedules`"),
        (["scheduler", "--schedules", "tests.core.example_schedules", "--patience", "1"], "patience"),
        (["purge", "--done-after", "soon"], "number of seconds"),
        (["stats", "--json", "--prometheus"], "not allowed with"),
        (["stats", "--alarm-depth", "many"], "whole number"),
    ],
)
def test_bad_input(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["install", "enqueue", "worker", "scheduler", "reclaim", "purge", "stats"])
def test_help_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    assert f"example: python -m queue_core {command}" in " ".join(output(capsys).split())


def test_not_installed(empty_dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["stats"], ["scheduler", "--schedules", "tests.core.example_schedules"]):
        assert main([*command, "--dsn", empty_dsn]) == 1
        assert "queue_core install" in capsys.readouterr().err


def test_no_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "--dsn", "host=127.0.0.1 port=1"]) == 1
    assert "port 1" in capsys.readouterr().err
