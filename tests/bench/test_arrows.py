"""The arrows run one way: who may import whom."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ALLOWED = {
    "queue_core": {"queue_core"},
    "bench": {"bench", "reports"},
    "reports": {"reports"},
    "scenarios": {"scenarios", "bench", "queue_core"},
    "subjects": {"subjects", "bench", "queue_core"},
}
"""What of ours each of our packages may import."""

OURS = {*ALLOWED, "tests"}


def imported(source: str, package: str) -> Iterator[str]:
    """The top-level packages that a file of `package` imports, wherever it does so."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield package if node.level else (node.module or "").partition(".")[0]


def files(package: str) -> list[Path]:
    """Ours: what a subject's own environment has in it is other people's, and may be of a newer Python."""
    found = (path.relative_to(ROOT) for path in (ROOT / package).rglob("*.py"))
    return sorted(ROOT / path for path in found if not {".env", "node_modules"}.intersection(path.parts))


def strangers(package: str) -> list[str]:
    """Each import of ours that the package may not have, as `file: package`."""
    return [
        f"{file.relative_to(ROOT)}: {name}"
        for file in files(package)
        for name in imported(file.read_text(encoding="utf-8"), package)
        if name in OURS - ALLOWED[package]
    ]


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_what_it_may(package: str) -> None:
    assert files(package)
    assert strangers(package) == []


def test_a_scenario_imports_nothing_else_but_the_driver_whose_errors_a_twin_may_catch() -> None:
    allowed = {*ALLOWED["scenarios"], "psycopg"} | sys.stdlib_module_names
    for file in files("scenarios"):
        assert set(imported(file.read_text(encoding="utf-8"), "scenarios")) <= allowed, file


@pytest.mark.parametrize(
    "source",
    [
        "import scenarios",
        "import os, scenarios.heartbeat as other",
        "from scenarios import heartbeat",
        "from scenarios.heartbeat import NoRenewal",
        "def late():\n    from scenarios import heartbeat",
        "if TYPE_CHECKING:\n    from scenarios import heartbeat",
        "try:\n    import scenarios\nexcept ImportError:\n    pass",
    ],
)
def test_an_import_is_found_wherever_it_is(source: str) -> None:
    assert "scenarios" in imported(source, "bench")


@pytest.mark.parametrize("source", ["from . import scenarios", "from .scenarios import x", "import my.scenarios"])
def test_what_only_looks_like_one_is_none(source: str) -> None:
    assert "scenarios" not in set(imported(source, "bench"))
