"""A server in a Docker container, through testcontainers."""

import os
import secrets
import socket
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bench.postgres import binaries, cluster, sql, template
from bench.postgres.base import PostgresError, Server, Unavailable, check_version, redact
from bench.postgres.cluster import PORTS, STARTUP, THROWAWAY, Cluster, address, free_port

if TYPE_CHECKING:
    from testcontainers.community.postgres import PostgresContainer

LABEL = "leaseproof.run"
"""the container's label; its value is the run's id"""
PROBE = 5
"""seconds that the engine gets to answer the first question"""


class Container(Server):
    """A server in a container of our own."""

    kind = "docker"

    def __init__(self, container: "PostgresContainer", admin: str) -> None:
        self._container: PostgresContainer | None = container
        self._admin = admin
        with sql.session(admin) as connection:
            check_version(connection.info.server_version)
            self.version = str(connection.info.parameter_status("server_version")).split()[0]
            self._described = {"image": container.image, **sql.settings(connection)}

    def create_database(self, name: str) -> str:
        return sql.create_database(self._admin, name)

    def private(self, run_dir: Path) -> Cluster:
        return cluster.start(_programs(), run_dir)

    def describe(self) -> dict[str, str]:
        return {"kind": self.kind, "version": self.version, **self._described}

    def stop(self) -> None:
        if self._container:
            self._container.stop()
        self._container = None


def probe() -> str:
    """What the Docker engine says it is; or PostgresError: testcontainers is missing, or no engine answers."""
    if find_spec("testcontainers") is None:
        raise PostgresError("testcontainers is not installed: pip install 'leaseproof[docker]'")
    import docker  # type: ignore[import-untyped]

    engine = _engine()
    try:
        _dial(engine)
        client = docker.from_env(timeout=PROBE, environment={**os.environ, "DOCKER_HOST": engine})
    except (OSError, docker.errors.DockerException) as error:
        told = "as DOCKER_HOST says" if os.environ.get("DOCKER_HOST") else "the default; DOCKER_HOST is not set"
        raise PostgresError(
            f"no Docker engine answers at {engine} ({told}): {error}; "
            "start Docker, point DOCKER_HOST at its socket, or use the embedded server"
        ) from None
    try:
        return f"Docker {client.version()['Version']} at {engine}"
    finally:
        client.close()


def start(image: str, run_dir: Path) -> Container:
    """A new container from an image that is made like the official one; or PostgresError, and nothing left."""
    probe()
    import docker
    from testcontainers.core.config import testcontainers_config

    testcontainers_config.ryuk_disabled = True  # the janitor does its work, with no image to pull
    # Before anything is created, so that the janitor looks for the label however early the bench ends.
    (run_dir / "containers").write_text(f"{_engine()}\n")
    host = urlsplit(_engine()).hostname or "127.0.0.1"
    for attempt in range(1, PORTS + 1):
        port = free_port()
        container = _container(image, host, port, run_dir.name)
        try:
            container.start()
            with (run_dir / "containers").open("a") as file:
                file.write(f"{container.get_container_id()}\n")
            first = sql.as_url({**address(port), "host": host, "password": container.password})
            _until_answers(first)
            # The wait for readiness shows the first password in the process list.
            return Container(container, sql.change_password(first))
        except docker.errors.DockerException as error:
            container.stop()
            stolen = any(sign in str(error) for sign in ("already allocated", "already in use"))
            if attempt == PORTS or not stolen:
                raise PostgresError(
                    f"the image {image} does not start: {redact(str(error))}; "
                    f"see whether `docker run --rm {image}` works"
                ) from None
        except TimeoutError as error:
            container.stop()
            raise PostgresError(f"the container of {image} never became ready: {redact(str(error))}") from None
        except BaseException:
            container.stop()
            raise
    raise AssertionError("the last attempt returns or raises")


def _programs() -> binaries.Binaries:
    """Of this machine: a container's processes are the engine's, and not ours to kill. Raises Unavailable."""
    missing = []
    for kind in ("embedded", "system"):
        try:
            return binaries.find(kind)
        except PostgresError as error:
            missing.append(str(error))
    raise Unavailable("; ".join(["not the one in a container", *missing]))


def remove(engine: str, run_id: str, patience: float) -> None:
    """Removes a run's containers; waits up to `patience` seconds for the first to appear. For the janitor."""
    import docker

    client = docker.from_env(environment={**os.environ, "DOCKER_HOST": engine})
    try:
        deadline = time.monotonic() + patience
        while True:
            found = client.containers.list(all=True, filters={"label": f"{LABEL}={run_id}"}, ignore_removed=True)
            for container in found:
                with suppress(docker.errors.NotFound):
                    container.remove(force=True, v=True)
            if found or time.monotonic() > deadline:
                return
            time.sleep(0.05)
    finally:
        client.close()


def _container(image: str, host: str, port: int, run_id: str) -> "PostgresContainer":
    from testcontainers.community.postgres import PostgresContainer

    options: dict[str, Any] = {"labels": {LABEL: run_id}}
    container = PostgresContainer(
        image, username=template.ROLE, password=secrets.token_hex(16), dbname="postgres", driver=None
    ).with_kwargs(**options)
    # A fixed port, since a random one changes when the container is restarted; and on loopback, where that is ours.
    interface = "127.0.0.1" if host in ("127.0.0.1", "localhost") else "0.0.0.0"
    container.ports = {"5432/tcp": (interface, port)}  # type: ignore[dict-item]
    settings = [part for key, value in THROWAWAY.items() for part in ("-c", f"{key}={value}")]
    return container.with_command(["postgres", *settings])


def _engine() -> str:
    """The engine's address, found as testcontainers finds it."""
    from testcontainers.core.docker_client import get_docker_host

    return get_docker_host() or "unix:///var/run/docker.sock"


def _dial(engine: str) -> None:
    """Raises OSError where nobody listens. Asked first, since the docker library leaks its socket where nobody does."""
    parts = urlsplit(engine)
    if parts.scheme == "unix":
        with socket.socket(socket.AF_UNIX) as dialled:
            dialled.settimeout(PROBE)
            dialled.connect(parts.path)
    elif parts.scheme in ("tcp", "http", "https"):
        socket.create_connection((parts.hostname or "", parts.port or 2375), PROBE).close()


def _until_answers(dsn: str) -> None:
    deadline = time.monotonic() + STARTUP
    while True:
        try:
            with sql.session(dsn):
                return
        except PostgresError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
