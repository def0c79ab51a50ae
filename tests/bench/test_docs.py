"""The documents name what there is: scenarios, twins, and every scenario by the article that it comes from."""

import re
from pathlib import Path

import pytest

from bench import discover, expect
from bench.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCENARIOS = {scenario.name: scenario for scenario in discover.scenarios()}
TWINS = {twin.name for scenario in SCENARIOS.values() for twin in scenario.twins}


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
