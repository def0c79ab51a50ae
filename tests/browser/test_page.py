"""The page of HTML in a real Chromium: cells, links, filter, keys, themes, small screens, hostile names, many cells."""

from __future__ import annotations

import json
import time
from functools import cache

import pytest
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver import Keys

from reports.html import html
from tests.browser.page import Page
from tests.reports import results, validations
from tests.reports.pages import HOSTILE, history, hostile, hostile_history
from tests.reports.results import Result, pair
from tests.reports.samples import worker_death
from tests.reports.validations import cell, subject, validation

USABLE = 20.0
"""Seconds in which a large page must have opened, and a filter must have done its work, on any machine."""


@cache
def proven() -> str:
    return html(results.sound(), history)


@cache
def subjects() -> str:
    return html(validations.mixed(), history)


def cell_of(label: str) -> str:
    return f'#matrix a[aria-label="{label}"]'


DEATH = "worker-death, twin ReclaimFindsNothing, with the fault: fails as it must, stranded"
SIDEKIQ = "worker-death, sidekiq default: fail, stranded, lost"


# Cells and links.


def test_a_cell_opens_its_evidence(page: Page) -> None:
    page.write(proven()).open()
    page.one(cell_of(DEATH)).click()
    shown = page.until_shown("worker-death")
    assert page.hash == "#worker-death/ReclaimFindsNothing-fault"
    assert [arm.get_attribute("data-arm") for arm in page.shown(".arm")] == ["sound-fault", "ReclaimFindsNothing-fault"]
    (picture,) = page.shown("#told svg")
    assert picture.size["height"] > 100
    for words in ("the owner is dead, its lease is alive", "Queue.reclaim", "return []", '"wait status":-9'):
        assert words in shown.text
    assert "worker-death" in page.driver.title


def test_another_pair_of_arms_is_chosen_in_it(page: Page) -> None:
    page.write(proven()).open("#worker-death")
    page.until_shown("worker-death")
    page.one('.chooser a[href="#worker-death/ClaimByLease-sham"]').click()
    page.until(lambda: page.shown('.arm[data-arm="ClaimByLease-sham"]'), "the twin's sham")
    assert [arm.get_attribute("data-arm") for arm in page.shown(".arm")] == ["sound-sham", "ClaimByLease-sham"]
    assert [link.text for link in page.all('.chooser [aria-current="true"]')] == ["✓ pass", "✓ pass"]
    assert len(page.shown("#told svg")) == 1


def test_a_link_leads_to_a_cell_and_back_closes_it(page: Page) -> None:
    page.write(subjects()).open("#worker-death/sidekiq-default")
    shown = page.until_shown("sidekiq default")
    assert "stranded was seen" in shown.text
    page.one('#told a[href="#worker-death"]').click()
    page.until_shown("proven")
    page.driver.back()
    page.until_shown("sidekiq default")
    page.one("[data-close]").click()
    page.until_closed()
    assert page.hash == ""
    page.driver.back()
    page.until_shown("sidekiq default")


def test_back_closes_what_a_click_has_opened(page: Page) -> None:
    page.write(subjects()).open()
    page.one(cell_of(SIDEKIQ)).click()
    page.until_shown("sidekiq default")
    page.driver.back()
    page.until_closed()
    page.driver.forward()
    page.until_shown("sidekiq default")


def test_a_hash_of_nothing_opens_nothing(page: Page) -> None:
    page.write(subjects()).open('#no-such/"]cell?q=%E0%A4%A&show=&profile=none')
    assert not page.all("dialog[open]")
    page.write(subjects()).open('#worker-death/no-such"]cell')
    page.until_shown("worker-death")
    page.press(Keys.ESCAPE)
    page.until_closed()


def test_the_raw_history_is_saved_as_it_is(page: Page) -> None:
    page.write(proven()).open("#worker-death")
    page.until_shown("worker-death")
    page.js(
        "window.saved = null;"
        "URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return '#saved'; };"
        "HTMLAnchorElement.prototype.click = function () { window.named = this.download; };"
    )
    page.shown("[data-save]")[0].click()
    text = page.until(lambda: page.js("return window.saved"), "a history")
    assert [json.loads(line) for line in text.splitlines()] == worker_death()
    assert page.js("return window.named") == "worker-death-sound-fault.jsonl"


def test_a_command_is_copied(page: Page) -> None:
    page.write(proven()).open()
    page.js("navigator.clipboard.writeText = async (text) => { window.copied = text; };")
    page.one(".top [data-copy]").click()
    page.until(lambda: page.one(".top [data-copy]").text == "Copied", "a word that it was copied")
    assert page.js("return window.copied") == "leaseproof matrix"


# The filter.


def test_words_leave_the_rows_and_columns_that_have_them(page: Page) -> None:
    page.write(subjects()).open()
    assert page.count() == "4 of 4 scenarios"
    page.one("#words").send_keys("sidekiq STRANDED")
    page.until(lambda: page.count() == "1 of 4 scenarios, 1 of 4 columns", "one row")
    assert page.names() == ["worker-death"]
    assert len(page.shown("#matrix a.cell")) == 1
    page.until(lambda: page.hash == "#?q=sidekiq+STRANDED", "the filter in the address")
    page.press(Keys.ESCAPE)
    page.until(lambda: page.count() == "4 of 4 scenarios", "all rows")
    page.one("#words").send_keys("no such thing")
    page.until(lambda: page.shown("#nothing"), "a word that nothing is left")
    page.one("#clear").click()
    assert page.count() == "4 of 4 scenarios"


def test_chips_leave_a_verdict_and_a_profile(page: Page) -> None:
    page.write(subjects()).open()
    fails = page.one('[data-kind="fail"]')
    fails.click()
    assert fails.get_attribute("aria-pressed") == "true"
    assert page.count() == "1 of 4 scenarios, 2 of 4 columns"
    page.one('button[data-profile="tuned"]').click()
    assert page.count() == "0 of 4 scenarios, 0 of 4 columns"
    fails.click()
    assert page.count() == "4 of 4 scenarios, 1 of 4 columns"
    assert [head.text for head in page.shown("#matrix th.subject")] == ["sidekiq"]


def test_a_filter_is_in_the_address_and_a_cell_beside_it(page: Page) -> None:
    page.write(subjects()).open("#?q=plain&show=fail,error&profile=default")
    assert page.count() == "2 of 4 scenarios, 1 of 4 columns"
    assert page.one("#words").get_attribute("value") == "plain"
    page.shown("#matrix a.cell")[0].click()
    page.until_shown("plain default")
    page.press(Keys.ESCAPE)
    page.until_closed()
    assert page.hash == "#?q=plain&show=fail%2Cerror&profile=default"
    assert page.count() == "2 of 4 scenarios, 1 of 4 columns"


def test_scenarios_are_filtered_by_their_status(page: Page) -> None:
    page.write(html(results.mixed(), history)).open()
    page.one("#words").send_keys("unproven")
    page.until(lambda: page.names() == ["heartbeat", "claim-race"], "what is unproven")
    page.press(Keys.ESCAPE)
    page.one('[data-kind="fail"]').click()
    assert page.names() == ["heartbeat", "claim-race"]
    assert page.shown(cell_of("heartbeat, sound, with the fault: pass")), "what stands beside it is seen"


# Keys.


def test_cells_are_gone_through_by_keys(page: Page) -> None:
    page.write(subjects()).open()
    page.press("/")
    assert page.driver.switch_to.active_element == page.one("#words")
    page.js("document.querySelector('#matrix a[data-x]').focus()")
    page.press(Keys.ARROW_RIGHT)
    assert page.focus == SIDEKIQ
    page.press(Keys.ARROW_DOWN)
    assert page.focus == "heartbeat, sidekiq default: pass"
    page.press(Keys.END)
    assert page.focus == "heartbeat, plain default: error"
    page.press(Keys.HOME, Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_RIGHT, Keys.ARROW_LEFT, Keys.ARROW_RIGHT)
    assert page.focus == SIDEKIQ
    assert len(page.all('#matrix a[tabindex="0"]')) == 1
    page.press(Keys.ENTER)
    page.until_shown("worker-death")
    page.press("n")
    page.until_shown("sidekiq tuned")
    page.press("p", "p")
    page.until_shown("sidekiq default")
    page.press(Keys.ESCAPE)
    page.until_closed()
    page.until(lambda: page.focus == SIDEKIQ, "the focus where it was")


def test_arrows_go_over_what_is_filtered_out(page: Page) -> None:
    page.write(subjects()).open("#?show=fail,inconclusive")
    page.js("arguments[0].focus()", page.one(cell_of(SIDEKIQ)))
    page.press(Keys.ARROW_RIGHT)
    assert page.focus == "worker-death, plain default: fail, double-execution, disturbed, even without the fault"
    page.press(Keys.ARROW_DOWN)
    assert page.focus == "worker-death, plain default: fail, double-execution, disturbed, even without the fault"


def test_in_a_table_of_twins_left_of_a_twin_is_the_sound_queue(page: Page) -> None:
    page.write(proven()).open()
    page.js("arguments[0].focus()", page.one(cell_of("worker-death, twin ClaimByLease, sham: pass")))
    page.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert page.focus == "worker-death, sound, sham: pass"
    page.press(Keys.ARROW_DOWN)
    assert page.focus == "heartbeat, sound, sham: pass"


def test_the_keys_are_told(page: Page) -> None:
    page.write(subjects()).open()
    page.press("?")
    page.until(lambda: page.all("#keys[open]"), "the keys")
    page.press(Keys.ESCAPE)
    page.until(lambda: not page.all("#keys[open]"), "no keys")


# Screens.


def test_dark_and_light(page: Page) -> None:
    page.write(subjects()).open()

    def ground() -> int:
        colour = str(page.js("return getComputedStyle(document.documentElement).backgroundColor"))
        return sum(int(part) for part in colour.strip("rgb()").split(","))

    assert ground() > 700
    page.one("#theme").click()
    assert ground() < 100
    assert page.one("#theme").get_attribute("aria-pressed") == "true"
    page.open()
    assert ground() < 100, "it is kept"
    page.one("#theme").click()
    page.emulate("setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert ground() > 700, "the reader's word goes before the system's"
    page.js("localStorage.clear()")
    page.open()
    assert ground() < 100


@pytest.mark.parametrize("what", ["proven", "subjects", "hostile"])
def test_a_phone_scrolls_what_is_wide_and_not_the_page(page: Page, what: str) -> None:
    made = html(hostile(), hostile_history) if what == "hostile" else proven() if what == "proven" else subjects()
    page.emulate("setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=1, mobile=True)
    page.write(made).open()
    assert page.js("return [document.documentElement.scrollWidth, innerWidth]") == [360, 360]
    page.js("document.querySelector('#matrix a.cell').click()")
    page.until_shown("worker-death")
    assert page.js(
        "const box = document.querySelector('#evidence').getBoundingClientRect();"
        "return [box.x, box.y, box.width, box.height]"
    ) == [0, 0, 360, 740]
    assert page.js("const of = document.querySelector('#evidence'); return of.scrollWidth - of.clientWidth") == 0


def test_without_script_the_matrix_is_read(page: Page) -> None:
    page.emulate("setScriptExecutionDisabled", value=True)
    try:
        page.write(subjects()).open()
        assert len(page.shown("#matrix a.cell")) == 16
        assert "needs a browser that runs this page's script" in page.one("noscript").text
    finally:
        page.emulate("setScriptExecutionDisabled", value=False)


# What a subject says.


def test_a_hostile_name_is_text_and_runs_nothing(page: Page) -> None:
    page.write(html(hostile(), hostile_history)).open()
    assert page.one("#matrix th.subject").text == HOSTILE
    page.shown("#matrix a.fail")[0].click()
    shown = page.until_shown(HOSTILE)
    assert shown.text.count(HOSTILE) > 10
    for details in page.all("#told details"):
        page.js("arguments[0].open = true", details)
    assert not page.all("#told img")
    assert not page.all("#told a[href^=javascript]")
    with pytest.raises(NoAlertPresentException):
        page.driver.switch_to.alert.dismiss()
    page.press(Keys.ESCAPE)
    page.until_closed()
    page.one("#words").send_keys("onerror")
    page.until(lambda: page.count() == "1 of 4 scenarios, 1 of 3 columns", "its column")


# Many.


def large() -> Result:
    """Fifty subjects in fifty scenarios."""
    names = [f"scenario-{n}" for n in range(50)]
    result = validation(
        *(
            subject(
                f"queue-{n // 2}",
                "tuned" if n % 2 else "default",
                *(
                    cell(name, "fail", "stranded") if (n + i) % 7 == 0 else cell(name, "pass")
                    for i, name in enumerate(names)
                ),
            )
            for n in range(50)
        )
    )
    result["scenarios"] = [pair(name, f"Claim {name}.", 1, "NoX", "Queue.x", "stranded") for name in names]
    return result


def test_fifty_subjects_by_fifty_scenarios_are_still_quick(page: Page) -> None:
    page.write(
        html(large(), lambda arm: worker_death() if arm["history"].endswith("scenario-7/sound-fault.jsonl") else None)
    )
    began = time.monotonic()
    page.open()
    assert page.count() == "50 of 50 scenarios"
    assert len(page.all("#matrix a.cell")) == 2500
    opened = time.monotonic()
    page.one("#words").send_keys("queue-24 stranded")
    page.until(lambda: page.count() == "15 of 50 scenarios, 2 of 50 columns", "what is filtered")
    page.one('[data-kind="pass"]').click()
    assert page.count() == "0 of 50 scenarios, 0 of 50 columns"
    filtered = time.monotonic()
    page.open("#scenario-7/queue-3-tuned")
    page.until_shown("queue-3 tuned")
    told = time.monotonic()
    assert max(opened - began, filtered - opened, told - filtered) < USABLE
    assert page.js("return document.documentElement.scrollWidth <= innerWidth"), "the matrix scrolls, and not the page"
