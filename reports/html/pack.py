"""What is put into the page compressed, to be inflated by the browser when it is looked at."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

MOST = 1_000_000
"""Bytes, compressed: a longer history is not put in."""


def packed(text: bytes) -> Markup:
    """As the browser's `DecompressionStream("deflate")` takes it, in base64; equal bytes for equal bytes."""
    return Markup(base64.b64encode(zlib.compress(text, 9)).decode("ascii"))


def lines(history: Sequence[Mapping[str, Any]]) -> bytes:
    """A history as its file has it: docs/history.md."""
    return "".join(line(event) + "\n" for event in history).encode("utf-8", "backslashreplace")


def line(event: Mapping[str, Any]) -> str:
    """An event as a line of JSON."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def packed_history(history: Sequence[Mapping[str, Any]]) -> Markup:
    """A history, packed; empty where it is too long for a page."""
    text = packed(lines(history))
    return text if len(text) * 3 // 4 <= MOST else Markup()
