"""The numbered observations: what was seen, and which explanations it leaves standing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from reports.chart import STYLES
from reports.events import Event, at, names
from reports.signs import Signs, clean, fit, number, pad, paragraph
from reports.story import Note, Story

MOST_ROWS = 8
MOST_BRIEF = 3
MOST_NOTES = 12


def when(story: Story, t: float) -> str:
    """A moment in leases and in seconds."""
    return f"{story.units(t):.2f} L  {t - story.origin:.2f} s"


@dataclass(frozen=True)
class Judged:
    """An observation, and the names of the explanations: those that it struck out, and those that stand after it."""

    seen: Event
    predictions: Mapping[str, str]
    struck: Sequence[str]
    standing: Sequence[str]

    @property
    def decides(self) -> bool:
        """Whether it left only one of them."""
        return len(self.standing) == 1 and bool(self.struck)

    @property
    def undecided(self) -> str:
        """That it cannot tell those that stand apart; empty where it can, or does not try."""
        alike = {self.predictions.get(k) for k in self.standing}
        if len(self.standing) < 2 or len(alike) > 1 or None in alike:
            return ""
        two = len(self.standing) == 2
        these, each = ("the two", "both predict") if two else (f"these {len(self.standing)}", "each predicts")
        return f"this cannot tell {these} apart: {each} the same"


def judged(story: Story, explanations: Mapping[str, str]) -> list[Judged]:
    """Every observation with what it rules out. `explanations` gives each rival explanation its sentence."""
    known = list(explanations)
    for seen in story.observations:
        known += [k for k in [*_predictions(seen), *names(seen.get("ruled_out"))] if k not in known]
    out: set[str] = set()
    found = []
    for seen in story.observations:
        struck = [k for k in names(seen.get("ruled_out")) if k not in out]
        out.update(struck)
        found.append(Judged(seen, _predictions(seen), struck, [k for k in known if k not in out]))
    return found


def observations(story: Story, width: int, sign: Signs, explanations: Mapping[str, str]) -> list[Text]:
    """Every observation under its number, and under each what it rules out."""
    lines: list[Text] = []
    for one in judged(story, explanations):
        if lines:
            lines.append(Text())
        lines += _seen(story, one.seen, width, sign)
        if one.struck or one.predictions:
            words = {k: clean(explanations.get(k, k), sign) for k in [*one.struck, *one.standing]}
            lines += _left(words, one, width, sign)
    return lines


def brief(story: Story, width: int, sign: Signs, explanations: Mapping[str, str]) -> list[Text]:
    """Every observation on a line, and at the end the explanation that is left: what a twin showed instead."""
    lines: list[Text] = []
    out: set[str] = set()
    for seen in story.observations:
        out.update(names(seen.get("ruled_out")))
        rows = [_piped(row, sign) for row in (seen.get("rows") or [])[:MOST_BRIEF]]
        said = [*rows, clean(seen.get("seen") or "", sign)]
        text = f"{clean(seen.get('title', ''), sign)}: {'   '.join(part for part in said if part)}".rstrip(": ")
        mark = number(seen.get("n"), sign)
        lines.append(Text.assemble(f"  {mark}  ", fit(text, width - 5, sign), no_wrap=True))
        lines[-1].stylize(STYLES["number"], 2, 2 + len(mark))
    left = [k for k in explanations if k not in out]
    if out and len(left) == 1:
        lines += paragraph(f"what is left here: {clean(explanations[left[0]], sign)}", width, indent=5, style="italic")
    return lines


def _predictions(seen: Event) -> dict[str, str]:
    told = seen.get("predictions")
    return {str(k): v if isinstance(v, str) else str(v) for k, v in told.items()} if isinstance(told, Mapping) else {}


def _seen(story: Story, seen: Event, width: int, sign: Signs) -> list[Text]:
    stamp = when(story, at(seen))
    mark = number(seen.get("n"), sign)
    room = width - 5 - len(stamp) - 2
    title = clean(seen.get("title", ""), sign)
    if room >= 24:
        heads = paragraph(title, room + 5, indent=5, first=f"  {mark}", style="bold")
        head = heads[0] if heads else Text(f"  {mark}  ")
        head.append(" " * (width - head.cell_len - len(stamp)))
        head.append(stamp, "dim")
        lines = [head, *heads[1:]]
    else:
        lines = [Text.assemble(f"  {mark}  ", (stamp, "dim")), *paragraph(title, width, indent=5, style="bold")]
    lines[0].stylize(STYLES["number"], 2, 2 + len(mark))
    rows = [_piped(row, sign) for row in seen.get("rows") or []]
    if columns := _piped(seen.get("columns"), sign):
        lines.append(Text("     " + fit(columns, width - 5, sign), "dim"))
        rows = rows or ["(no rows)"]
    lines += [Text("     " + fit(row, width - 5, sign), "cyan") for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        lines.append(Text(f"     {sign.cut} {len(rows) - MOST_ROWS} more rows", "dim"))
    return lines + paragraph(clean(seen.get("seen", ""), sign), width, indent=5)


def _piped(row: object, sign: Signs) -> str:
    """A row as psql writes it unaligned, to be compared with the article's letter by letter."""
    if not isinstance(row, list | tuple):
        return clean(row, sign)
    return "|".join(clean(value, sign) for value in row)


def _left(words: Mapping[str, str], one: Judged, width: int, sign: Signs) -> list[Text]:
    """The explanations that this observation struck out, then those that still stand."""
    last = one.decides
    shown = [(k, True) for k in one.struck] + [(k, False) for k in one.standing]
    room = max((cell_len(words[k]) for k, _ in shown), default=0)
    said = {k: _said(one.predictions.get(k), gone, last and not gone, sign) for k, gone in shown}
    beside = 7 + room + 2 + max((cell_len(s) for s in said.values()), default=0) <= width
    lines: list[Text] = []
    for k, gone in shown:
        mark, style = (sign.bad, "red") if gone else (sign.ok, "bold green") if last else (sign.stands, "")
        text_style = "strike dim" if gone else "bold" if last else ""
        if beside:
            tail = " " * (room - cell_len(words[k]) + 2)
            lines.append(
                Text.assemble(
                    "     ", (mark, style), " ", (words[k], text_style), (tail + said[k]).rstrip(), no_wrap=True
                )
            )
            if said[k]:
                lines[-1].stylize("red" if gone else "dim", 7 + len(words[k]))
        else:
            block = paragraph(words[k], width, indent=7, first=f"     {mark}", style=text_style)
            block[0].stylize(style, 5, 6)
            lines += block + paragraph(said[k], width, indent=9, style="red" if gone else "dim")
    if one.undecided:
        lines += paragraph(one.undecided, width, indent=7, style="italic dim")
    return lines


def _said(prediction: str | None, gone: bool, last: bool, sign: Signs) -> str:
    predicted = f"predicts: {clean(prediction, sign)}" if prediction else ""
    if gone:
        return f"ruled out ({predicted})" if predicted else "ruled out"
    return "the only one left" if last else predicted


NOTE_SIGNS = {
    "kill": ("kill", "bold red"),
    "pause": ("paused", "yellow"),
    "term": ("term", "bold yellow"),
    "other": ("other", "bold yellow"),
    "lifted": ("dot", "yellow"),
    "sham": ("dot", "dim"),
    "reclaim": ("reclaim", "bold magenta"),
    "accepted": ("ok", "green"),
    "refused": ("bad", "red"),
    "raised": ("raised", "yellow"),
    "lock": ("lock", "yellow"),
    "odd": ("error", "bold red"),
}


def worth(told: Sequence[Note]) -> list[Note]:
    """The notes that are worth a line: a hundred finished jobs are one fact."""
    accepted = [n for n in told if n.kind == "accepted"]
    if len(accepted) <= 6:
        return list(told)
    summary = Note(accepted[-1].at, "accepted", f"{len(accepted)} finishes were accepted, this one last")
    return sorted([n for n in told if n.kind != "accepted"] + [summary], key=lambda n: n.at)


def notes(story: Story, width: int, sign: Signs) -> list[Text]:
    """What was done and how it came out, a line each, in the order of time."""
    shown = worth(story.notes)
    left_out = len(shown) - MOST_NOTES
    stamps = {id(n): f"{story.units(n.at):6.2f} L" for n in shown}
    evidence = {(f.at, f.what): "; ".join(clean(x, sign) for x in f.evidence) for f in story.faults if f.evidence}
    lines: list[Text] = []
    for note in shown[:MOST_NOTES]:
        key, style = NOTE_SIGNS[note.kind]
        text = clean(note.text, sign)
        if receipt := evidence.get((note.at, note.text)):
            text += f" (receipt: {receipt})"
        first = f"  {stamps[id(note)]}  {getattr(sign, key)}"
        block = paragraph(text, width, indent=len(first) + 1, first=first, style="dim" if note.kind == "sham" else "")
        block[0].stylize("dim", 2, len(first) - 1)
        block[0].stylize(style, len(first) - 1, len(first))
        lines += block
    if left_out > 0:
        lines.append(Text(f"  {sign.cut} {left_out} more", "dim"))
    if not story.complete and not story.live:
        lines.append(Text(pad(f"  {sign.error} the history ends here: it was cut", width, sign).rstrip(), "bold red"))
    return lines
