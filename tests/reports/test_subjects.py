"""Subjects by scenario, on a terminal and as Markdown: who fails where is plain without colour, at any width."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from referencing import Registry
from referencing.jsonschema import DRAFT202012

import reports
from reports.subjects import subjects_matrix
from reports.subjects_page import subjects_page
from tests.reports.drawing import drawn
from tests.reports.results import Result
from tests.reports.validations import cell, clean, empty, many, mixed, subject, validation

FOLDER = Path(reports.__file__).parent
RESULT, SCHEMA = (
    json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")) for name in ("result", "validate")
)
VALIDATOR = jsonschema.Draft202012Validator(
    SCHEMA, registry=Registry().with_resource(RESULT["$id"], DRAFT202012.create_resource(RESULT))
)

FINDING = {
    "subject": "sidekiq",
    "profile": "default",
    "scenario": "worker-death",
    "fault": ["stranded"],
    "sham": [],
    "sometimes": [],
}
RECORD = {**FINDING, "fault": ["lost", "stranded"], "reason": "it has no reclaim", "link": "https://example.org/1"}


def compared() -> Result:
    """A run that was held against a record: one finding is known, one is new and one is mended."""
    new = {**FINDING, "subject": "plain", "sham": ["disturbed"], "fault": [], "reason": "", "link": ""}
    mended = {**RECORD, "profile": "tuned"}
    return mixed() | {"expected": {"file": "known.toml", "known": [RECORD], "new": [new], "mended": [mended]}}


def text(result: Result, width: int = 100, ascii_only: bool = True) -> str:
    return drawn(subjects_matrix(result, width, ascii_only, "runs/1"), width)


TABLE = """\
                sidekiq          sidekiq          rotten           plain
  scenario      default          tuned            default          default
  ---------------------------------------------------------------------------------------
  worker-death  x stranded +1    + pass           ! error          xx double-execution +1
  heartbeat     + pass           ~ inconclusive   ! error          ! error
  claim-race    - unsupported    - unsupported    ! error          - unsupported
  late-finish   . unproven here  . unproven here  . unproven here  . unproven here

  + holds   x fails   xx fails even without the fault   ~ no verdict   - unsupported
  ! error of the adapter or the bench   . unproven here

  subject          version  bound  pass  fail  inconclusive  unsupported  error
  sidekiq default  7.3.1     45 s     1     1             0            1      0
  sidekiq tuned    7.3.1     45 s     1     0             1            1      0
  rotten default                      0     0             0            0      3
  plain default    7.3.1     45 s     0     1             0            1      1
"""


def test_where_it_fits_a_cell_says_in_words_what_was_seen() -> None:
    assert text(mixed()).startswith(TABLE)


NARROW = """\
                sidekiq  rotten  plain
  scenario      d  t     d       d
  ------------------------------------
  worker-death  x  +     !       xx
  heartbeat     +  ~     !       !
  claim-race    -  -     !       -
  late-finish   .  .     .       .
"""


def test_where_it_does_not_a_cell_is_a_sign() -> None:
    shown = text(mixed(), 80)
    assert shown.startswith(NARROW)
    assert "d default   t tuned" in shown


PAGE = """\
  page 1 of 3   queue-    queue-    queue-    queue-
                number-1  number-2  number-3  number-4
  scenario      d  t      d  t      d  t      d  t
  ----------------------------------------------------
  worker-death  x  x      x  x      +  +      x  x
  heartbeat     +  +      +  +      +  +      +  +
  late-finish   .  .      .  .      .  .      .  .

  page 2 of 3   queue-    queue-    queue-    queue-
                number-5  number-6  number-7  number-8
"""


def test_many_subjects_come_in_pages_that_are_full_alike() -> None:
    shown = text(many(), 60)
    assert shown.startswith(PAGE)
    assert re.findall(r"number-\d+", shown)[:12] == [f"number-{n}" for n in range(1, 13)]
    assert "claim-race   " not in shown  # nobody could be run in it
    assert "unsupported: claim-race: its describe does not offer hold (all)" in " ".join(shown.split())


def test_a_long_table_has_its_heads_again() -> None:
    result = many()
    result["scenarios"] = [result["scenarios"][0] | {"name": f"scenario-{n}"} for n in range(54)]
    for entry in result["subjects"]:
        entry["cells"] = [cell(f"scenario-{n}", "pass") for n in range(54)]
    lines = text(result, 200).splitlines()
    heads = [i for i, line in enumerate(lines) if line.startswith("  scenario   ")]
    assert len(heads) == 3
    assert [lines[i + 2].split()[0] for i in heads] == ["scenario-0", "scenario-18", "scenario-36"]


def test_a_fail_has_a_paragraph_with_all_that_one_needs() -> None:
    shown = text(mixed())
    where = shown.index("sidekiq default, worker-death: fail")
    words = " ".join(shown[where:].split())
    assert words.startswith(
        "sidekiq default, worker-death: fail, it declares reclaim automatic, an abandoned job back within 45 s, and"
        " does not keep it x sound-fault: fail, expected pass stranded: stranded was seen (events 4, 9)"
        " lost: lost was seen (events 4, 9) history runs/1/sidekiq/default/worker-death/sound-fault.jsonl again"
        " leaseproof run worker-death --subject subjects/sidekiq --profile default --arms sound-fault "
    )


def test_that_a_queue_breaks_without_any_fault_is_said() -> None:
    shown = text(mixed())
    assert "plain default, worker-death: fail, the queue breaks even without the fault\n" in shown
    assert "x sound-sham: fail, expected pass\n    disturbed: disturbed was seen" in shown


def test_a_run_with_other_settings_is_repeated_with_them() -> None:
    shown = text(mixed() | {"lease": 2.5, "longest": 300.0}, 200)
    assert "--arms sound-fault --lease 2.5 --longest 300\n" in shown


def test_a_broken_adapter_is_told_once_and_is_no_fail_of_the_queue() -> None:
    shown = text(mixed())
    assert shown.count("no such broker") == 1
    assert "rotten default: error, adapter: the control process died at `describe`" in shown
    assert "2 fails; 3 subjects, 3 of 4 scenarios proven by queue_core in the same run" in shown


def test_what_the_reference_did_not_prove_is_said_and_shows_no_cell() -> None:
    shown = text(mixed())
    assert "late-finish: inconclusive, sound-fault: the machine stalled" in shown
    assert "late-finish   . unproven here  . unproven here" in shown


def test_what_went_wrong_in_a_smoke_comes_before_its_cells() -> None:
    for shown in (text(mixed(), 160), subjects_page(mixed()).replace("\\", "")):
        assert "plain default: smoke" in shown
        assert "smoke-good was begun 2 times, and is `done`; look at its adapter before you believe its cells" in shown


def test_figures_stand_below() -> None:
    shown = text(mixed())
    assert "\n  worker-death\n    sidekiq tuned: back after 31.20 s: 30.00 s of lease, 1.20 s of reclaim\n" in shown


def test_a_record_says_what_is_known_new_and_mended() -> None:
    shown = text(compared(), 140)
    assert "known: it has no reclaim (https://example.org/1)" in " ".join(shown.split())
    assert "\n  known.toml: 1 finding known, 1 new, 1 mended\n" in shown
    assert "    new: plain default, worker-death: disturbed without the fault\n" in shown
    assert "    mended: sidekiq tuned, worker-death: lost, stranded\n" in shown


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100, 200])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("result", [mixed(), clean(), many(), compared(), validation()], ids=lambda r: r["command"])
def test_no_line_is_too_long(result: Result, ascii_only: bool, width: int) -> None:
    shown = text(result, width, ascii_only)
    assert max(map(len, shown.splitlines())) <= width
    assert not ascii_only or shown.isascii()


def test_what_a_subject_says_moves_no_cursor_and_breaks_no_table() -> None:
    evil = "adapter: \x1b[2J|`<b>*x*"
    cells = [empty(name, "error", evil) for name in ("worker-death", "heartbeat", "claim-race", "late-finish")]
    result = validation(subject("evil", "default", *cells, error=evil))
    assert "\x1b" not in text(result)
    assert r"adapter: \[2J\|\`\<b\>\*x\*" in subjects_page(result)


# Markdown.


def test_the_page_has_a_table_whose_fails_lead_to_their_sections() -> None:
    page = subjects_page(mixed())
    assert "| scenario | sidekiq<br>default | sidekiq<br>tuned | rotten<br>default | plain<br>default |" in page
    assert "| worker-death | [**fail**](#sidekiq-default-worker-death) stranded, lost | pass | error |" in page
    assert "| late-finish | unproven | unproven | unproven | unproven |" in page
    for anchor in re.findall(r"\]\(#([\w-]+)\)", page):
        headings = re.findall(r"^#+ (.*)$", page, flags=re.MULTILINE)
        assert anchor in [heading.lower().replace(",", "").replace(" ", "-") for heading in headings]


def test_the_page_has_versions_settings_and_date() -> None:
    page = subjects_page(mixed())
    assert "2026-11-30, leaseproof 0.1.0, a lease of 1 s; postgres 18.6 (embedded)" in page
    assert (
        "| sidekiq | 7.3.1 | [tuned](https://example.org/sidekiq) | as its tuned has it | 45 s | 1 | 0 | 1 | 1 | 0 |"
        in page
    )


def test_the_page_says_how_a_fail_is_repeated_and_what_has_no_verdict() -> None:
    page = subjects_page(compared())
    assert (
        "  - again: `leaseproof run worker-death --subject subjects/plain --profile default --arms sound-sham`" in page
    )
    assert "and does not keep it; known: it has no reclaim (<https://example.org/1>)." in page
    assert "- rotten default, worker-death, heartbeat, claim-race: error: adapter: the control process died" in page
    assert "- new: plain default, worker-death: disturbed without the fault" in page
    assert "- claim-race: its describe does not offer hold (sidekiq default, sidekiq tuned, plain default)" in page


def test_every_row_of_the_pages_tables_has_as_many_cells_as_its_head() -> None:
    for result in (mixed(), many(), clean()):
        tables = re.findall(r"(?:^\|.*\n)+", subjects_page(result), flags=re.MULTILINE)
        assert len(tables) >= 2
        for table in tables:
            assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1


# The schema.


def test_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("result", [mixed(), clean(), many(), compared()])
def test_takes_results(result: Result) -> None:
    VALIDATOR.validate(json.loads(json.dumps(result)))


SPOILED: dict[str, Callable[[Result], object]] = {
    "another format": lambda r: r.update(format=2),
    "an unknown field": lambda r: r.update(extra=1),
    "no subjects": lambda r: r.pop("subjects"),
    "a verdict of none": lambda r: r.update(verdict="fine"),
    "wrong usage": lambda r: r.update(exit_code=2),
    "a cell of no verdict": lambda r: r["subjects"][0]["cells"][0].update(verdict="proven"),
    "a fail without its arms": lambda r: r["subjects"][0]["cells"][0].update(arms=[]),
    "an arm of no kind": lambda r: r["subjects"][0]["cells"][0]["arms"][0].update(verdict="fine"),
    "no reason": lambda r: r["subjects"][1]["cells"][1].update(reason=""),
    "a cell beside what is unproven": lambda r: r["subjects"][0]["cells"][3].update(
        arms=cell("late-finish", "pass")["arms"]
    ),
    "half a finding": lambda r: r.update(expected={"file": "x", "known": [], "new": [FINDING], "mended": []}),
}


@pytest.mark.parametrize("what", SPOILED)
def test_refuses(what: str) -> None:
    result = mixed()
    SPOILED[what](result)
    assert not VALIDATOR.is_valid(result)
