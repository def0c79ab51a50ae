"""Pages of HTML taken apart: their elements, and what is packed in them; and histories for results written by hand."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

from tests.reports import samples
from tests.reports.results import Result
from tests.reports.samples import EXPLANATIONS, History, ev
from tests.reports.validations import cell, subject, validation

HOSTILE = "<img src=x onerror=alert(1)>\"'</script><script>alert(2)</script>{{ 7 * 7 }}"
"""A name that a subject may have: text in each place in which it is shown."""


def history(arm: Mapping[str, Any]) -> History | None:
    """A history for an arm: what fits the worker's death, and of some arms none."""
    if "try" in arm["history"]:
        return None
    return samples.worker_death() if arm["code"] == "sound" else samples.worker_death_twin()


def hostile() -> Result:
    """A stranger that says the worst of itself, wherever it may say something."""
    known = {
        "subject": HOSTILE,
        "profile": "default",
        "scenario": "worker-death",
        "fault": ["stranded"],
        "sham": [],
        "sometimes": [],
        "reason": HOSTILE,
        "link": "javascript:alert(3)",
    }
    result = validation(
        subject(HOSTILE, "default", cell("worker-death", "fail", "stranded", not_kept=[HOSTILE])),
        subject("x" * 10_000, "tuned", cell("worker-death", "pass")),
        subject("\u202e\u2066\x1b[31m\x07 turned round", "default", cell("worker-death", "pass")),
        expected={"file": HOSTILE, "known": [known], "new": [], "mended": [known]},
        command=f"leaseproof validate {HOSTILE}",
    )
    for each in result["subjects"]:
        each["settings"] = {"about": HOSTILE, "docs": "javascript:alert(4)", "more": HOSTILE}
        each["describe"] = {"subject": HOSTILE, "version": HOSTILE, "hold": HOSTILE}
        each["smoke"] = HOSTILE
    result["subjects"][0]["cells"][0]["arms"][0]["anomalies"][0]["text"] = HOSTILE
    return result


def hostile_history(arm: Mapping[str, Any]) -> History:
    """Its history is no better."""
    told = [
        ev(1.1, "enqueued", job=HOSTILE, role="job"),
        ev(1.2, "started", job=HOSTILE, worker=HOSTILE, pid=1, attempt=1, execution=7),
        ev(1.3, "fault", step=HOSTILE, kind=HOSTILE, target=HOSTILE, injected=True),
        ev(1.4, "receipt", step=HOSTILE, evidence={HOSTILE: HOSTILE}),
        ev(1.4, "no-receipt", step=HOSTILE, why=HOSTILE),
        ev(1.5, "observation", n=9, title=HOSTILE, columns=[HOSTILE], rows=[[HOSTILE]], seen=HOSTILE)
        | {"predictions": {HOSTILE: HOSTILE}, "ruled_out": [HOSTILE]},
        ev(1.6, "trouble", kind="adapter", text=HOSTILE + "\ud800"),
    ]
    head, *rest = samples.worker_death()
    versions = {HOSTILE: HOSTILE}
    return [head | {"versions": versions, "explanations": EXPLANATIONS}, *told, *rest]


class Elements(HTMLParser):
    """The elements of a page, in their order, and all its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def of(self, tag: str) -> list[dict[str, str]]:
        """The attributes of all elements of a kind."""
        return [attributes for name, attributes in self.found if name == tag]

    def links(self) -> list[str]:
        """Where the page leads."""
        return [attributes["href"] for _, attributes in self.found if "href" in attributes]


def _packed(page: str, kind: str) -> dict[str, bytes]:
    found = re.findall(rf'<script type="application/octet-stream" data-{kind}="([^"]*)">([^<]*)</script>', page)
    return {key: zlib.decompress(base64.b64decode(text, validate=True)) for key, text in found}


def evidence(page: str) -> dict[str, str]:
    """The evidence of each cell, by its key."""
    return {key: text.decode() for key, text in _packed(page, "cell").items()}


def raw(page: str) -> dict[str, bytes]:
    """The histories that can be saved, by their numbers."""
    return _packed(page, "history")
