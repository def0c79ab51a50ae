"""The signs, each as a path round its own middle."""

from __future__ import annotations

from reports.svg.sheet import Sheet, num

CROSS = "M-6 -6L6 6M-6 6L6 -6"
TICK = "M-4 .5L-1 3.5L4.5 -3.5"
SMALL_CROSS = "M-3.5 -3.5L3.5 3.5M-3.5 3.5L3.5 -3.5"
DAGGER = "M0 -5.5V5.5M-3.5 -2H3.5"
BANG = "M0 -5V1.5M0 3.5V5.5"
TRIANGLE = "M-6 -5H6L0 5Z"
DIAMOND = "M0 -6L6 0L0 6L-6 0Z"
RENEWED = "M-4.5 3.5L0 -4.5L4.5 3.5Z"

ENDINGS = {"accepted": TICK, "refused": SMALL_CROSS, "raised": BANG, "died": DAGGER}
"""What stands in a badge at the end of an execution."""


def put(sheet: Sheet, style: str, d: str, x: float, y: float, tip: str = "") -> None:
    made = sheet.add("path", style, d=d, transform=f"translate({num(x)} {num(y)})")
    if tip:
        made.tip(tip)
