"""The control program of the Python kit; ../cases.py says what it does."""

from typing import Any

from leaseproof_kit import control


def fail(request: dict[str, Any]) -> None:
    raise RuntimeError(request["text"])


control(
    {
        "echo": lambda request: {"got": {key: request[key] for key in request if key not in ("id", "request")}},
        "nothing": lambda request: None,
        "fail": fail,
        "print": lambda request: print(request["text"]),
    }
)
