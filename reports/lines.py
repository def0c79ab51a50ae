"""How many lines a queue of one's own takes, beside a worker on a library: what the article counts of itself.

A line counts if there is code on it: no blank ones, no comments, no docstrings, and on no side the imports.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Part(NamedTuple):
    """Some definitions of a Python file, `Class.member` for a member; all that it has if none are named."""

    file: str
    names: Sequence[str] = ()


SCHEMA = ("queue_core/schema.sql", ("table", "lease_check", "indexes"))
"""The blocks of the schema without which there is no queue."""

OWN: Mapping[str, Sequence[Part]] = {
    "claim": [Part("queue_core/queue.py", ["Job", "Queue.CLAIM", "Queue.claim"])],
    "heartbeat": [
        Part("queue_core/queue.py", ["Queue.HEARTBEAT", "Queue.heartbeat"]),
        Part("queue_core/worker.py", ["Worker.held", "Worker.renew", "Worker.overdue"]),
        Part("queue_core/keeper.py"),
    ],
    "finish": [Part("queue_core/queue.py", ["Queue.COMPLETE", "Queue.complete", "Queue._for_owner"])],
    "reclaim": [
        Part(
            "queue_core/queue.py",
            ["Queue.RECLAIM", "Queue.EXPIRED", "Queue.reclaim", "Queue.reclaim_each", "Queue._take_back"],
        ),
        Part("queue_core/worker.py", ["Worker.reclaim_due"]),
    ],
    "failed attempts": [
        Part("queue_core/queue.py", ["Queue.RETRY", "Queue.FAIL", "Queue.fail"]),
        Part("queue_core/worker.py", ["Worker.retry_in"]),
        Part("queue_core/handler.py", ["Transient", "Permanent", "RateLimited", "error_text"]),
        Part("queue_core/backoff.py"),
    ],
    "worker loop": [
        Part("queue_core/queue.py", ["Queue.RELEASE", "Queue.release", "Queue.__init__"]),
        *(Part(f"queue_core/{name}.py") for name in ("worker", "holdings", "crew", "link", "handler", "signals")),
    ],
}
"""What queue_core has of the article's mechanisms; a line is counted under the first that names it."""

FAILED = "failed attempts"

LIBRARIES: Mapping[str, Part] = {
    "procrastinate": Part(
        "subjects/procrastinate/adapter.py", ["Retry", "puppet", "application", "retry_stalled_jobs", "worker"]
    ),
    "pgqueuer": Part("subjects/pgqueuer/adapter.py", ["connect", "connected", "worker"]),
    "chancy": Part("subjects/chancy/adapter.py", ["puppet", "application", "worker"]),
}
"""The worker's side of three adapters, all on PostgreSQL, as the library is that the article compares with."""


class NoSuchName(Exception):
    """A definition that is to be counted and is not there."""


def counted(root: Path) -> dict[str, Any]:
    """The counts, of the files below `root`. Raises NoSuchName, and OSError."""
    taken: set[tuple[str, int]] = set()
    own = {"schema": _sql((root / SCHEMA[0]).read_text(encoding="utf-8"), SCHEMA[1])}
    for name, parts in OWN.items():
        found = {(part.file, line) for part in parts for line in _lines(root, part)}
        own[name] = len(found - taken)
        taken |= found
    libraries = {name: len(_lines(root, part)) for name, part in LIBRARIES.items()}
    return {"own": own, "own_total": sum(own.values()), "libraries": libraries}


def _lines(root: Path, part: Part) -> set[int]:
    return code_lines((root / part.file).read_text(encoding="utf-8"), part)


def code_lines(source: str, part: Part) -> set[int]:
    """The numbers of the lines that count. Raises NoSuchName."""
    tree = ast.parse(source)
    code = _with_tokens(source) - _left_out(tree)
    if not part.names:
        return code
    spans = dict(_definitions(tree.body))
    for name in part.names:
        if name not in spans:
            raise NoSuchName(f"{part.file} has no {name}: reports/lines.py is to say where it is now")
    return code & {line for name in part.names for line in spans[name]}


def _with_tokens(source: str) -> set[int]:
    """The lines with anything on them but comments; of a text of several lines, those that are not blank."""
    nothing = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    rows = source.splitlines()
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in nothing:
            found |= {n for n in range(token.start[0], token.end[0] + 1) if rows[n - 1].strip()}
    return found


def _left_out(tree: ast.Module) -> set[int]:
    """The lines of docstrings, those of attributes included, and of imports."""
    found: set[int] = set()
    for node in ast.walk(tree):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if text or isinstance(node, ast.Import | ast.ImportFrom):
            found |= set(_span(node))
    return found


def _definitions(body: Sequence[ast.stmt], within: str = "") -> Iterator[tuple[str, range]]:
    """Functions, classes and assigned names, with the lines of each, its decorators included."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield within + node.name, _span(node)
            if isinstance(node, ast.ClassDef):
                yield from _definitions(node.body, f"{node.name}.")
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield within + node.target.id, _span(node)


def _span(node: ast.stmt | ast.AST) -> range:
    assert isinstance(node, ast.stmt)
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return range(first, (node.end_lineno or first) + 1)


def _sql(source: str, blocks: Sequence[str]) -> int:
    """The lines of some named blocks of SQL that are neither blank nor comments. Raises NoSuchName."""
    block, counts = "", dict.fromkeys(blocks, 0)
    for line in map(str.strip, source.splitlines()):
        if line.startswith("-- name:"):
            block = line.removeprefix("-- name:").strip()
        elif block in counts and line and not line.startswith("--"):
            counts[block] += 1
    if missing := [name for name, count in counts.items() if not count]:
        raise NoSuchName(f"{SCHEMA[0]} has no block {missing[0]}: reports/lines.py is to say where it is now")
    return sum(counts.values())
