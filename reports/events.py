"""Reading single events of a history. A field that is missing or odd never stops a report."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

Event = Mapping[str, Any]


def at(event: Event) -> float:
    """An event's time."""
    t = event.get("t")
    return float(t) if isinstance(t, int | float) and math.isfinite(t) else 0.0


def names(value: object) -> list[str]:
    """One name or several, as a list of strings."""
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [str(v) for v in value]
    return [str(value)]


def kind_of(kind: str) -> str:
    """Which of the drawn faults a kind is; benches differ in their words for the same signal."""
    words = set(re.findall(r"[a-z]+", kind.lower()))
    for drawn, signals in (
        ("term", {"term", "sigterm", "drain"}),
        ("pause", {"pause", "stop", "sigstop", "freeze"}),
        ("kill", {"kill", "sigkill"}),
    ):
        if words & signals:
            return drawn
    return "other"


def jobs_named(jobs: Sequence[str]) -> str:
    """Some jobs in words."""
    return ", ".join(jobs[:6]) + (f" and {len(jobs) - 6} more" if len(jobs) > 6 else "")


def bounded(value: object) -> str:
    """The bound of a wait, where it has one."""
    return f"{value:.1f} s " if isinstance(value, int | float) else ""
