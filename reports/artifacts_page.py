"""The page of docs/artifacts: what is there, its facts beside the article's, and the counts of lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reports.captions import CAPTIONS, LANGUAGES
from reports.compared import Beside
from reports.lines import FAILED, LIBRARIES
from reports.signs import UNICODE, clean, listed

HEAD = """\
# The article's artifacts

Made by `make artifacts`, and not by hand; only article.json is. The lease article (A1 in
[articles.md](../articles.md)) prints what its demonstrations showed. Here are the same demonstrations on queue_core,
with the article's own seconds and in its shape: a caption, what was done, what workers said, and the rows as the
database had them.

`make artifacts-check` runs them again, and says whether a fact has changed against what is recorded here, and against
the article. It exits with 0 if all is as recorded, 1 if a fact has changed, 3 if the machine left something unseen,
and 4 if the bench itself failed.
"""

VOLATILE = """\
There are no times in the transcripts, and nothing that luck decides: a change in `git diff` is a change of facts.
Exact times, the date, the versions of PostgreSQL, Python and psycopg, and who was first among eight are in
[about.json](about.json), which differs after every run.

Of each scenario the sound queue is shown, and its broken counterparts: the same queue with one mechanism taken out.
For worker-death the article has none, but refutes two explanations; here they are built, and each is told up to the
observation that gives it away.

After a reclaim a worker that is idle may take the job before the bench has read its row. Then nothing is wrong, only
unseen: such an arm is run again, at most twice.
"""

STATUS = {"same": "same", "known": "differs", "told": "by the script", "changed": "**changed**"}


def page(
    facts: Mapping[str, Any], article: Mapping[str, Any], beside: Sequence[Beside], lines: Mapping[str, Any]
) -> str:
    """The page as Markdown. `beside` are the article's facts beside ours, `lines` the counts of reports/lines.py."""
    parts = [HEAD, "| scenario | | English | Russian |", "|---|---|---|---|"]
    for name in facts:
        files = " | ".join(f"[{name}.{language}.txt]({name}.{language}.txt)" for language in LANGUAGES)
        parts.append(f"| {name} | {CAPTIONS[name].title.en} | {files} |")
    data = "[facts.json](facts.json) has the facts as data, [article.json](article.json) those of the article,"
    parts += ["", data, "[lines.json](lines.json) the counts of lines.", "", VOLATILE]
    parts += ["## Beside the article", "", _versions(article), ""]
    parts += [*_beside(beside), *_lines(article, lines)]
    return "\n".join(parts)


def _versions(article: Mapping[str, Any]) -> str:
    on = ", ".join(f"{name} {version}" for name, version in article["versions"].items())
    return f"The article's run is of {article['made']}, on {on}."


def _beside(beside: Sequence[Beside]) -> Iterator[str]:
    for name in dict.fromkeys(each.scenario for each in beside):
        yield from (f"### {name}", "")
        rows = (
            (each.side, each.where, each.fact, code(each.article), code(each.here), _status(each))
            for each in beside
            if each.scenario == name
        )
        yield from _table(("side", "where in the article", "fact", "article", "here", ""), rows)


def _status(each: Beside) -> str:
    return STATUS[each.status] + (f": {each.why}" if each.why else "")


def _lines(article: Mapping[str, Any], lines: Mapping[str, Any]) -> Iterator[str]:
    theirs, own, total = article["lines"], lines["own"], lines["own_total"]
    yield from ("## Lines of one's own, and lines on a library", "")
    yield _paragraph(
        f"""The article counts {theirs["own"]} lines of its own queue against {theirs["on a library"]} on
        {theirs["library"]}. Here are ours: queue_core, in what it shares with the article's queue, beside the worker of
        {listed(LIBRARIES)} as their adapters in subjects/ have it. All three are on PostgreSQL, as {theirs["library"]}
        is, and in Python, as queue_core is. A line counts if there is code on it: no blank ones, no comments, no
        docstrings, no imports. How the article counts, it does not say."""
    )
    told = [*((name, str(count)) for name, count in own.items()), ("**all**", f"**{total}**")]
    yield from _table(("of our own", "lines"), told)
    yield from _table(("on a library", "lines"), ((name, str(count)) for name, count in lines["libraries"].items()))
    yield from (
        "The comparison is worth as much as its two caveats leave of it. They are the article's, and hold here:",
        "",
    )
    yield _paragraph(
        f"""- **The schema is on one side only.** {own["schema"]} of our {total} lines are the table, its check and its
        indexes ({theirs["of it the schema"]} of {theirs["own"]} there). A library needs tables, too, and makes them by
        itself, so that nobody counts them."""
    )
    yield _paragraph(
        f"""- **Not all of it was seen to work here.** {own[FAILED]} of our lines deal with failed attempts (some
        {theirs["of it failed attempts"]} there), and in no demonstration of this page does one fail. There it is code
        that no demonstration runs; here `error-classes`, `retry-gaps` and `visible-failure` do, with twins."""
    )
    yield _paragraph(
        f"""And two of ours. queue_core's loop also gets over broken connections, keeps a grace period and gives jobs
        back, which the article's does not. An adapter's worker also has what the bench asks of it, so that the smallest
        worker would be shorter than {min(lines["libraries"].values())} lines. The number says how much of the machinery
        is yours to understand, and nothing of its quality."""
    )


def _paragraph(text: str) -> str:
    """A paragraph, or an item of a list, folded as the other documents are."""
    indent = "  " if text.startswith("- ") else ""
    folded = textwrap.fill(
        " ".join(text.split()), 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return folded + "\n"


def code(text: object) -> str:
    """A text of anybody's as code in a cell of a table."""
    plain = clean(text, UNICODE).replace("`", "'").replace("\\", "\\\\").replace("|", "\\|")
    return f"`{plain}`" if plain.strip() else ""


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]
