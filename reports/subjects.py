"""Subjects by scenario: what each holds, and what it does not; on a terminal, or as a page of Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from reports.findings import findings
from reports.grid import GAP, Grid
from reports.matrix import count, effort
from reports.outcome import cells_of
from reports.signs import STATUS, Signs, clean, fit, pad, paragraph, side_by_side, signs

MOST_ROWS = 20
"""Rows of signs under one head."""

VERDICTS = ("pass", "fail", "inconclusive", "unsupported", "error")

Entry = Mapping[str, Any]
"""A subject in a profile, a cell or a scenario, as validate.json has it."""


def subjects_matrix(result: Entry, width: int, ascii_only: bool = False, where: str = "") -> RenderableType:
    """The result of `leaseproof validate` as a table, with a paragraph on each fail. `where` is the run's folder."""
    sign = signs(ascii_only)
    table = _in_words(result, width, sign) or _in_signs(result, width, sign)
    parts = [*table, *_tally(result, width, sign), *_figures(result, width, sign), *_not_run(result, width, sign)]
    parts += findings([s for s in result["scenarios"] if s["status"] != "proven"], width, sign, where)
    parts += findings(
        _told(result), width, sign, where, again=lambda it, arm: again(result, it["subject"], it["scenario"], arm["id"])
    )
    return Group(*parts, *_expected(result, width, sign), Text(), *_summary(result, width, sign, where))


def title(subject: Entry) -> str:
    """A subject in a profile, as all reports name it."""
    return f"{subject['name']} {subject['profile']}"


def told(result: Entry) -> list[Entry]:
    """The scenarios of the table: without those that no subject could be run in."""
    return [
        scenario
        for scenario in result["scenarios"]
        if any(cell["verdict"] != "unsupported" for cell in _row(result, scenario))
    ]


def _row(result: Entry, scenario: Entry) -> list[Entry]:
    """A scenario's cells, one of each subject."""
    return [cell for subject in result["subjects"] for cell in subject["cells"] if cell["scenario"] == scenario["name"]]


# The table.


def mark(cell: Entry, sign: Signs) -> tuple[str, str]:
    """A cell's sign and style."""
    return {
        "pass": (sign.ok, "green"),
        "fail": (sign.bad * (2 if cell["without_fault"] else 1), "bold red"),
        "inconclusive": (sign.unsure, "yellow"),
        "unsupported": (sign.absent, "dim"),
        "error": (sign.error, "bold magenta"),
    }.get(cell["verdict"], (sign.waiting, "dim"))


def anomalies(cell: Entry) -> list[str]:
    """The names of what it showed, those with the fault first."""
    return list(dict.fromkeys(anomaly["name"] for arm in cell["arms"] for anomaly in arm["anomalies"]))


def _words(cell: Entry, sign: Signs) -> Text:
    """A cell in full."""
    shown, style = mark(cell, sign)
    found = anomalies(cell) if cell["verdict"] == "fail" else []
    more = f" +{len(found) - 1}" if len(found) > 1 else ""
    words = clean(found[0], sign) + more if found else _verdict(cell)
    return Text.assemble((shown, style), " ", (words, style if found else ""))


def _verdict(cell: Entry) -> str:
    return "unproven here" if cell["verdict"] == "unproven" else str(cell["verdict"])


def _in_words(result: Entry, width: int, sign: Signs) -> list[Text]:
    """A table with the verdicts in words, where all subjects go beside one another; else nothing."""
    scenarios, subjects = told(result), result["subjects"]
    names = max([8, *(len(scenario["name"]) for scenario in scenarios)])
    rows = [[_words(cell, sign) for cell in _row(result, scenario)] for scenario in scenarios]
    heads = [[clean(subject["name"], sign), clean(subject["profile"], sign)] for subject in subjects]
    columns = [max([*map(cell_len, heads[i]), *(row[i].cell_len for row in rows)]) for i in range(len(subjects))]
    total = names + sum(columns) + GAP * len(columns)
    if 2 + total > width:
        return []
    lines = [
        _line("" if level == 0 else "scenario", names, [Text(head[level]) for head in heads], columns, sign)
        for level in (0, 1)
    ]
    lines[0].stylize("bold")
    lines[1].stylize("dim")
    lines.append(Text("  " + sign.rule * total, "dim"))
    lines += [_line(scenario["name"], names, row, columns, sign) for scenario, row in zip(scenarios, rows, strict=True)]
    return lines + _key(result, width, sign)


def _line(name: str, names: int, cells: Sequence[Text], columns: Sequence[int], sign: Signs) -> Text:
    line = Text("  " + pad(clean(name, sign), names, sign), no_wrap=True)
    for cell, wide in zip(cells, columns, strict=True):
        line.append(" " * GAP).append_text(cell).append(" " * max(wide - cell.cell_len, 0))
    line.rstrip()
    return line


def _in_signs(result: Entry, width: int, sign: Signs) -> list[Text]:
    """The same with a sign a cell, in as many pages as the width asks for; a profile is its first letter."""
    scenarios, subjects = told(result), result["subjects"]
    columns = [(str(subject["name"]), str(subject["profile"])) for subject in subjects]
    grid = Grid(columns, [str(scenario["name"]) for scenario in scenarios], width, sign)
    rows = [[Text(*mark(cell, sign)) for cell in _row(result, scenario)] for scenario in scenarios]
    lines: list[Text] = []
    for page in range(len(grid.pages)):
        over = f"page {page + 1} of {len(grid.pages)}" if len(grid.pages) > 1 else ""
        for block in _blocks(len(rows), MOST_ROWS):
            lines += [Text()] if lines else []
            lines += grid.head(page, over)
            lines += [grid.row(page, scenarios[i]["name"], rows[i].__getitem__) for i in block]
    letters = [Text(f"{profile[:1]} {clean(profile, sign)}", "dim") for profile in dict.fromkeys(p for _, p in columns)]
    return lines + _key(result, width, sign, letters)


def _blocks(rows: int, most: int) -> list[range]:
    """The rows in parts of at most so many, all about as long: a screen has only a part of a long table."""
    count = max(-(-rows // most), 1)
    seams = [rows * n // count for n in range(count + 1)]
    return [range(begin, end) for begin, end in pairwise(seams)]


def meanings(sign: Signs) -> dict[str, str]:
    """What the sign of a cell means, in the order in which one tells it."""
    return {
        sign.ok: "holds",
        sign.bad: "fails",
        sign.bad * 2: "fails even without the fault",
        sign.unsure: "no verdict",
        sign.absent: "unsupported",
        sign.error: "error of the adapter or the bench",
        sign.waiting: "unproven here",
    }


def _key(result: Entry, width: int, sign: Signs, more: Sequence[Text] = ()) -> list[Text]:
    """What the signs mean, of those that occur."""
    cells = [cell for scenario in told(result) for cell in _row(result, scenario)]
    seen = {mark(cell, sign)[0] for cell in cells}
    entries = [Text(f"{shown} {meaning}", "dim") for shown, meaning in meanings(sign).items() if shown in seen]
    return [Text(), *side_by_side([*entries, *more], width, sign)] if entries else []


# Below the table.


def tally(subject: Entry) -> dict[str, int]:
    """How many cells of a subject came out how."""
    verdicts = [cell["verdict"] for cell in subject["cells"]]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


def bound(subject: Entry) -> str:
    """In which time an abandoned job is back, by the queue's own word."""
    return "" if subject["recovery"] is None else f"{subject['recovery']:g} s"


def _tally(result: Entry, width: int, sign: Signs) -> list[Text]:
    """A line a subject: its version, the bound that it declares, and how many cells came out how."""
    rows = []
    for subject in result["subjects"]:
        version = fit(clean(subject["describe"].get("version", ""), sign), 12, sign)
        rows.append([clean(title(subject), sign), version, bound(subject), *map(str, tally(subject).values())])
    heads = ["subject", "version", "bound", *VERDICTS]
    shown = [i for i, head in enumerate(heads) if head != "inconclusive" or any(row[i] != "0" for row in rows)]
    for dropped in (set(), {2}, {1, 2}):
        kept = [i for i in shown if i not in dropped]
        columns = [max(map(cell_len, [heads[i], *(row[i] for row in rows)])) for i in kept]
        if 2 + sum(columns) + GAP * (len(columns) - 1) <= width:
            break
    else:
        lines = []
        for subject in result["subjects"]:
            words = ", ".join(f"{n} {verdict}" for verdict, n in tally(subject).items() if n or verdict == "error")
            lines += paragraph(f"{clean(title(subject), sign)}: {words}", width, indent=2)
        return [Text(), *lines]
    lines = []
    for row in [heads, *rows]:
        cells = [
            row[i].rjust(wide) if i > 1 else pad(row[i], wide, sign) for i, wide in zip(kept, columns, strict=True)
        ]
        lines.append(Text("  " + (" " * GAP).join(cells), "dim" if row is heads else "", no_wrap=True))
    return [Text(), *lines]


def _figures(result: Entry, width: int, sign: Signs) -> list[Text]:
    """The numbers that scenarios print, a line a subject."""
    lines: list[Text] = []
    for scenario in told(result):
        said = []
        for subject, cell in zip(result["subjects"], _row(result, scenario), strict=True):
            figures = "; ".join(f"{name} {value}" for name, value in figures_of(cell))
            said += paragraph(clean(f"{title(subject)}: {figures}", sign), width, indent=4) if figures else []
        lines += [Text(), Text("  " + fit(scenario["name"], width - 2, sign), "bold"), *said] if said else []
    return lines


def figures_of(cell: Entry) -> list[tuple[str, str]]:
    """The figures of a cell: those of its arm with the fault."""
    return [(name, value) for arm in cell["arms"] if arm["fault"] for name, value in arm["figures"]]


def unsupported(result: Entry) -> list[tuple[str, str, str]]:
    """What was not run: each reason, the scenarios that it kept from being run, and with whom."""
    found: dict[str, dict[str, list[str]]] = {}
    for subject in result["subjects"]:
        for cell in subject["cells"]:
            if cell["verdict"] == "unsupported":
                found.setdefault(cell["reason"], {}).setdefault(title(subject), []).append(cell["scenario"])
    told = []
    for reason, subjects in found.items():
        names = dict.fromkeys(name for scenarios in subjects.values() for name in scenarios)
        whose = "all" if len(subjects) == len(result["subjects"]) else ", ".join(subjects)
        told.append((reason, ", ".join(names), whose))
    return told


def _not_run(result: Entry, width: int, sign: Signs) -> list[Text]:
    """A paragraph a reason: where it kept which scenarios from being run."""
    lines: list[Text] = []
    for reason, scenarios, whose in unsupported(result):
        text = f"unsupported: {scenarios}: {reason} ({whose})"
        lines += paragraph(clean(text, sign), width, indent=2, style="dim")
    return [Text(), *lines] if lines else []


def _told(result: Entry) -> list[dict[str, Any]]:
    """What needs a paragraph, each as `findings` takes a scenario: the fails, what is in doubt, and the errors."""
    known = cells_of(result, "known")
    told: list[dict[str, Any]] = []
    for subject in result["subjects"]:
        if subject["error"]:
            told.append({"name": title(subject), "status": "error", "why": subject["error"], "arms": []})
            continue
        if subject["smoke"]:
            told.append({"name": title(subject), "status": "smoke", "why": smoke_of(subject), "arms": []})
        for cell in subject["cells"]:
            if cell["verdict"] in ("fail", "inconclusive", "error"):
                record = known.get((subject["name"], subject["profile"], cell["scenario"]))
                told.append(
                    {
                        "name": f"{title(subject)}, {cell['scenario']}",
                        "status": cell["verdict"],
                        "why": why(cell, record),
                        "arms": list({arm["reason"] or arm["id"]: arm for arm in reversed(cell["arms"])}.values())[
                            ::-1
                        ],
                        "subject": subject,
                        "scenario": cell["scenario"],
                    }
                )
    return told


def smoke_of(subject: Entry) -> str:
    """What went wrong in a subject's smoke, with what to do about it."""
    return f"{subject['smoke']}; look at its adapter before you believe its cells"


def why(cell: Entry, record: Entry | None = None) -> str:
    """What a cell says besides its anomalies."""
    if not cell["arms"]:
        return str(cell["reason"])
    said = [f"it declares {words}, and does not keep it" for words in cell["not_kept"]]
    if cell["without_fault"]:
        said.insert(0, "the queue breaks even without the fault")
    if record and record["reason"]:
        said.append(f"known: {record['reason']} ({record['link']})")
    return "; ".join(said)


def again(result: Entry, subject: Entry, scenario: str, arm: str) -> str:
    """The command that repeats an arm of a subject's."""
    words = ["leaseproof", "run", scenario, "--subject", subject["given"], "--profile", subject["profile"]]
    words += ["--arms", arm]
    for option, usual in (("lease", 1.0), ("longest", 60.0)):
        if result[option] != usual:
            words += [f"--{option}", f"{result[option]:g}"]
    return shlex.join(words)


def _expected(result: Entry, width: int, sign: Signs) -> list[Text]:
    """How the findings compare with the record of the known ones."""
    expected = result["expected"]
    if expected is None:
        return []
    new, mended = expected["new"], expected["mended"]
    text = f"{expected['file']}: {count(len(expected['known']), 'finding')} known, {len(new)} new, {len(mended)} mended"
    lines = [Text(), *paragraph(clean(text, sign), width, indent=2, style="bold")]
    for label, entries, style in (("new", new, "bold red"), ("mended", mended, "bold cyan")):
        for entry in entries:
            told = paragraph(f"{label}: {clean(compared(entry), sign)}", width, indent=4)
            told[0].stylize(style, 4, 4 + len(label))
            lines += told
    return lines


def compared(entry: Entry) -> str:
    """A finding of the comparison in a line."""
    shown = [*entry["fault"], *(f"{name} without the fault" for name in entry["sham"])]
    return f"{entry['subject']} {entry['profile']}, {entry['scenario']}: {', '.join(shown)}"


def _summary(result: Entry, width: int, sign: Signs, where: str) -> list[Text]:
    """The run in a sentence."""
    cells = [cell for subject in result["subjects"] for cell in subject["cells"]]
    arms = [arm for cell in cells for arm in cell["arms"]]
    proven = sum(scenario["status"] == "proven" for scenario in result["scenarios"])
    names = {subject["name"] for subject in result["subjects"]}
    parts = [
        f"{verdict_of(result)}; {count(len(names), 'subject')}, "
        f"{proven} of {count(len(result['scenarios']), 'scenario')} proven by queue_core in the same run",
        *effort(result, [*arms, *(arm for scenario in result["scenarios"] for arm in scenario["arms"])], sign, where),
    ]
    lines = paragraph("; ".join(parts), width, indent=2)
    style = {"clean": "proven", "finding": "unproven"}.get(str(result["verdict"]), str(result["verdict"]))
    lines[0].stylize(STATUS.get(style, ""), 2, min(2 + len(verdict_of(result)), len(lines[0])))
    return lines


def verdict_of(result: Entry) -> str:
    """The run in a word or two."""
    fails = sum(cell["verdict"] == "fail" for subject in result["subjects"] for cell in subject["cells"])
    return f"{count(fails, 'fail')}" if result["verdict"] == "finding" and fails else str(result["verdict"])
