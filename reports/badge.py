"""A run as a badge: what shields.io asks an address for, to draw it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from reports.cross import crossed
from reports.outcome import headline

COLOURS = {0: "brightgreen", 1: "red", 3: "yellow", 4: "orange"}
"""By what the run exits with, so that a badge and a CI never differ: a known fail is no red badge."""


def badge(result: Mapping[str, Any]) -> str:
    """The JSON for https://shields.io/badges/endpoint-badge: schema version 1, label, message and colour."""
    code = result["exit_code"]
    # A cross is made of parts, and none of them is missing.
    parts = result["verdict"] == "partial" and not crossed(result)
    fields = {
        "schemaVersion": 1,
        "label": "leaseproof",
        "message": headline(result),
        "color": "blue" if parts and code == 0 else COLOURS.get(code, "lightgrey"),
        "isError": code == 4,
    }
    return json.dumps(fields, indent=1) + "\n"
