"""The record of what is known: it is read, held against a run, and brought up to date without losing what was said."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.expect import ExpectError, Finding, check_explained, compare, load, updated, write
from tests.reports.validations import cell, empty, subject, validation

DEATH = Finding(
    "sidekiq", "default", "worker-death", ("lost", "stranded"), reason="no reclaim", link="https://example.org/1"
)
BEAT = Finding(
    "sidekiq", "default", "heartbeat", ("double-execution",), ("disturbed",), reason="no lease", link="https://x.org/2"
)

FAILS = cell("worker-death", "fail", "stranded", "lost")
HOLDS = cell("heartbeat", "pass")


def ran(*cells: dict[str, Any]) -> dict[str, Any]:
    """A run of one subject."""
    return validation(subject("sidekiq", "default", *cells))


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    odd = Finding('a"b\\c', "tuned", "dédup", ("x",), (), ("y",), "two\nlines\t", "https://x.org/?a=b#c")
    write(path, [DEATH, odd, BEAT])
    assert load(path) == [odd, BEAT, DEATH]
    assert path.read_text(encoding="utf-8").startswith("# What is known of these queues")


def test_what_comes_sometimes_is_never_news() -> None:
    rare = Finding("sidekiq", "default", "worker-death", ("lost",), sometimes=("stranded",))
    assert compare(ran(FAILS), [rare]) == ([], [])
    assert compare(ran(cell("worker-death", "fail", "lost")), [rare]) == ([], [])
    new, mended = compare(ran(cell("worker-death", "pass")), [rare])
    assert (new, [finding.fault for finding in mended]) == ([], [("lost",)])
    assert updated(ran(cell("worker-death", "pass")), [rare]) == [rare]


def test_a_folder_has_a_record_for_each_of_its_subjects(tmp_path: Path) -> None:
    other = Finding("rq", "tuned", "heartbeat", ("lost",))
    for name in ("rq", "sidekiq", "clean"):
        (tmp_path / name).mkdir()
    write(tmp_path / "clean" / "known.toml", [Finding("clean", "tuned", "heartbeat", ("lost",))])
    write(tmp_path, [DEATH, other])
    assert load(tmp_path / "rq" / "known.toml") == [other]
    assert load(tmp_path / "clean" / "known.toml") == []
    assert load(tmp_path) == [other, DEATH]


def test_an_empty_record(tmp_path: Path) -> None:
    write(tmp_path / "known.toml", [])
    assert load(tmp_path / "known.toml") == []


COMMENTED = """\
# The file's own.
format = 1

# Asked on the list; no answer yet.

[[finding]]
subject = "sidekiq"
# beside the profile
profile = "default"
scenario = "heartbeat"
fault = ["double-execution"]
sham = ["disturbed"]
reason = "no lease"
link = "https://x.org/2"
# after it

[[finding]]
subject = "sidekiq"
profile = "default"
scenario = "worker-death"
fault = ["gone"]
reason = "no reclaim"
link = "https://example.org/1"
# at the end
"""


def test_comments_stay_with_their_finding(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(COMMENTED)
    write(path, updated(ran(FAILS, cell("heartbeat", "fail", "double-execution", sham=["disturbed"])), load(path)))
    beat, death = load(path)
    assert (beat, death) == (BEAT, DEATH)
    assert beat.comments == ["# Asked on the list; no answer yet.", "# beside the profile"]
    assert death.comments == ["# after it", "# at the end"]
    text = path.read_text()
    write(path, load(path))
    assert path.read_text() == text


def test_a_run_as_it_is_known() -> None:
    known = [DEATH, BEAT]
    assert compare(ran(FAILS, cell("heartbeat", "fail", "double-execution", sham=["disturbed"])), known) == ([], [])


def test_what_is_new_and_what_is_mended() -> None:
    new, mended = compare(ran(FAILS, HOLDS), [BEAT])
    assert [finding.shown for finding in new] == [["lost", "stranded"]]
    assert mended == [BEAT]
    assert mended[0].shown == ["double-execution", "disturbed without the fault"]


def test_one_anomaly_more_and_one_less_in_the_same_cell() -> None:
    new, mended = compare(ran(cell("worker-death", "fail", "stranded", "double-execution")), [DEATH])
    assert [finding.fault for finding in new] == [("double-execution",)]
    assert [finding.fault for finding in mended] == [("lost",)]


def test_that_it_breaks_without_the_fault_too_is_new() -> None:
    new, mended = compare(ran(cell("worker-death", "fail", "stranded", "lost", sham=["disturbed"])), [DEATH])
    assert [(finding.fault, finding.sham) for finding in new] == [((), ("disturbed",))]
    assert mended == []


@pytest.mark.parametrize("verdict", ["inconclusive", "error", "unproven"])
def test_what_has_no_verdict_is_neither_new_nor_mended(verdict: str) -> None:
    result = ran(empty("worker-death", verdict, "for a reason"))
    assert compare(result, [DEATH]) == ([], [])
    assert updated(result, [DEATH]) == [DEATH]


def test_what_was_not_tried_is_not_mended() -> None:
    result = ran(FAILS)
    assert compare(result, [DEATH, BEAT]) == ([], [])
    assert updated(result, [DEATH, BEAT]) == [DEATH, BEAT]


def test_what_is_not_supported_any_more_is_no_finding_any_more() -> None:
    result = ran(empty("worker-death", "unsupported", "no hold"))
    assert compare(result, [DEATH]) == ([], [DEATH])
    assert updated(result, [DEATH]) == []


def test_an_update_keeps_what_was_said_of_a_cell() -> None:
    changed = updated(ran(cell("worker-death", "fail", "double-execution"), HOLDS), [DEATH, BEAT])
    assert [(finding.fault, finding.reason, finding.link) for finding in changed] == [
        (("double-execution",), DEATH.reason, DEATH.link)
    ]


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ({"reason": ""}, "has no reason; "),
        ({"link": " "}, "has no link; "),
        ({"reason": "", "link": ""}, "has no reason and no link; "),
    ],
)
def test_a_finding_that_nobody_explained(missing: dict[str, str], words: str) -> None:
    bare = Finding(**{**DEATH.to_json(), **missing})
    with pytest.raises(ExpectError, match=f"known.toml: sidekiq default worker-death {words}"):
        check_explained(Path("known.toml"), [BEAT, bare])
    check_explained(Path("known.toml"), [BEAT, DEATH])


HEAD = 'format = 1\n[[finding]]\nsubject = "s"\nprofile = "p"\n'

SPOILED: dict[str, tuple[str, Sequence[str]]] = {
    "no TOML": ("[[", ["is not TOML"]),
    "another format": ("format = 2", ["does not say `format = 1`"]),
    "no format": (HEAD.partition("\n")[2], ["does not say `format = 1`"]),
    "a strange table": ("format = 1\n[finings]\n", ["has finings where only [[finding]] tables belong"]),
    "one table": ("format = 1\n[finding]\n", ["has a finding where only [[finding]] tables belong"]),
    "a number": ("format = 1\nfinding = [1]\n", ["a finding is a table, not 1"]),
    "no scenario": (HEAD, ["s p ? lacks scenario"]),
    "a strange key": (HEAD + 'scenario = "x"\nresaon = "y"', ["s p x has the unknown key 'resaon'", "reason, link"]),
    "no list": (HEAD + 'scenario = "x"\nfault = "y"', ["s p x: fault is 'y'; it is a list of strings"]),
    "a list of numbers": (HEAD + 'scenario = "x"\nsham = [1]', ["s p x: sham is [1]; it is a list of strings"]),
    "no string": (HEAD + 'scenario = "x"\nlink = 1', ["s p x: link is 1; it is a string"]),
    "a cell twice": (
        (HEAD + 'scenario = "x"\n') + HEAD.partition("\n")[2] + 'scenario = "x"\n',
        ["two findings for s p x"],
    ),
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_record_that_is_spoiled(how: str, tmp_path: Path) -> None:
    text, words = SPOILED[how]
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(ExpectError) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))
    for word in words:
        assert word in str(caught.value)


def test_a_record_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        ExpectError, match=r"cannot read .*known.toml: No such file or directory; --write-expect makes it"
    ):
        load(tmp_path / "known.toml")
