"""Where things are in the page: the hash of a cell, and links that are safe to follow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from reports.subjects import title

LONGEST = 80
"""Letters of a slug."""


def slug(text: object) -> str:
    """A text as a part of a hash, of a file's name or of an id: letters, digits, and `.`, `_` and `-` between them."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", str(text))[:LONGEST].strip("-.") or "x"


def subject_slugs(subjects: Sequence[Mapping[str, Any]], taken: Sequence[str] = ()) -> list[str]:
    """A slug for each subject in its profile, all of them different, and none of those that are `taken`."""
    found: list[str] = []
    for subject in subjects:
        first = made = slug(title(subject))
        n = 1
        while made in found or made in taken:
            n += 1
            made = f"{first}-{n}"
        found.append(made)
    return found


def followed(url: object) -> str:
    """A link as it is, if a browser may follow it to a page; else nothing: a subject may write `javascript:` there."""
    try:
        parts = urlsplit(str(url))
    except ValueError:
        return ""
    return str(url) if parts.scheme in ("http", "https") and parts.netloc else ""
