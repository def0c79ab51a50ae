"""How fast: measured side by side in one run, in turn, and no difference told that is within the noise.

`figures` is what may be said of figures, `ground` what is measured on, and `queues` how any queue is asked to drain.
Each measure is a file with a MEASURE, here or, where it is taken inside the core, beside the core's adapter.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.speed.figures import Measure

_CORE = "subjects.queue_core.speed"

MEASURES = {
    "drain": f"{_CORE}.drain",
    "peers": f"{__name__}.peers",
    "enqueue": f"{_CORE}.enqueue",
    "latency": f"{__name__}.latency",
    "growth": f"{_CORE}.growth",
    "cost": f"{__name__}.cost",
    "storm": f"{__name__}.storm",
    "witness": f"{__name__}.witness",
    "own": f"{__name__}.own",
    "lease": f"{__name__}.lease",
}
"""The file of each."""


def measure(name: str) -> Measure:
    """One of MEASURES, imported when it is asked for."""
    found: Measure = import_module(MEASURES[name]).MEASURE
    return found
