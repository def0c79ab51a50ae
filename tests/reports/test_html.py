"""The page of HTML, without a browser: what is in it, that it is safe, and that it is always the same."""

from __future__ import annotations

import base64
import copy
import hashlib
import re
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest

from bench.history import dump
from reports.html import html, pack
from reports.html.links import followed, slug, subject_slugs
from tests.reports import results, validations
from tests.reports.pages import HOSTILE, Elements, evidence, history, hostile, hostile_history, raw
from tests.reports.results import Result
from tests.reports.samples import worker_death, worker_death_twin
from tests.reports.test_robust import spoil

RESULTS: dict[str, Callable[[], Result]] = {
    "proven": results.sound,
    "not proven": results.mixed,
    "a stranger alone": lambda: results.envelope([_alone()], "partial", 0) | {"given": "subjects/x"},
    "subjects": validations.mixed,
    "one subject": validations.clean,
    "many subjects": validations.many,
    "hostile": hostile,
    "no scenario": lambda: results.envelope([], "proven", 0),
}


def _alone() -> Result:
    """A scenario in which only the sound arms were run."""
    scenario = results.worker_death()
    return scenario | {"arms": scenario["arms"][:2], "status": "partial", "why": "2 of 6 arms were run"}


@pytest.fixture(scope="module")
def proven() -> str:
    return html(results.sound(), history)


@pytest.fixture(scope="module")
def subjects() -> str:
    return html(validations.mixed(), history)


def text(page: str) -> str:
    return " ".join(Elements(page).text.split())


# What is in it.


def test_the_head_says_what_was_run_and_how_it_came_out(proven: str) -> None:
    shown = text(proven)
    assert "queue_core in 6 scenarios" in shown
    assert "6 proven" in shown
    for word in ("2026-07-18 09:30:00 UTC", "18.6 (embedded)", "0.1.0", "leaseproof matrix"):
        assert word in shown


def test_a_scenario_has_a_line_for_each_of_its_twins(proven: str) -> None:
    labels = [link["aria-label"] for link in Elements(proven).of("a") if "aria-label" in link]
    assert labels[:6] == [
        "worker-death, sound, with the fault: pass",
        "worker-death, sound, sham: pass",
        "worker-death, twin ReclaimFindsNothing, with the fault: fails as it must, stranded",
        "worker-death, twin ReclaimFindsNothing, sham: pass",
        "worker-death, twin ClaimByLease, with the fault: fails as it must, claimed-while-running",
        "worker-death, twin ClaimByLease, sham: pass",
    ]


def test_a_cell_of_a_subject_says_all_in_its_label(subjects: str) -> None:
    labels = [link["aria-label"] for link in Elements(subjects).of("a") if "aria-label" in link]
    assert "worker-death, sidekiq default: fail, stranded, lost" in labels
    assert "worker-death, plain default: fail, double-execution, disturbed, even without the fault" in labels
    assert "claim-race, sidekiq tuned: unsupported" in labels
    assert "late-finish, rotten default: unproven here" in labels


def test_figures_lead_to_their_cells(subjects: str) -> None:
    figure = "back after 31.20 s: 30.00 s of lease, 1.20 s of reclaim"
    assert f'<a href="#worker-death/sidekiq-tuned">worker-death, sidekiq tuned</a></dt><dd>{figure}</dd>' in subjects


def test_what_needs_a_word_comes_first() -> None:
    shown = text(html(results.mixed(), history))
    assert "✗ unproven heartbeat NoRenewal passed with the fault: its check cannot fail" in shown
    assert "~ inconclusive sigterm-drain one arm has no verdict" in shown


@pytest.mark.parametrize("name", RESULTS)
def test_every_cell_leads_to_its_evidence(name: str) -> None:
    page = html(RESULTS[name](), history)
    told = evidence(page)
    inside = [link[1:] for link in Elements(page).links() if link.startswith("#")]
    for link in [*inside, *(link[1:] for text in told.values() for link in Elements(text).links() if link[0] == "#")]:
        assert link == "frame" or link in told or link.split("/")[0] in told, link
    for key, fragment in told.items():
        shown = [key for view in re.findall('data-keys="([^"]*)"', fragment) for key in view.split()]
        assert len(set(shown)) == len(shown)
        assert all(link in shown for link in inside if link.split("/")[0] == key and link not in told), key


def test_the_evidence_has_all_that_one_needs_to_believe_it(proven: str) -> None:
    fragment = evidence(proven)["worker-death"]
    shown = " ".join(Elements(fragment).text.split())
    for words in (
        "kill -9 of the owner in the middle of the job",
        "the worker is not killed",
        "the owner is dead, its lease is alive",
        "rival-1 looked and got 0 jobs",
        "ruled out: it predicts 1 job",
        "this cannot tell the two apart: both predict the same",
        "the only one left",
        '{"pid":4101,"wait status":-9}',
        "job 1 was not finished within 2.0 s of the reclaim",
        "recovered in 1.42 s",
        "It differs from the sound queue in one member, Queue.reclaim",
        "- return [row.id for row in rows] + return []",
        "leaseproof run worker-death --arms ReclaimFindsNothing-fault",
        "took 3.2 s; a lease of 1 s; longest stall 4 ms",
    ):
        assert words in shown, words
    assert "<s>a row lock holds the job</s>" in fragment
    assert fragment.count("<svg") == 4, "each twin beside the sound queue, with the fault and without"


def test_the_events_that_prove_an_anomaly_are_told_as_the_history_has_them(proven: str) -> None:
    shown = Elements(evidence(proven)["worker-death"])
    assert {"value": "12"} in shown.of("li")
    assert pack.line(worker_death_twin()[12]) in shown.text


def test_what_was_seen_many_times_is_told_once() -> None:
    result = results.sound()
    result["scenarios"][1]["arms"][2]["anomalies"] *= 18
    assert "double-execution double-execution was seen 18 times 2 events that prove it" in text(
        evidence(html(result, history))["heartbeat"]
    )


def test_a_stranger_is_shown_beside_its_sham_with_what_is_known_of_it() -> None:
    known = {"subject": "sidekiq", "profile": "default", "scenario": "worker-death", "fault": [], "sham": []}
    known |= {"sometimes": [], "reason": "it has no reclaim", "link": "https://example.org/1"}
    new = known | {"subject": "plain"}
    result = validations.mixed() | {"expected": {"file": "known.toml", "known": [known], "new": [new], "mended": []}}
    page = html(result, history)
    told = evidence(page)
    fragment = told["worker-death/sidekiq-default"]
    shown = " ".join(Elements(fragment).text.split())
    assert fragment.count("<svg") == 1
    assert "it declares reclaim automatic, an abandoned job back within 45 s, and does not keep it" in shown
    assert "Known: it has no reclaim (https://example.org/1)" in shown
    assert "leaseproof run worker-death --subject subjects/sidekiq --profile default --arms sound-sham" in shown
    assert {"#worker-death", "https://example.org/1", "https://example.org/sidekiq"} <= set(Elements(fragment).links())
    assert "New: the record of what is known does not have this." in text(told["worker-death/plain-default"])
    assert "✗ new plain default, worker-death" in text(page)


def test_why_there_is_no_verdict_is_said(subjects: str) -> None:
    told = evidence(subjects)
    assert "its describe does not offer hold" in told["claim-race/sidekiq-default"]
    assert "no such broker" in told["worker-death/rotten-default"]
    assert "sound-fault: the machine stalled" in told["heartbeat/sidekiq-tuned"]


def test_a_twin_of_another_scenario_is_tried_again_by_a_cross() -> None:
    result = results.sound()
    arm = copy.deepcopy(result["scenarios"][1]["arms"][2]) | {"expected": "pass", "verdict": "pass", "anomalies": []}
    result["scenarios"][0]["arms"].append(arm)
    told = evidence(html(result, history))["worker-death"]
    assert "leaseproof cross worker-death heartbeat --arms NoRenewal-fault" in told


# The raw histories.


def test_a_history_can_be_saved_as_its_file_has_it(proven: str) -> None:
    assert dump(worker_death()) in raw(proven).values()
    assert len(raw(proven)) == len([arm for scenario in results.sound()["scenarios"] for arm in scenario["arms"]])


def test_one_that_is_too_long_is_left_out_and_the_page_says_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack, "MOST", 100)
    page = html(results.sound(), history)
    assert not raw(page)
    shown = text(evidence(page)["worker-death"])
    assert "too long for this page. It is in the run's folder: worker-death/sound-fault.jsonl" in shown


def test_one_that_is_gone_leaves_the_rest() -> None:
    page = html(results.sound(), lambda arm: None)
    assert not raw(page)
    assert "The history was not found." in evidence(page)["worker-death"]


# One file that asks for nothing and is always the same.


@pytest.mark.parametrize("name", RESULTS)
def test_equal_runs_make_equal_pages(name: str) -> None:
    assert html(RESULTS[name](), history) == html(RESULTS[name](), history)


def test_the_browser_may_fetch_nothing_and_run_only_the_pages_own_script(proven: str) -> None:
    policy = next(meta["content"] for meta in Elements(proven).of("meta") if "http-equiv" in meta)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (source,) = re.findall(f"<{tag}>(.*?)</{tag}>", proven, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
        assert not re.search(r"https?:|url\(|@import|fetch\(|XMLHttp|import\(", source)
    assert not [a for _, a in Elements(proven).found if "src" in a]
    assert [link["href"][:5] for link in Elements(proven).of("link")] == ["data:"]
    for fragment in evidence(proven).values():
        assert not re.search(r"<style|<script|<link| style=", fragment), "the policy would keep it out"


# What a subject says.

PLACES = ("class", "data-x", "data-kind", "type", "id", "scope", "role")


def check_safe(page: str) -> None:
    shown = Elements(page)
    for tag, attributes in shown.found:
        assert tag not in ("img", "iframe", "object", "embed", "base", "form" if "data-cell" not in page else "")
        assert not [name for name in attributes if name.startswith("on")], attributes
        for name in ("href", "action", "formaction"):
            assert re.match(r"#|https?://|data:image/svg|$", attributes.get(name, "")), attributes
    ids = [attributes["id"] for _, attributes in shown.found if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[\w.-]+", id) for id in ids)
    assert {c for c in page if unicodedata.category(c) in ("Cc", "Cf", "Cs")} <= {"\n"}


@pytest.mark.parametrize("name", RESULTS)
def test_no_text_is_anything_but_text(name: str) -> None:
    page = html(RESULTS[name](), hostile_history)
    check_safe(page)
    assert len(Elements(page).of("script")) == 1 + len(evidence(page)) + len(raw(page))
    for fragment in evidence(page).values():
        check_safe(fragment)
        assert not Elements(fragment).of("script")


def test_a_hostile_name_is_shown_as_it_is() -> None:
    page = html(hostile(), hostile_history)
    told = evidence(page)
    assert Elements(page).text.count(HOSTILE) > 10
    (key,) = [key for key in told if "alert" in key and key.startswith("worker-death/")]
    assert re.fullmatch(r"[\w./-]+", key)
    assert Elements(told[key]).text.count(HOSTILE) > 10
    assert "javascript:alert(3)" in Elements(told[key]).text
    assert "javascript:alert(4)" in Elements(told[key]).text


@pytest.mark.parametrize("result", [results.mixed(), validations.mixed()], ids=["scenarios", "subjects"])
def test_whatever_text_may_be_is(result: Result) -> None:
    def same(value: Any) -> Any:
        """Hostile texts, all alike; but names that others lead to keep leading to them."""
        keep = ("event", "status", "verdict", "id", "kind", "name", "scenario", "twin", "code", "started")
        return spoil(value, keep)

    page = html(same(result), lambda arm: spoil(worker_death()))
    check_safe(page)
    for fragment in evidence(page).values():
        check_safe(fragment)


def test_a_link_is_followed_only_to_a_page() -> None:
    assert followed("https://example.org/a?b#c") == "https://example.org/a?b#c"
    for bad in ("javascript:alert(1)", " javascript:alert(1)", "data:text/html,x", "//example.org", "file:///etc", ""):
        assert followed(bad) == ""
    assert followed("http://[") == ""
    assert followed(None) == ""


def test_slugs_are_of_letters_and_differ() -> None:
    assert slug("pgmq tuned") == "pgmq-tuned"
    assert slug("") == slug("<>") == slug("..") == "x"
    assert len(slug("x" * 10_000)) == 80
    names = [{"name": name, "profile": "tuned"} for name in ("a b", "a-b", "a<b", "sound")]
    assert subject_slugs(names, ["sound-tuned"]) == ["a-b-tuned", "a-b-tuned-2", "a-b-tuned-3", "sound-tuned-2"]
