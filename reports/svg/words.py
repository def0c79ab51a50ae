"""The picture in words, for whoever does not see it."""

from __future__ import annotations

from collections.abc import Sequence

from reports.events import Event, at
from reports.observations import worth
from reports.story import Note, Story
from reports.svg.letters import plain
from reports.svg.marks import told

MOST_NOTES = 24
MOST_PROOFS = 8
LONGEST = 160


def _short(value: object) -> str:
    text = plain(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + "\u2026"


def told_whole(story: Story, title: str, proofs: Sequence[Event]) -> str:
    """What happened in a panel, in the order of time."""
    notes = worth(story.notes)
    notes += [Note(at(o), "", f"observation {plain(o.get('n'))}: {plain(o.get('title'))}") for o in story.observations]
    notes.sort(key=lambda note: note.at)
    said = [f"At {story.units(n.at):.2f} L {_short(n.text)}." for n in notes[:MOST_NOTES]]
    if len(notes) > MOST_NOTES:
        said.append(f"And {len(notes) - MOST_NOTES} more.")
    ran = sum(len(lane.executions) for lane in story.lanes)
    head = f"{_short(title) or 'One arm'}. L is {story.lease:g} s. {_count(len(story.lanes), 'process')}, "
    parts = [head + f"{_count(ran, 'execution')}.", *said]
    if story.overlaps:
        stretches = [f"{story.units(a):.2f} L to {story.units(b):.2f} L" for a, b in story.overlaps[:3]]
        parts.append(f"Two executions of one job ran at once: {', '.join(stretches)}.")
    if proofs:
        shown = [f"{told(e, True)} at {story.units(at(e)):.2f} L" for e in proofs[:MOST_PROOFS]]
        more = f" and {len(proofs) - MOST_PROOFS} more" if len(proofs) > MOST_PROOFS else ""
        parts.append(f"Proof of the anomaly: {_short(', '.join(shown))}{more}.")
    if not story.complete:
        parts.append("The history was cut here.")
    return " ".join(parts)


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}{'' if n == 1 else 'es' if thing.endswith('s') else 's'}"
