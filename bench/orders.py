"""What the witness can order a puppet; docs/protocol.md has them all."""

from typing import Any

Order = dict[str, Any]

FINISH: Order = {"order": "finish"}

CLOCK: Order = {"order": "clock"}
"""Say what your wall clock says."""

BORROW: Order = {"order": "borrow"}
"""Take a connection of the handlers' pool, and keep it until the job ends."""


def effect(key: str, guard: str = "") -> Order:
    """Make a side effect under `key`, of which the witness keeps the books.

    `guard` is what the handler does so as not to make it twice: nothing; `key`: it gives the outside world the job's
    idempotency key; `once`: it asks the idempotency table; `owner`: it makes none once the job is lost.
    """
    return {"order": "effect", "key": key, **({"guard": guard} if guard else {})}


def fail(text: str, kind: str = "transient", retry_in: float | None = None) -> Order:
    """Raise: `transient`, `permanent` or `rate-limited` (to be tried again in `retry_in` seconds)."""
    return {"order": "fail", "kind": kind, "text": text, "retry_in": retry_in}


def spin(seconds: float) -> Order:
    """Burn CPU for so many seconds."""
    return {"order": "spin", "seconds": seconds}


def block(seconds: float) -> Order:
    """Block the worker's own loop for so many seconds, if it has one; a handler's thread just waits."""
    return {"order": "block", "seconds": seconds}


def leave(status: int) -> Order:
    """End the process from inside, with this exit status."""
    return {"order": "exit", "status": status}
