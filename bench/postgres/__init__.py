"""Where a real PostgreSQL comes from: embedded, the system's, Docker's, or the user's own.

The ways are imported when they are asked for: the janitor needs only `halt` and must stay light.
"""

import re
from pathlib import Path

from bench.postgres.base import PostgresError, Server, Unavailable, redact

__all__ = ["PostgresError", "Server", "Unavailable", "redact", "start", "survey"]

SPECS = "auto, embedded, system[:MAJOR], docker[:image] or a DSN (postgresql://user:password@host/db)"


def start(spec: str, run_dir: Path) -> Server:
    """A running server for one run, or PostgresError. Everything it leaves on disk is below `run_dir`.

    `spec` is auto, embedded, system, system:MAJOR, docker, docker:IMAGE, or a DSN. Called from the main thread, the
    server dies with this process; from any other thread only the janitor guards it, since the kernel's parent-death
    signal follows the thread.
    """
    run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if spec == "auto":
        return _start_any(run_dir)
    if re.fullmatch(r"embedded|system(:\d+)?", spec):
        from bench.postgres import binaries, cluster

        return cluster.start(binaries.find(spec), run_dir)
    if spec == "docker" or spec.startswith("docker:"):
        from bench.postgres import container

        return container.start(_image(spec), run_dir)
    if re.match(r"postgres(ql)?://", spec) or "=" in spec:
        from bench.postgres import user

        return user.start(spec, run_dir)
    raise PostgresError(f"{redact(spec)!r} names no PostgreSQL; give {SPECS}")


def survey() -> list[tuple[str, bool, str]]:
    """Each way to a server that needs no DSN: its name, whether it works here, and the detail or the cure."""
    from bench.postgres import binaries, container

    rows: list[tuple[str, bool, str]] = []
    for way in ("embedded", "system"):
        try:
            found = binaries.find(way)
            rows.append((way, True, f"PostgreSQL {found.version} in {found.folder}"))
        except PostgresError as error:
            rows.append((way, False, str(error)))
    try:
        rows.append(("docker", True, container.probe()))
    except PostgresError as error:
        rows.append(("docker", False, str(error)))
    return rows


def _start_any(run_dir: Path) -> Server:
    tried = []
    for way in ("embedded", "system"):
        try:
            return start(way, run_dir)
        except PostgresError as error:
            tried.append(f"  {way}: {error}")
    raise PostgresError("\n".join(["no PostgreSQL could be started", *tried, f"or say which one to use: {SPECS}"]))


def _image(spec: str) -> str:
    """docker -> the default; docker:17 and docker:17-alpine -> a tag of postgres; else an image's full name."""
    image = spec.removeprefix("docker").removeprefix(":") or "18-alpine"
    return f"postgres:{image}" if re.fullmatch(r"\d[\w.-]*", image) else image
