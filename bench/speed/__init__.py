"""How fast: measured side by side in one run, in turn, and no difference told that is within the noise.

`figures` is what may be said of figures, `ground` what is measured on, and each other file is one measure: `MEASURE`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.speed.figures import Measure

MEASURES = ("drain", "peers", "enqueue", "latency", "growth", "cost", "storm", "witness", "own", "lease")
"""Each is a file here."""


def measure(name: str) -> Measure:
    """One of MEASURES, imported when it is asked for."""
    found: Measure = import_module(f"bench.speed.{name}").MEASURE
    return found
