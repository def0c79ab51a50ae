"""The programs by which a queue's speed is measured: `drain` and `latency` in its folder, in Python or JavaScript."""

from __future__ import annotations

import shutil

from bench.speed.figures import Missing
from bench.subject import Subject


def program(subject: Subject, name: str) -> list[str]:
    """How to start it. Raises Missing: there is none, or what it needs is not there."""
    script, node = (subject.folder / f"{name}.{ending}" for ending in ("py", "js"))
    if not script.exists() and not node.exists():
        raise Missing(f"{subject.name} has no {name}.py or {name}.js in {subject.folder}")
    if subject.make and not subject.env.exists():
        raise Missing(f"{subject.name} has no environment: make subject-{subject.folder.name}")
    if node.exists():
        if not shutil.which("node"):
            raise Missing(f"{subject.name} needs node: install Node.js 20 or newer")
        return ["node", str(node)]
    if subject.make:
        return subject.argv(["{env}/bin/python", "-E", str(script)])
    return subject.argv(["{python}", "-m", f"subjects.{subject.folder.name}.{name}"])
