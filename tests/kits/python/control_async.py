"""The control program of the Python kit, in asyncio; ../cases.py says what it does."""

import asyncio
from typing import Any

from leaseproof_kit import control_async


async def echo(request: dict[str, Any]) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"got": {key: request[key] for key in request if key not in ("id", "request")}}


async def fail(request: dict[str, Any]) -> None:
    await asyncio.sleep(0)
    raise RuntimeError(request["text"])


asyncio.run(
    control_async(
        {
            "echo": echo,
            "nothing": lambda request: None,
            "fail": fail,
            "print": lambda request: print(request["text"]),
        }
    )
)
