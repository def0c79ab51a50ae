# ruff: noqa: RUF001 - Russian letters look like others, and are meant
"""The transcripts, in both languages; and the page and the check that go with them."""

from __future__ import annotations

import re
import string
from typing import Any

import pytest

from reports.artifacts_check import check_report
from reports.artifacts_page import code, page
from reports.captions import CAPTIONS, EXPLANATIONS, LANGUAGES, LINES, Both, Caption
from reports.compared import Beside, Change
from reports.facts import SHOWN, of_arm
from reports.transcript import transcript
from tests.reports.demonstrations import SOUND, broken, crowd, death, drained, unrenewed
from tests.reports.drawing import drawn

SIDES = {"sound": of_arm(death(), SOUND)}

ENGLISH = """\
worker-death: a worker dies in the middle of its job
kill -9 of the owner at 0.5 L; the job itself would go on for as long as it is let
L, the lease, is 6 s
made by `leaseproof artifacts`; times and versions are in about.json

=== sound: the queue as it is ===
--- 1. the owner is killed, its lease is alive: another worker looks ---
[dying] took id=1, attempt 1
kill -9: dying, wait status -9
[dying] died in id=1, attempt 1
[other-1] looked, jobs got: 0
id|state|leased_by|attempt
1|running|dying|1
ruled out: a row lock holds the job
--- 2. the lease has run out, nobody has reclaimed ---
[other-2] looked, jobs got: 0
id|state|locked
1|running|f
ruled out: a live lease holds the job
what is left: the state `running` holds the job
--- 3. the lease has run out, no lock is on the row: yet another worker looks ---
reclaim: jobs given back: 1, ids: [1]
id|state|leased_by|attempt
1|queued||1
--- 4. the reclaim ---
[other-3] took id=1, attempt 2
[other-3] finished id=1, attempt 2: accepted
id|state|attempt
1|done|2
executions of the job at the same moment: 1
outcome: it holds
"""

RUSSIAN = """\
heartbeat: задача, которая длится дольше аренды
задача длится 3 L, чужой возврат приходит на 2 L; варианты различаются только продлением
L, срок аренды, равен 2 с
создано командой `leaseproof artifacts`; время и версии записаны в about.json

=== NoRenewal (сломано): аренда не продлевается ===
--- 1. чужой возврат на 2 L ---
[owner] взял задачу id=1, попытка 1
задача идёт дольше срока аренды
возврат: в очередь вернулось задач: 1, id: [1]
id|state|leased_by|attempt
1|queued||1
--- 2. работа закончена ---
[rival] взял задачу id=1, попытка 2
[owner] завершил id=1, попытка 1: отказ, аренда потеряна
[rival] завершил id=1, попытка 2: принято
id|state|attempt
1|done|2
исполнений задачи одновременно: 2
итог: нарушение (double-execution)
"""


def test_in_english() -> None:
    assert transcript("worker-death", 6.0, SIDES, "en") == ENGLISH


def test_in_russian() -> None:
    sides = {"NoRenewal": of_arm(unrenewed(), broken("double-execution"))}
    assert transcript("heartbeat", 2.0, sides, "ru") == RUSSIAN


def test_a_drain_in_both() -> None:
    sides = {"sound": of_arm(drained(), SOUND)}
    english, russian = (transcript("sigterm-drain", 3.0, sides, language) for language in LANGUAGES)
    assert "SIGTERM: deploy, caught by its handler\n" in english
    assert "[deploy] exited with 0\n" in english
    assert "SIGTERM: deploy, сигнал принят обработчиком\n" in russian
    assert "[deploy] вышел с кодом 0\n" in russian


def test_a_crowd_in_both() -> None:
    sides = {"SelectThenUpdate": of_arm(crowd("claimer-1", "claimer-2"), broken("double-claim"))}
    english, russian = (transcript("claim-race", 1.0, sides, language) for language in LANGUAGES)
    assert "the row of id=1 is let go: claimers 4, waiting for it several\n" in english
    assert "[claimer-*] several took id=1\n" in english
    assert "строка id=1 отпущена: воркеров 4, из них ждали её несколько\n" in russian
    assert "[claimer-*] остальные завершили id=1: отказ, аренда потеряна\n" in russian
    assert "[claimer-*] один завершил id=1: принято\n" in russian


@pytest.mark.parametrize("name", SHOWN)
def test_every_scenario_and_side_has_its_words(name: str) -> None:
    assert {"sound", *CAPTIONS[name].broken} == {*SHOWN[name]}
    assert max(SHOWN[name].values()) <= len(CAPTIONS[name].observations)


def texts() -> list[Both]:
    found = [*LINES.values(), *EXPLANATIONS.values()]
    for caption in CAPTIONS.values():
        assert isinstance(caption, Caption)
        found += [caption.title, caption.about, *caption.broken.values(), *caption.observations]
    return found


@pytest.mark.parametrize("text", texts(), ids=lambda text: text.en)
def test_both_languages_say_the_same_of_the_same(text: Both) -> None:
    fields = [{name for _, name, _, _ in string.Formatter().parse(each) if name} for each in text]
    assert fields[0] == fields[1]
    assert re.findall(r"\d+(?:[./]\d+)? L", text.en) == re.findall(r"\d+(?:[./]\d+)? L", text.ru)
    assert text.en.isascii()
    assert text == LINES["other"] or re.search("[а-яё]", text.ru)
    assert not re.search("[«»\u2013\u2014\u2026]", text.ru)


HOSTILE = "<script>|`*_[x](y)\x1b[31m\u202e\n{0}{worker}" + "x" * 10_000


def hostile() -> list[dict[str, Any]]:
    named = [{k: HOSTILE if v == "owner" else v for k, v in event.items()} for event in unrenewed()]
    for event in named:
        if event["event"] == "observation":
            event |= {"columns": [HOSTILE, *event["columns"]], "rows": [[HOSTILE, *row] for row in event["rows"]]}
    return named


@pytest.mark.parametrize("language", LANGUAGES)
def test_whatever_a_queue_says_stays_on_its_line(language: str) -> None:
    facts = of_arm(hostile(), broken("double-execution"))
    text = transcript("heartbeat", 2.0, {"NoRenewal": facts}, language)
    plain = transcript("heartbeat", 2.0, {"NoRenewal": of_arm(unrenewed(), broken("double-execution"))}, language)
    assert text.count("\n") == plain.count("\n")
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert max(map(len, text.splitlines())) < 20_000


def test_steps_that_are_new_or_lack_something_are_told_all_the_same() -> None:
    steps: list[dict[str, Any]] = [{"step": "fault", "kind": "odd"}, {"step": "fault", "kind": "kill -9"}]
    steps.append({"step": "observed", "n": 9, "columns": "", "rows": []})
    text = transcript("heartbeat", 2.0, {"sound": {"steps": steps, "at_once": 1, "shown": "holds"}}, "en")
    assert "odd: ?\n" in text
    assert "kill -9: ?, wait status ?\n" in text
    assert "--- 9 ---\n" in text


# What goes with them.

ARTICLE: dict[str, Any] = {
    "made": "2026-07-18",
    "versions": {"PostgreSQL": "18.4"},
    "lines": {"own": 4, "of it the schema": 1, "of it failed attempts": 2, "on a library": 3, "library": "River"},
}
LINES_FOUND = {"own": {"schema": 5, "failed attempts": 6}, "own_total": 11, "libraries": {"chancy": 7}}
BESIDE = [
    Beside("heartbeat", "sound", "reclaimed", "0: []", "0: []", "same", "", "there"),
    Beside("heartbeat", "sound", "row", "1|done|1", "1|done", "known", "a column less", "there"),
    Beside("heartbeat", "sound", "work", "6 s", "3 L", "told", "the same", "there"),
    Beside("heartbeat", "NoRenewal", "got", "1", HOSTILE, "changed", "", "there"),
]


def test_the_page() -> None:
    text = page({"heartbeat": {}}, ARTICLE, BESIDE[:3], LINES_FOUND)
    assert "| heartbeat | a job that outlasts its lease | [heartbeat.en.txt](heartbeat.en.txt)" in text
    assert "| sound | there | row | `1\\|done\\|1` | `1\\|done` | differs: a column less |\n" in text
    assert "| sound | there | work | `6 s` | `3 L` | by the script: the same |\n" in text
    assert "2026-07-18, on PostgreSQL 18.4." in text
    assert "| **all** | **11** |" in text
    assert "5 of our 11 lines" in text
    assert "shorter than 7 lines" in text
    assert all(len(line) <= 120 for line in text.splitlines() if not line.startswith("|"))


def test_a_cell_is_one_cell() -> None:
    assert code("a|b`c\nd") == "`a\\|b'c d`"
    assert code("") == ""
    row = next(line for line in page({}, ARTICLE, BESIDE[3:], LINES_FOUND).splitlines() if "<script>" in line)
    assert len(re.findall(r"(?<!\\)\|", row)) == 7
    assert row.count("`") == 4


@pytest.mark.parametrize("width", [40, 70, 120])
def test_the_check_fits_its_width_and_tells_all(width: int) -> None:
    changed = [Change("heartbeat", "sound", "reclaimed", "0: []", None)]
    text = drawn(check_report(BESIDE, changed, ["4 facts"], width, False), width)
    words = " ".join(text.split())
    assert max(map(len, text.splitlines())) <= width
    for expected in ("a column less", "CHANGED", "recorded: 0: []", "now: (none)", "4 facts", "<script>"):
        assert expected in words
    assert "\x1b" not in text


def test_a_check_of_nothing_says_so() -> None:
    assert drawn(check_report([], [], ["0 facts"], 80, True), 80).strip() == "0 facts"
