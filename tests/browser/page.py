"""A page in a real Chromium, as its reader has it: its elements, its keys, its hash."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds: a bound for a loaded machine, not an expectation."""

SHOWN = "dialog[open]"


class Page:
    """A page of HTML that is open in the browser."""

    def __init__(self, driver: Chrome, path: Path) -> None:
        self.driver = driver
        self.path = path

    def write(self, html: str) -> Page:
        """Put a page at its path."""
        self.path.write_text(html, encoding="utf-8")
        return self

    def open(self, hash: str = "") -> Page:
        """Load it anew, at a hash."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.path.as_uri()}{hash}")
        return self

    def until(self, true: Callable[[], T], what: str) -> T:
        """Wait for what a page does a moment later."""
        return WebDriverWait(self.driver, PATIENCE, 0.02).until(lambda _: true(), what)

    def all(self, css: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def one(self, css: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def shown(self, css: str) -> list[WebElement]:
        """Those that can be seen."""
        return [element for element in self.all(css) if element.is_displayed()]

    def js(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    @property
    def hash(self) -> str:
        return str(self.js("return location.hash"))

    def until_shown(self, words: str) -> WebElement:
        """Wait until a cell is open that has these words in its heading, and return its evidence."""

        def found() -> WebElement | None:
            titles = self.all(f"#evidence{SHOWN.removeprefix('dialog')} #title")
            return self.one("#told") if titles and words in titles[0].text else None

        element = self.until(found, f"a cell that shows {words}")
        assert element
        return element

    def until_closed(self) -> None:
        self.until(lambda: not self.all(SHOWN), "no cell that is open")

    def press(self, *keys: str) -> None:
        """Keys, to whatever has the focus."""
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    @property
    def focus(self) -> str:
        """The label or the text of what has the focus."""
        element = self.driver.switch_to.active_element
        return str(element.get_attribute("aria-label") or element.text)

    def count(self) -> str:
        return self.one("#count").text

    def names(self) -> list[str]:
        """The scenarios that are shown."""
        return [element.text for element in self.shown("#matrix a.name")]

    def emulate(self, command: str, **parameters: Any) -> None:
        self.driver.execute_cdp_cmd(f"Emulation.{command}", parameters)

    def messages(self) -> Sequence[str]:
        """What the browser's console has said since it was asked last."""
        return [entry["message"] for entry in self._log("browser")]

    def asked(self) -> list[str]:
        """The addresses that were asked for since this was asked last, but for files and what is in the page itself."""
        events = [json.loads(entry["message"])["message"] for entry in self._log("performance")]
        urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith((self.path.as_uri(), "data:", "about:", "blob:"))]

    def _log(self, kind: str) -> list[dict[str, Any]]:
        return list(self.driver.get_log(kind))  # type: ignore[no-untyped-call]


__all__ = ["PATIENCE", "Keys", "Page"]
