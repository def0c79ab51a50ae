"""What the witness can order a puppet; docs/protocol.md has them all."""

from typing import Any

Order = dict[str, Any]

FINISH: Order = {"order": "finish"}


def effect(key: str) -> Order:
    """Make a side effect under `key`, of which the witness keeps the books."""
    return {"order": "effect", "key": key}
