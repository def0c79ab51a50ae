"""What the signs mean: those that occur, and no others."""

from __future__ import annotations

from collections.abc import Collection

from reports.svg import signs
from reports.svg.letters import width
from reports.svg.shares import SHADES
from reports.svg.sheet import Sheet, line
from reports.timeline import LEGEND

WORDS = {
    **{key: words for key, _, words in LEGEND},
    "job": "the job, and its attempt",
    "jobs": "a job, its attempt if not 1",
    "open": "still running at the end",
    "accepted": "its end was accepted",
    "refused": "its end was refused",
    "busy": "the darker, the busier",
    "sham": "the fault is left out",
    "overlap": "two at once",
    "reclaim": "reclaim, jobs given back",
    "pin": "proof of the anomaly",
}
ROW = 22.0
SWATCH = 24.0
"""The room for a sign, whose middle is at half of it."""
BETWEEN = 12.0


def legend(sheet: Sheet, used: Collection[str], left: float, right: float, y: float, hatch: str) -> float:
    """Draw it, in as many rows as it needs; how far down it reaches."""
    shown = [key for key in WORDS if key in used and not (key == "job" and "jobs" in used)]
    rooms = [SWATCH + 4 + width(WORDS[key], "tick") for key in shown]
    columns = int((right - left + BETWEEN) / (max(rooms, default=SWATCH) + BETWEEN))
    each = (right - left + BETWEEN) / columns if columns > 2 else 0.0  # side by side as it comes where it is narrow
    x = left
    for key, room in zip(shown, rooms, strict=True):
        if x > left and x + room > right:
            x, y = left, y + ROW
        sample(sheet, key, x + SWATCH / 2, y + ROW / 2, hatch)
        sheet.text("tick", x + SWATCH + 4, y + ROW / 2, WORDS[key])
        x += each or room + BETWEEN
    return y + ROW if shown else y


def sample(sheet: Sheet, key: str, x: float, y: float, hatch: str) -> None:
    """A sign as it is in the picture, round a point."""
    across = line((x - 9, y), (x + 9, y))
    if key == "zero":
        sheet.text("tick", x, y, "0", "middle")
    elif key in ("job", "jobs"):
        sheet.rect("job", x - 10, y - 7, x + 10, 14, 3)
    elif key in ("decoy", "load"):
        sheet.rect("light", x - 10, y - 5, x + 10, 10, 3)
    elif key == "open":
        sheet.path("job", f"{line((x - 10, y - 7), (x + 3, y - 7), (x + 10, y), (x + 3, y + 7), (x - 10, y + 7))}Z")
    elif key == "busy":
        for i, shade in enumerate(SHADES):
            sheet.add("rect", "job", x=x - 10 + 5 * i, y=y - 7, width=5, height=14, fill_opacity=f"{shade:g}")
    elif key in ("starting", "idle"):
        sheet.path("starting" if key == "starting" else "alive", across)
    elif key == "kill":
        signs.put(sheet, "kill", signs.CROSS, x, y)
    elif key == "paused":
        sheet.add("rect", x=x - 9, y=y - 8, width=18, height=16, fill=f"url(#{hatch})")
        sheet.path("paused", line((x - 9, y - 8), (x - 9, y + 8)) + line((x + 9, y - 8), (x + 9, y + 8)))
    elif key == "term":
        signs.put(sheet, "term", signs.TRIANGLE, x, y)
    elif key in ("other", "sham"):
        signs.put(sheet, key, signs.DIAMOND, x, y)
    elif key in signs.ENDINGS:
        signs.put(sheet, key, signs.ENDINGS[key], x, y)
    elif key == "renewed":
        sheet.path("lease", across)
        signs.put(sheet, key, signs.RENEWED, x, y)
    elif key == "ran_out":
        sheet.path("lease", line((x - 9, y), (x + 5, y)))
        sheet.path("out", line((x + 5, y - 7), (x + 5, y + 7)))
    elif key == "tail":
        sheet.path("tail", across)
    elif key in ("lock", "overlap"):
        sheet.box(key, x - 9, y - 7, x + 9, 14)
    elif key == "number":
        sheet.add("circle", "seen", cx=x, cy=y, r=9)
        sheet.text("number", x, y, "1", "middle")
    elif key == "reclaim":
        sheet.rect("took", x - 11, y - 8, x + 11, 16, 4)
        sheet.text("back", x, y, "R", "middle")
    elif key == "pin":
        sheet.path("pole", line((x - 6, y - 8), (x - 6, y + 9)))
        sheet.rect("flag", x - 6, y - 8, x + 9, 9, 2)
