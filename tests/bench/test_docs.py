"""The documents name what there is: scenarios, twins, commands, metrics, findings, and files to which they lead."""

import importlib
import inspect
import pkgutil
import re
import shlex
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path

import pytest

from bench import checks, discover, expect
from bench.checks.base import Check
from bench.cli import _parser, main
from queue_core.metrics import Stats, prometheus

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCENARIOS = {scenario.name: scenario for scenario in discover.scenarios()}
TWINS = {twin.name for scenario in SCENARIOS.values() for twin in scenario.twins}

ROOT = DOCS.parent
PAGES = [*sorted(ROOT.glob("README*.md")), ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
GUIDES = ["timelines.md", "new-scenario.md", "production.md", "when-a-table-is-enough.md"]
"""The pages in which every name between backticks that has a hyphen is looked up."""


def sections(text: str) -> dict[str, str]:
    """The text below each second-level heading, by its first word."""
    parts = re.split(r"^## (\w+).*\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def last_cells(text: str) -> list[str]:
    """The last cell of each row of the tables."""
    heads = ("| claim ", "| report ")
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith(heads)]
    return [row.rsplit("|", 2)[1] for row in rows]


def named(cells: list[str]) -> set[str]:
    """The scenarios that cells name."""
    words = {word for cell in cells for word in re.findall("`([a-z0-9-]+)`", cell)}
    return {word for word in words if "-" in word or word in SCENARIOS} - {"attempt-not-counted"}


ARTICLES = (DOCS / "articles.md").read_text(encoding="utf-8")
REPORTS = (DOCS / "public-reports.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("article", ["A1", "A2"])
def test_every_claim_leads_to_a_scenario_that_there_is(article: str) -> None:
    cells = last_cells(sections(ARTICLES)[article])
    assert cells
    assert all(named([cell]) or "every scenario" in cell for cell in cells)
    assert named(cells) - {"--full"} <= set(SCENARIOS)


@pytest.mark.parametrize("article", ["A1", "A2"])
def test_every_scenario_from_an_article_is_there(article: str) -> None:
    mine = {name for name, scenario in SCENARIOS.items() if article in scenario.origin.split()}
    assert mine <= named(last_cells(sections(ARTICLES)[article]))


@pytest.mark.parametrize("text", [ARTICLES, REPORTS], ids=["articles", "public-reports"])
def test_every_twin_that_is_named_is_there(text: str) -> None:
    assert set(re.findall(r"\btwin (\w+)", text)) <= TWINS


def test_every_public_report_leads_to_a_scenario() -> None:
    cells = last_cells(REPORTS)
    assert len(cells) == 10 + 6
    assert all(named([cell]) for cell in cells)
    assert named(cells) <= set(SCENARIOS)


def test_the_page_of_scenarios_is_the_one_that_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--markdown"]) == 0
    assert (DOCS / "scenarios.md").read_text(encoding="utf-8") == capsys.readouterr().out, (
        "make it anew: leaseproof list --markdown > docs/scenarios.md"
    )


def test_what_a_scenario_needs_of_a_stranger_is_the_table_that_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--needs"]) == 0
    assert capsys.readouterr().out in (DOCS / "subjects.md").read_text(encoding="utf-8"), (
        "put it there anew: leaseproof list --needs"
    )


def test_the_example_of_a_record_can_be_read(tmp_path: Path) -> None:
    (example,) = re.findall(
        r"```toml\n([^`]*\[\[finding\]\][^`]*)```", (DOCS / "subjects.md").read_text(encoding="utf-8")
    )
    (tmp_path / "known.toml").write_text(example, encoding="utf-8")
    known = expect.load(tmp_path / "known.toml")
    expect.check_explained(tmp_path / "known.toml", known)
    assert {finding.scenario for finding in known} <= set(SCENARIOS)


def test_the_readme_names_every_scenario() -> None:
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert [name for name in SCENARIOS if not re.search(rf"\b{name}\b", text)] == []


def prose(text: str) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def blocks(text: str, language: str) -> list[str]:
    """The blocks of code in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def every_check() -> Iterator[Check]:
    """The checks in bench.checks, by what their docstrings promise."""
    for module in pkgutil.iter_modules(checks.__path__, "bench.checks."):
        for name, member in inspect.getmembers(importlib.import_module(module.name), inspect.isfunction):
            if member.__module__ == module.name and not name.startswith("_") and anomalies_of(member):
                yield member


def anomalies_of(check: Check) -> set[str]:
    """What a check can yield: in backticks at the beginning of its docstring, before the colon."""
    match = re.match(r"((?:`[a-z-]+`(?:, )?)+):", check.__doc__ or "")
    return set(re.findall("`([a-z-]+)`", match[1])) if match else set()


ANOMALIES = {name for check in every_check() for name in anomalies_of(check)}
SUBJECTS = {path.parent.name for path in (ROOT / "subjects").glob("*/subject.toml")}
OTHERS = {"job-timeouts", "current-jobs-buried"}
"""What other people call things: beanstalkd's `stats`."""


@pytest.mark.parametrize("page", GUIDES)
def test_what_a_guide_names_with_a_hyphen_is_a_scenario_an_anomaly_or_a_queue(page: str) -> None:
    text = prose((DOCS / page).read_text(encoding="utf-8"))
    words = set(re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", text)) | set(re.findall(r"make scenario-([a-z-]+)", text))
    numbered = {word for word in words if re.search(r"-\d+$", word)}  # a worker's name, such as `other-1`
    assert words - numbered - set(SCENARIOS) - ANOMALIES - SUBJECTS - OTHERS == set()


@pytest.mark.parametrize("page", GUIDES)
def test_every_twin_that_a_guide_names_is_there(page: str) -> None:
    text = prose((DOCS / page).read_text(encoding="utf-8"))
    named = re.findall(r"\btwins? ((?:[A-Z][A-Za-z]+(?: and |, )?)+)", text)
    assert {twin for names in named for twin in re.split(r" and |, ", names) if twin} <= TWINS


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", prose(page.read_text(encoding="utf-8")), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text(encoding="utf-8")))
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} leads nowhere"
        if anchor:
            assert anchor in anchors(target), f"{link} has no such heading"


def commands(page: Path) -> list[str]:
    """The commands of ours that a page quotes, in a block or between backticks, without their comments."""
    text = page.read_text(encoding="utf-8")
    lines = [line for block in blocks(text, "(?:sh|console)") for line in block.splitlines()]
    lines += [" ".join(words.split()) for words in re.findall(r"`([^`]+)`", prose(text))]
    found = (re.match(r"\s*(?:\$ )?(?:\.venv/bin/)?leaseproof (.+)", re.sub(r"\s+#.*", "", line)) for line in lines)
    return [re.split(r" (?:\d?>|[|&])", match[1])[0] for match in found if match and "..." not in match[1]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_a_page_quotes_can_be_given(page: Path) -> None:
    for command in commands(page):
        words = shlex.split(command)
        with pytest.raises(SystemExit) if len(words) == 1 else nullcontext() as left:
            _parser().parse_args([*words, "--help"] if len(words) == 1 else words)  # a word alone only names a command
        assert left is None or left.value.code == 0


@pytest.mark.parametrize("page", ["production.md", "queue_core.md", "when-a-table-is-enough.md"])
def test_every_metric_that_a_page_names_is_one_that_prometheus_gets(page: str) -> None:
    told = prometheus(Stats(**{field.name: 1 for field in fields(Stats)}))
    known = set(re.findall(r"^(queue_core_\w+) ", told, flags=re.MULTILINE))
    assert set(re.findall(r"\bqueue_core_\w+", (DOCS / page).read_text(encoding="utf-8"))) <= known


def test_every_metric_has_its_word_in_production() -> None:
    told = prometheus(Stats(**{field.name: 1 for field in fields(Stats)}))
    text = (DOCS / "production.md").read_text(encoding="utf-8")
    assert [
        name for name in re.findall(r"^(queue_core_\w+) ", told, flags=re.MULTILINE) if f"`{name}`" not in text
    ] == []


def test_the_findings_that_are_told_are_on_record() -> None:
    text = (DOCS / "when-a-table-is-enough.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| ([\w-]+) \| [^|]+ \| (default|tuned) \| `([\w-]+)` \| `([\w-]+)` \|", text, flags=re.MULTILINE
    )
    assert len(rows) == text.count("| default |") + text.count("| tuned |") > 0
    for subject, profile, scenario, anomaly in rows:
        known = expect.load(ROOT / "subjects" / subject / "known.toml")
        found = next(each for each in known if (each.profile, each.scenario) == (profile, scenario))
        assert anomaly in found.fault, f"{subject}, {profile}: {scenario}"


def flush(code: str) -> str:
    """Code without its indentation, and without what a list puts between its items."""
    return "\n".join(line.strip().rstrip(",") for line in code.splitlines())


def test_the_code_of_the_guide_to_scenarios_is_cut_out_of_files() -> None:
    text = (DOCS / "new-scenario.md").read_text(encoding="utf-8")
    folders = ("scenarios", "bench/checks", "tests/bench/cases")
    sources = [flush(path.read_text(encoding="utf-8")) for folder in folders for path in ROOT.glob(f"{folder}/*.py")]
    assert blocks(text, "python")
    for code in blocks(text, "python"):
        assert any(flush(code) in source for source in sources), code


def test_the_guide_to_scenarios_has_every_check_with_its_anomalies() -> None:
    text = prose((DOCS / "new-scenario.md").read_text(encoding="utf-8"))
    told = {
        name: set(re.findall(r"\*([a-z-]+)\*", found)) for name, found in re.findall(r"`(\w+)` \((\*[^)]+)\)", text)
    }
    assert {check.__name__: anomalies_of(check) for check in every_check()}.items() <= told.items()
