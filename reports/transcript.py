"""The facts of a scenario as text, in the shape in which the article prints its demonstrations.

A caption between dashes, then what was done and what workers said, then the rows as the database had them, under their
columns. It is made of the facts alone: as long as these are the same, so is every letter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reports.captions import ABOUT, BROKEN, CAPTIONS, EXPLANATIONS, LEASE, LINES, SOUND, Both
from reports.captions import SEVERAL as SEVERAL_WORDS
from reports.facts import HOLDS, SEVERAL, Facts


def transcript(scenario: str, lease: float, sides: Mapping[str, Facts], language: str) -> str:
    """The text of a scenario with all of its sides; `lease` is in seconds."""
    caption = CAPTIONS[scenario]
    say = _Speaker(language)
    lines = [f"{scenario}: {say(caption.title)}", say(caption.about), say(LEASE, lease=lease), say(ABOUT)]
    for side, facts in sides.items():
        broken = caption.broken.get(side)
        about = say(BROKEN, side=side, what=say(broken)) if broken else say(SOUND, side=side)
        lines += ["", f"=== {about} ===", *_side(facts, [say(each) for each in caption.observations], say)]
    return "\n".join(lines) + "\n"


class _Blanks(dict[str, object]):
    """What a line needs and the facts do not have is shown as missing."""

    def __missing__(self, key: str) -> str:
        return "?"


class _Speaker:
    """Says a text in one language."""

    def __init__(self, language: str) -> None:
        self._language = language

    def __call__(self, text: Both, **of: object) -> str:
        words = {k: self(SEVERAL_WORDS) if v == SEVERAL else v for k, v in of.items()}
        return text.in_(self._language).format_map(_Blanks(words))


def _side(facts: Facts, captions: list[str], say: _Speaker) -> Iterator[str]:
    standing = dict.fromkeys(EXPLANATIONS)
    part: list[str] = []
    for step in facts["steps"]:
        if step["step"] != "observed":
            part.append(_line(step, say))
            continue
        n = step["n"]
        yield f"--- {n}. {captions[n - 1]} ---" if n <= len(captions) else f"--- {n} ---"
        yield from part
        part = []
        if "got" in step:
            yield say(LINES["looked"], worker=step["worker"], got=step["got"].split()[0])
        yield from [step["columns"], *step["rows"]]
        out = [k for k in step.get("ruled_out", []) if k in standing]
        yield from (say(LINES["ruled out"], what=say(EXPLANATIONS[k])) for k in out)
        for k in out:
            del standing[k]
        if out and len(standing) == 1:
            yield say(LINES["left"], what=say(EXPLANATIONS[next(iter(standing))]))
    yield from part
    yield say(LINES["at once"], count=facts["at_once"])
    yield say(LINES["holds"]) if facts["shown"] == HOLDS else say(LINES["breaks"], shown=facts["shown"])


def _line(step: Mapping[str, Any], say: _Speaker) -> str:
    """A step on a line."""
    kind, of = step["step"], {k: v for k, v in step.items() if k != "step"}
    if kind == "fault":
        kind = step["kind"]
    elif kind == "reclaimed":
        of = {"count": len(step["ids"]), "ids": ", ".join(step["ids"])}
    elif kind == "carried":
        kind = f"carried {step['taken']}"
    elif "times" in step:
        kind = f"{kind} several"
    elif kind == "accepted" and "attempt" not in step:
        kind = "accepted of several"
    return say(LINES.get(kind, LINES["other"]), step=kind, **of)
