"""Cases for the checks: a file a theme, each with a list CASES, after the modules of bench.checks.

In a history the header has position 0, so the first event of a case has position 1.
"""

from dataclasses import dataclass
from typing import Any

from bench.checks import Check
from bench.history import Event
from tests.bench.histories import history


@dataclass(frozen=True)
class Case:
    """A history and what a check must find in it: each anomaly by its name and the positions of its evidence."""

    check: Check
    title: str
    events: list[Event]
    found: list[tuple[str, tuple[int, ...]]]

    def __str__(self) -> str:
        return f"{self.check.__name__}: {self.title}"


def sane(check: Check, title: str, events: list[Event], **header: Any) -> Case:
    return Case(check, title, history(*events, **header), [])


def wrong(check: Check, title: str, events: list[Event], *found: tuple[Any, ...], **header: Any) -> Case:
    return Case(check, title, history(*events, **header), [(name, tuple(at)) for name, *at in found])
