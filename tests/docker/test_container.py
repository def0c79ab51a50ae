"""The docker way on a real engine, with an image built on the spot. Asked for with LEASEPROOF_TEST_DOCKER=1."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import docker  # type: ignore[import-untyped]
import psycopg
import pytest

from bench import postgres
from bench.postgres import PostgresError, container
from bench.postgres.cluster import free_port
from bench.postgres.container import LABEL
from tests.docker.image import build
from tests.test_janitor import end, until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(
        os.environ.get("LEASEPROOF_TEST_DOCKER") != "1", reason="set LEASEPROOF_TEST_DOCKER=1 where an engine answers"
    ),
]
IMAGE = "leaseproof-test-postgres"


@pytest.fixture(scope="session")
def image() -> str:
    build(IMAGE)
    return IMAGE


@pytest.fixture
def engine() -> Iterator[docker.DockerClient]:
    client = docker.from_env()
    yield client
    client.close()


def containers(engine: docker.DockerClient, run_id: str) -> list[str]:
    found = engine.containers.list(all=True, filters={"label": f"{LABEL}={run_id}"}, ignore_removed=True)
    return [one.id for one in found]


def test_starts_serves_and_leaves_no_container(image: str, engine: docker.DockerClient, tmp_path: Path) -> None:
    run_dir = tmp_path / "d0c4e401"
    server = postgres.start(f"docker:{image}", run_dir)
    (started,) = containers(engine, run_dir.name)
    assert (run_dir / "containers").read_text().splitlines()[1:] == [started]
    dsn = server.create_database("worker-death")
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT current_database()").fetchone() == ("worker-death",)
    described = server.describe()
    assert (described["kind"], described["fsync"], described["synchronous_commit"]) == ("docker", "off", "on")
    ports = engine.api.inspect_container(started)["NetworkSettings"]["Ports"]["5432/tcp"]
    assert [port["HostIp"] for port in ports] == ["127.0.0.1"]

    server.stop()
    server.stop()
    assert containers(engine, run_dir.name) == []


def test_an_arms_own_server_is_made_of_this_machines_programs(image: str, tmp_path: Path) -> None:
    server = postgres.start(f"docker:{image}", tmp_path / "d0c4e404")
    own = server.private(tmp_path / "d0c4e404")
    assert (server.kind, own.kind) == ("docker", "embedded")
    own.stop()
    server.stop()


BENCH = """
import signal, sys
from pathlib import Path
from bench import postgres
from bench.janitor import Janitor
run_dir = Path(sys.argv[2])
run_dir.mkdir()
janitor = Janitor(run_dir)
server = postgres.start(sys.argv[1], run_dir)
print("started", flush=True)
signal.pause()
"""


def test_a_killed_bench_leaves_no_container(image: str, engine: docker.DockerClient, tmp_path: Path) -> None:
    run_dir = tmp_path / "d0c4e402"
    command = [sys.executable, "-c", BENCH, f"docker:{image}", str(run_dir)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "started\n"
    assert containers(engine, run_dir.name)
    end(process)
    until(lambda: not containers(engine, run_dir.name), "the container is removed")
    until(lambda: not run_dir.exists(), "the run's folder is removed")


def test_takes_another_port_when_the_first_was_stolen(
    image: str, engine: docker.DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as thief:
        thief.bind(("127.0.0.1", 0))
        thief.listen()
        ports = iter([thief.getsockname()[1], free_port()])
        monkeypatch.setattr(container, "free_port", lambda: next(ports))
        server = postgres.start(f"docker:{image}", tmp_path / "d0c4e403")
    assert len(containers(engine, "d0c4e403")) == 1
    server.stop()


def test_an_image_that_is_no_server_is_named(engine: docker.DockerClient, tmp_path: Path) -> None:
    with pytest.raises(PostgresError, match="the image leaseproof-no-such-image does not start"):
        postgres.start("docker:leaseproof-no-such-image", tmp_path)
    assert containers(engine, tmp_path.name) == []
