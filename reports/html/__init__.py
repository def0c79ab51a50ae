"""The report as one page of HTML: the matrix, and behind each of its cells the evidence.

`tables` has the matrices, `evidence` and `arms` what a cell opens, `pack` how that is put into the page, and `links`
where it is found in it. `page.html.j2`, `evidence.html.j2`, `style.css` and `script.js` are the page itself: one file
that asks the network for nothing.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from reports.events import Event
from reports.html import tables
from reports.html.evidence import Evidence, Teller
from reports.html.links import slug
from reports.html.pack import packed
from reports.matrix import count
from reports.signs import STATUS, UNICODE, clean, seconds
from reports.subjects import VERDICTS, compared, figures_of, unsupported, verdict_of
from reports.svg import PROPERTIES
from reports.svg.theme import style as picture_style
from reports.terminal import diff_lines

__all__ = ["html"]


def html(data: Mapping[str, Any], history: Callable[[Mapping[str, Any]], Sequence[Event] | None]) -> str:
    """The whole page. `data` is what result.json or validate.json has; `history` gives the events of an arm in it.

    Equal data and histories make an equal page. An arm whose history is None is shown without its picture.
    """
    environment = _environment()
    fragment = environment.get_template("evidence.html.j2")
    teller = Teller(data, history)
    columns = tables.columns(data) if "subjects" in data else []
    scenarios = tables.scenario_rows(data)
    rows = tables.grid_rows(data, columns)
    cells = [cell for row in rows for cell in row.cells if cell] or [cell for row in scenarios for cell in row.cells]

    def told(evidence: Evidence) -> tuple[str, Markup]:
        return evidence.key, packed(fragment.render(evidence=evidence).encode("utf-8", "replace"))

    packs = [told(evidence) for evidence in teller.scenarios()]
    packs += [told(evidence) for evidence in teller.strangers(columns)] if columns else []
    style, script = (_source(environment, name) for name in ("style.css", "script.js"))
    style = Markup(_properties() + picture_style(standalone=False) + "\n") + style
    return environment.get_template("page.html.j2").render(
        data=data,
        policy=_policy(style, script),
        style=style,
        script=script,
        heading=_heading(data, columns),
        verdict=_verdict(data),
        verdict_kind=tables.status_kind(str(data["verdict"])),
        facts=_facts(data),
        columns=columns,
        heads=tables.heads(columns),
        rows=rows,
        scenarios=scenarios,
        figures=_figures(scenarios, columns),
        chips=tables.chips(cells, bool(columns)),
        profiles=list(dict.fromkeys(column.profile for column in columns)),
        verdicts=[verdict for verdict in VERDICTS if any(column.tally[verdict] for column in columns)],
        few=tables.FEW,
        some=tables.SOME,
        findings=_findings(data, columns, scenarios),
        unsupported=unsupported(data) if "subjects" in data else [],
        packs=packs,
        histories=teller.raw,
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("reports.html", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_safe,
    )
    environment.filters |= {"prose": _prose, "count": count, "slug": slug, "diff": _diff}
    environment.filters |= {"status_sign": tables.status_sign, "status_kind": tables.status_kind}
    return environment


def _safe(value: object) -> object:
    """Each text that is put into a page: without marks that control, hide or reorder; jinja2 escapes it besides."""
    return value if isinstance(value, Markup | int) else clean(value, UNICODE)


def _prose(text: object) -> Markup:
    """A sentence whose `code` is shown as such."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(clean(text, UNICODE)))))


def _diff(diff: str) -> list[tuple[str, str]]:
    """The lines of a diff, each with whether it came, went or stayed."""
    kinds = {"-": "went", "+": "came"}
    return [(kinds.get(line[:1], "stayed"), line) for line in diff_lines(diff)]


def _source(environment: Environment, name: str) -> Markup:
    assert environment.loader
    return Markup(environment.loader.get_source(environment, name)[0].strip("\n"))


def _properties() -> str:
    """The colours of the pictures, which are the page's, for both themes."""
    told = "".join(f"{name}:light-dark({light},{dark});" for name, (light, dark) in PROPERTIES.items())
    return f":root{{{told}}}\n"


def _policy(style: str, script: str) -> str:
    """What the browser lets the page do: run its own script, use its own styles, and nothing else at all."""
    styles, scripts = (
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in (style, script)
    )
    allowed = f"style-src {styles}; script-src {scripts}; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


# The head of the page.


def _heading(data: Mapping[str, Any], columns: Sequence[tables.Column]) -> str:
    scenarios = count(len(data["scenarios"]), "scenario")
    if columns:
        return f"{count(len({column.name for column in columns}), 'subject')} in {scenarios}"
    given = str(data.get("given", "queue_core"))
    return f"{given} in {scenarios}" if given == "queue_core" else f"{given} {data['profile']} in {scenarios}"


def _verdict(data: Mapping[str, Any]) -> tuple[str, str]:
    """The run in a few words, and what stands beside them."""
    statuses = [scenario["status"] for scenario in data["scenarios"]]
    if "subjects" in data:
        proven = (
            f"{statuses.count('proven')} of {count(len(statuses), 'scenario')} proven by queue_core in the same run"
        )
        return verdict_of(data), proven
    tally = ", ".join(f"{statuses.count(status)} {status}" for status in STATUS if status in statuses)
    return tally or "none run", ""


def _facts(data: Mapping[str, Any]) -> list[tuple[str, object]]:
    arms = [arm for scenario in data["scenarios"] for arm in scenario["arms"]]
    arms += [arm for subject in data.get("subjects", []) for cell in subject["cells"] for arm in cell["arms"]]
    environment: dict[str, object] = dict(data["environment"])
    told: list[tuple[str, object]] = [
        ("started", str(data["started"]).replace("T", " ").replace("Z", " UTC")),
        ("arms", f"{len(arms)} in {seconds(data['wall_seconds'])}"),
        ("lease", f"{data['lease']:g} s"),
        ("longest stall", seconds(data["longest_stall"])),
        ("leaseproof", data["leaseproof"]),
    ]
    names = {"postgres": "PostgreSQL", "python": "Python", "cpus": "processors"}
    return told + [(names.get(name, name), value) for name, value in environment.items()]


def _findings(
    data: Mapping[str, Any], columns: Sequence[tables.Column], scenarios: Sequence[tables.ScenarioRow]
) -> list[tuple[str, str, str, str]]:
    """What needs a word before all else: its kind, where it is in the page, whose it is, and the word."""
    told: list[tuple[str, str, str, str]] = []
    slugs = {(column.name, column.profile): column.slug for column in columns}
    for kind in ("new", "mended"):
        for one in (data.get("expected") or {}).get(kind, []):
            whose, _, shown = compared(one).partition(": ")
            key = f"{slug(one['scenario'])}/{slugs.get((one['subject'], one['profile']), '')}"
            told.append((kind, key, whose, shown))
    told += [(row.status, row.key, row.name, row.why) for row in scenarios if row.status != "proven"]
    return told + [("error", f"{scenarios[0].key}/{c.slug}", c.title, c.trouble) for c in columns if c.trouble]


def _figures(scenarios: Sequence[tables.ScenarioRow], columns: Sequence[tables.Column]) -> list[tuple[str, str, str]]:
    """The numbers that scenarios print: where it is in the page, whose it is, and the figures."""
    told = [(row.key, row.name, row.figures) for row in scenarios]
    told += [
        (tables.stranger_key(column, cell), f"{cell['scenario']}, {column.title}", figures_of(cell))
        for column in columns
        for cell in column.subject["cells"]
    ]
    return [(key, whose, "; ".join(f"{n} {v}" for n, v in figures)) for key, whose, figures in told if figures]
