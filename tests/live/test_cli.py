"""The command as a user meets it: what it prints, what it exits with, and that it tells no password."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

import reports
from bench import cli, discover, runner
from bench.discover import scenarios
from bench.stalls import measure
from tests.command import Main, Said, main_in
from tests.live.conftest import LEASEPROOF, STALLED, leaseproof, password

SCHEMA = json.loads((Path(reports.__file__).parent / "result.schema.json").read_text(encoding="utf-8"))

pytestmark = pytest.mark.usefixtures("_signals")


@pytest.fixture
def main(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Main:
    """The command in this process, in a folder of its own, on a machine that does not stall."""
    return main_in(tmp_path, capsys, monkeypatch)


def one_line(said: Said) -> str:
    """A refusal: exit code 2, nothing on stdout, one line on stderr."""
    assert (said.code, said.out) == (2, ""), said
    assert said.err.startswith("leaseproof: ")
    assert said.err.count("\n") == 1
    return said.err


# A run, told to everybody.


@dataclass(frozen=True)
class Ran:
    """What is left of one run by a subprocess, on the user's server."""

    done: subprocess.CompletedProcess[str]
    out: Path

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.done.stdout)
        return data

    @property
    def history(self) -> Path:
        return self.out / "heartbeat" / "sound-fault.jsonl"


@pytest.fixture(scope="module")
def ran(dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    cwd = tmp_path_factory.mktemp("ran")
    options = ["--arms", "sound-fault", "--arms", "NoRenewal-fault", "--lease", "1", "--seed", "42", "--json"]
    done = leaseproof("run", "heartbeat", *options, "--out", "out", "--postgres", dsn, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return Ran(done, cwd / "out")


def test_json_is_the_result_and_keeps_its_schema(ran: Ran) -> None:
    assert ran.data == json.loads((ran.out / "result.json").read_text())
    jsonschema.validate(ran.data, SCHEMA)
    assert (ran.data["verdict"], ran.data["exit_code"]) == ("partial", 0)


def test_every_history_that_is_named_is_there(ran: Ran) -> None:
    (scenario,) = ran.data["scenarios"]
    named = {arm["history"] for arm in scenario["arms"]}
    assert named == {str(path.relative_to(ran.out)) for path in ran.out.rglob("*.jsonl")}


def test_the_seed_is_recorded(ran: Ran) -> None:
    assert ran.data["seed"] == 42
    for history in ran.out.rglob("*.jsonl"):
        assert json.loads(history.read_text().partition("\n")[0])["seed"] == 42


def test_the_profile_is_recorded(ran: Ran) -> None:
    assert ran.data["profile"] == "tuned"


def test_no_password_is_anywhere(ran: Ran, dsn: str) -> None:
    files = [path for path in ran.out.rglob("*") if path.is_file()]
    assert len(files) > 5
    secret = password(dsn)
    for text in (ran.done.stdout, ran.done.stderr, *(path.read_text() for path in files)):
        assert secret not in text
    assert ":***@" in ran.data["command"]


@pytest.mark.parametrize("where", ["host=h password='my S3CRET'", "password = S3CRET", "postgresql://me:S3CRET@h/db"])
def test_the_command_is_recorded_without_a_password(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["leaseproof", "matrix", "--postgres", where, f"--postgres={where}"])
    assert "S3CRET" not in cli._command()
    assert cli._command().startswith("leaseproof matrix --postgres ")


def test_the_users_server_is_as_it_was(ran: Ran, dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT 1 FROM pg_database WHERE datname ~ '^leaseproof_'").fetchall() == []


def test_progress_goes_to_stderr_a_line_an_arm(ran: Ran) -> None:
    lines = ran.done.stderr.splitlines()
    assert sorted(line.partition("-fault")[0] for line in lines) == ["heartbeat NoRenewal", "heartbeat sound"]
    assert "\x1b" not in ran.done.stderr


@pytest.fixture(scope="module")
def narrow(dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A run into the default folder, for a narrow terminal that knows only ASCII and wants no colour."""
    cwd = tmp_path_factory.mktemp("narrow")
    variables = {"COLUMNS": "50", "PYTHONIOENCODING": "ascii", "NO_COLOR": "1", "FORCE_COLOR": "1"}
    options = ["--arms", "sound-sham", "--lease", "0.5", "--postgres", dsn]
    return Ran(leaseproof("run", "heartbeat", *options, cwd=cwd, **variables), cwd / "leaseproof-runs")


def test_a_narrow_ascii_report(narrow: Ran) -> None:
    assert narrow.done.returncode == 0, narrow.done.stderr
    assert narrow.done.stdout.isascii()
    assert "heartbeat" in narrow.done.stdout
    assert max(map(len, narrow.done.stdout.splitlines())) <= 50


def test_no_color_and_a_pipe_have_none(narrow: Ran) -> None:
    assert "\x1b" not in narrow.done.stdout + narrow.done.stderr


def test_latest_leads_to_the_newest(narrow: Ran) -> None:
    latest = narrow.out / "latest"
    assert latest.is_symlink()
    assert json.loads((latest / "result.json").read_text())["verdict"] == "partial"


# Wrong usage.


@pytest.mark.parametrize(
    ("name", "nearest"), [("worker-deth", "worker-death"), ("heart", "heartbeat"), ("clam-race", "claim-race")]
)
def test_an_unknown_scenario_suggests_the_nearest(name: str, nearest: str, main: Main) -> None:
    line = one_line(main("run", name))
    assert f"there is no scenario '{name}'; did you mean '{nearest}'?" in line
    assert "`leaseproof list` has them all" in line


def test_an_unknown_scenario_like_none(main: Main) -> None:
    assert "did you mean" not in one_line(main("run", "zzzzzzz"))


def test_an_unknown_arm_suggests_the_nearest_and_tells_all(main: Main) -> None:
    line = one_line(main("run", "heartbeat", "--arms", "sound-falt"))
    assert "there is no arm 'sound-falt'; did you mean 'sound-fault'?" in line
    for arm in ("NoRenewal", "NoRenewal-fault", "fault", "sham", "sound", "sound-sham", "twin"):
        assert arm in line


def test_an_unknown_subject_suggests_the_nearest(main: Main) -> None:
    line = one_line(main("run", "heartbeat", "--subject", "queue-core"))
    assert "there is no subject 'queue-core'; did you mean 'queue_core'?" in line


def test_an_unknown_server(main: Main, tmp_path: Path) -> None:
    line = one_line(main("run", "heartbeat", "--out", tmp_path / "out", "--postgres", "mysql"))
    assert "'mysql' names no PostgreSQL; give auto, embedded, system[:MAJOR], docker[:image] or a DSN" in line


def test_a_lease_below_the_machines_stalls_names_the_stall(
    main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "measure", measure)
    line = one_line(main("run", "heartbeat", "--lease", "0.01", "--out", tmp_path / "out"))
    assert "a lease of 0.01 s is below what this machine can hold" in line
    assert STALLED in line
    assert "try --lease" in line
    assert not (tmp_path / "out").exists()


def test_a_stalled_machine_is_offered_a_lease_that_it_can_hold(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "measure", lambda seconds: 0.15)
    line = one_line(main("run", "heartbeat"))
    assert "the machine just stalled for 150.0 ms" in line
    assert "try --lease 1.5" in line


@pytest.mark.parametrize("options", [["--lease", "0"], ["--lease", "soon"], ["--lease", "-1"], ["--lease", "nan"]])
def test_a_lease_that_is_none(options: list[str], main: Main) -> None:
    said = main("run", "heartbeat", *options)
    assert (said.code, said.out) == (2, "")
    assert "argument --lease" in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize("arguments", [[], ["walk"], ["run"], ["check"], ["run", "heartbeat", "--jobs", "0"]])
def test_wrong_usage_is_exit_code_2(arguments: list[str], main: Main) -> None:
    said = main(*arguments)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("usage: leaseproof")


@pytest.mark.parametrize("out", ["/dev/null/x", "file"])
def test_a_folder_that_cannot_be_made(out: str, main: Main, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    line = one_line(main("run", "heartbeat", "--out", out))
    assert f"cannot write results to {out}: " in line
    assert "name another folder with --out" in line


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a file system with little room."""
    disk = tmp_path / "disk"
    disk.mkdir()

    def mount(options: str) -> Path:
        if os.geteuid() != 0:
            pytest.skip("only root can mount a small file system")
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "none", disk], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"a file system can't be mounted here: {done.stderr.strip()}")
        return disk

    yield mount
    if disk.is_mount():
        subprocess.run(["umount", disk], check=True)


def test_a_full_disk_is_told_before_anything_is_run(small: Callable[[str], Path], main: Main) -> None:
    line = one_line(main("run", "heartbeat", "--out", small("size=32k") / "out"))
    assert "No space left on device; name another folder with --out" in line


def test_a_disk_that_fills_up_in_the_middle_is_no_finding(
    small: Callable[[str], Path], main: Main, dsn: str, tmp_path: Path
) -> None:
    out = small("nr_inodes=4")
    said = main("run", "heartbeat", "--arms", "sound-sham", "--lease", "0.5", "--postgres", dsn, "--out", out)
    assert (said.code, said.out) == (4, "")
    assert "No space left on device" in said.err.splitlines()[-1]
    assert "Traceback" not in said.err


# The user's server.


def no_secret(secret: str, said: Said, folder: Path) -> None:
    for text in (said.out, said.err, *(path.read_text() for path in folder.rglob("*") if path.is_file())):
        assert secret not in text


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://ann:S3CRET@127.0.0.1:1/db",
        "postgres://ann:S3CRET%40home@127.0.0.1:1/db",
        "postgresql://ann@127.0.0.1:1/db?password=S3CRET",
        "host=127.0.0.1 port=1 user=ann password=S3CRET",
        "host=127.0.0.1 port=1 user=ann password = 'my S3CRET' dbname=x",
    ],
)
def test_a_server_that_is_not_there_keeps_the_password(dsn: str, main: Main, tmp_path: Path) -> None:
    said = main("run", "heartbeat", "--out", tmp_path / "out", "--postgres", dsn)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("leaseproof: can't connect to ")
    assert "127.0.0.1" in said.err
    assert "leave it out to use the embedded server" in said.err
    no_secret("S3CRET", said, tmp_path)


def test_a_dsn_from_the_environment(main: Main, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEASEPROOF_POSTGRES", "postgresql://ann:S3CRET@127.0.0.1:1/db")
    said = main("run", "heartbeat", "--out", tmp_path / "out")
    assert said.code == 2
    assert "can't connect to postgresql://ann:***@127.0.0.1:1/db" in said.err
    said = main("run", "--help")
    assert said.code == 0
    no_secret("S3CRET", said, tmp_path)


def test_a_dsn_that_is_none(main: Main, tmp_path: Path) -> None:
    line = one_line(main("run", "heartbeat", "--out", tmp_path / "out", "--postgres", "password='S3CRET"))
    assert "the DSN can't be parsed; write postgresql://" in line
    assert "S3CRET" not in line


def test_a_wrong_password_is_not_told(dsn: str, main: Main, tmp_path: Path) -> None:
    wrong = make_conninfo(dsn, password="S3CRET")
    said = main("run", "heartbeat", "--out", tmp_path / "out", "--postgres", wrong)
    assert said.code == 2
    assert "password authentication failed" in said.err
    no_secret("S3CRET", said, tmp_path)
    no_secret(password(dsn), said, tmp_path)


def test_a_role_that_may_not_create_databases(dsn: str, main: Main, tmp_path: Path) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE ROLE weak LOGIN PASSWORD 'S3CRET'")
    weak = make_conninfo(dsn, user="weak", password="S3CRET")
    line = one_line(main("run", "heartbeat", "--out", tmp_path / "out", "--postgres", weak))
    assert "the role 'weak' may not create databases; as a superuser: ALTER ROLE weak CREATEDB" in line
    assert "S3CRET" not in line


# What starts nothing.


@pytest.fixture
def _nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: object) -> None:
        raise AssertionError("something was started")

    monkeypatch.setattr(runner, "bench", started)
    monkeypatch.setattr(subprocess, "Popen", started)


@pytest.mark.usefixtures("_nothing_starts")
def test_a_dry_run_starts_nothing_and_says_all(main: Main, tmp_path: Path) -> None:
    dsn = "postgresql://ann:S3CRET@127.0.0.1:1/db"
    said = main("matrix", "--dry-run", "--out", "out", "--lease", "0.5", "--jobs", "3", "--postgres", dsn)
    assert (said.code, said.err) == (0, "")
    known = discover.scenarios()
    count = sum(len(scenario.arms) for scenario in known)
    assert f"would run {count} arms, 3 at a time, on postgresql://ann:***@127.0.0.1:1/db" in said.out
    assert "would write the results to out" in said.out
    for scenario in known:
        assert f"\n{scenario.name}, L = 0.5 s\n" in said.out
        for arm in scenario.arms:
            assert f"    {arm.id}" in said.out
            assert arm.expected in said.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("_nothing_starts")
def test_a_dry_run_of_some_arms_in_the_articles_seconds(main: Main) -> None:
    said = main("run", "worker-death", "--article", "--arms", "ClaimHoldsLock", "--dry-run")
    assert said.code == 0
    assert "would run 2 arms" in said.out
    assert "worker-death, L = 6 s" in said.out
    assert "ClaimHoldsLock-fault (without Queue.claim): must show freed-at-death" in said.out
    assert "ClaimHoldsLock-sham (without Queue.claim): must pass" in said.out
    assert "sound" not in said.out


@pytest.mark.usefixtures("_nothing_starts")
def test_list(main: Main) -> None:
    said = main("list")
    assert (said.code, said.err) == (0, "")
    for scenario in scenarios():
        assert f"{scenario.name}\n    {scenario.claim}\n" in said.out
        for twin in scenario.twins:
            assert f"    twin {twin.name} (" in said.out
            assert f"-> {twin.anomaly}\n" in said.out


@pytest.mark.usefixtures("_nothing_starts")
def test_list_as_json(main: Main) -> None:
    said = main("list", "--json")
    assert (said.code, said.err) == (0, "")
    table = {entry["name"]: entry for entry in json.loads(said.out)}
    for scenario in scenarios():
        entry = table.pop(scenario.name)
        assert entry["arms"] == [arm.id for arm in scenario.arms]
        assert [twin["anomaly"] for twin in entry["twins"]] == [twin.anomaly for twin in scenario.twins]
    assert table == {}


def test_help_mentions_the_exit_codes(main: Main) -> None:
    said = main("--help")
    assert (said.code, said.err) == (0, "")
    assert "exit codes:" in said.out
    for words in (
        "0  everything",
        "1  a finding",
        "2  wrong usage",
        "3  inconclusive",
        "4  the adapter's or the bench",
    ):
        assert words in said.out


def test_version(main: Main) -> None:
    assert main("--version").out.startswith("leaseproof 0.")


def test_doctor(main: Main) -> None:
    data = json.loads(main("doctor", "--json").out)
    assert data["ready"] is True
    assert all(check["detail"] for check in data["checks"])


# check.


def judged(said: Said) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(said.out)
    return data


def test_check_judges_a_good_history_as_the_run_did(ran: Ran, main: Main) -> None:
    said = main("check", ran.history)
    assert (said.code, said.out, said.err) == (0, "heartbeat sound-fault: pass, as it must be\n", "")
    answer = judged(main("check", ran.history, "--json"))
    assert (answer["scenario"], answer["arm"]) == ("heartbeat", "sound-fault")
    assert (answer["verdict"], answer["anomalies"], answer["as_expected"]) == ("pass", [], True)


def test_check_of_a_twin_that_fails_as_it_must(ran: Ran, main: Main) -> None:
    history = ran.history.with_name("NoRenewal-fault.jsonl")
    said = main("check", history)
    assert said.code == 0
    assert "heartbeat NoRenewal-fault: fail, as it must be\n    double-execution: job was started by" in said.out
    lines = said.out.splitlines()[1].rpartition("(lines ")[2].rstrip(")").split(", ")
    events = [json.loads(history.read_text().splitlines()[int(line) - 1]) for line in lines]
    assert [event["event"] for event in events] == ["started", "started"]


def test_check_of_a_history_that_fails(ran: Ran, main: Main, tmp_path: Path) -> None:
    kept = [line for line in ran.history.read_text().splitlines() if '"event":"finished"' not in line]
    (tmp_path / "h.jsonl").write_text("\n".join(kept) + "\n")
    said = main("check", "h.jsonl")
    assert said.code == 1
    assert "heartbeat sound-fault: fail, not as it must be" in said.out
    assert "stranded: job was not finished" in said.out
    assert "lost: the queue says that job is done, and nobody finished it" in said.out
    assert judged(main("check", "h.jsonl", "--json"))["as_expected"] is False


def test_check_of_a_history_that_was_cut(ran: Ran, main: Main, tmp_path: Path) -> None:
    whole = ran.history.read_text()
    (tmp_path / "h.jsonl").write_text(whole[: len(whole) // 2])
    said = main("check", "h.jsonl")
    assert (said.code, said.err) == (3, "")
    assert "heartbeat sound-fault: inconclusive, not as it must be\n    the history is cut at" in said.out


def test_check_of_an_adapters_fault(ran: Ran, main: Main, tmp_path: Path) -> None:
    header, _, rest = ran.history.read_text().partition("\n")
    trouble = '{"t": 0.1, "event": "trouble", "kind": "adapter", "text": "it lied"}'
    (tmp_path / "h.jsonl").write_text("\n".join([header, trouble, rest]))
    said = main("check", "h.jsonl")
    assert said.code == 4
    assert "adapter: it lied" in said.out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot read h.jsonl: No such file or directory"),
        (b"", "is not a history"),
        (b"hello\n", "line 1 is not an event with `t` and `event`"),
        (b'{"t": 1, "event": "end"}\n', "its first line is not a header"),
        (b'{"t": 0, "event": "header", "format": 9}\n', "has format 9; this leaseproof reads format 1"),
        (b"\xff\xfe\n", "h.jsonl is not a history"),
        (b'{"t": 0, "event": "header", "format": 1}\n{"t": 1}\n{"t": 2, "event": "end"}\n', "line 2 is not an event"),
    ],
)
def test_check_of_what_is_no_history(content: bytes | None, words: str, main: Main, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "h.jsonl").write_bytes(content)
    assert words in one_line(main("check", "h.jsonl"))


def test_check_of_a_scenario_that_there_is_not(ran: Ran, main: Main, tmp_path: Path) -> None:
    text = ran.history.read_text().replace('"scenario":"heartbeat"', '"scenario":"heartbeet"')
    (tmp_path / "h.jsonl").write_text(text)
    assert "there is no scenario 'heartbeet'; did you mean 'heartbeat'?" in one_line(main("check", "h.jsonl"))


# Pipes.


@pytest.mark.parametrize("arguments", [["list"], ["matrix", "--dry-run"], ["--help"]])
def test_a_reader_that_has_gone_is_no_error(arguments: list[str], tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as stdout:
        done = subprocess.run(
            [LEASEPROOF, *arguments], cwd=tmp_path, stdout=stdout, stderr=subprocess.PIPE, check=False
        )
    assert done.stderr == b""


def test_the_first_line_is_enough() -> None:
    command = f"{LEASEPROOF} list --json | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[\n", "")


@pytest.mark.parametrize("arguments", [["list"], ["matrix", "--dry-run"]])
def test_an_encoding_that_lacks_signs(arguments: list[str], tmp_path: Path) -> None:
    done = leaseproof(*arguments, cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
