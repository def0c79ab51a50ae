"""What a lint finds: what is wrong, where, the rule that it breaks, and the cure."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Blame = Literal["adapter", "bench", "nobody"]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, where, the rule that it breaks, and the cure. `nobody` is to blame for a mere note."""

    where: str
    what: str
    rule: str
    cure: str
    blame: Blame = "adapter"


class Findings:
    """What was found, each once, in the order in which it was found; from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[Finding, None] = {}

    def add(self, where: str, what: str, rule: str, cure: str, blame: Blame = "adapter") -> None:
        with self._lock:
            self._found[Finding(where, what, rule, cure, blame)] = None

    def __iter__(self) -> Iterator[Finding]:
        with self._lock:
            return iter(list(self._found))

    def wrong(self) -> list[Finding]:
        """Those that somebody is to blame for."""
        return [finding for finding in self if finding.blame != "nobody"]
