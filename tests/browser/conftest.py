"""One real Chromium for all tests of the page: Debian's, and the driver of the same version beside it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from tests.browser.page import PATIENCE, Page

PROGRAMS = ("chromium", "chromedriver")

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # it refuses to run as root with one, and a container has no room for it
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--no-first-run",
    "--force-prefers-reduced-motion",
    "--window-size=1280,900",
    "--lang=en",
)


@pytest.fixture(scope="session")
def driver() -> Iterator[Chrome]:
    """The browser; skipped where it is not installed, unless LEASEPROOF_TEST_SERVICES=1 says it must be.

    Both programs are named, so that selenium looks for none and downloads none. Its profile, and all that it leaves,
    are in a folder that goes with it; a process that is left fails the run.
    """
    found = {program: shutil.which(program) for program in PROGRAMS}
    missing = [program for program, path in found.items() if path is None]
    if missing:
        why = f"{' and '.join(missing)} not installed; get them by: apt-get install chromium chromium-driver"
        if os.environ.get("LEASEPROOF_TEST_SERVICES") == "1":
            pytest.fail(why)
        pytest.skip(why)
    with tempfile.TemporaryDirectory(prefix="leaseproof-chromium-") as folder:
        options = ChromeOptions()
        options.binary_location = str(found["chromium"])
        for argument in (*ARGUMENTS, f"--user-data-dir={folder}/profile"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        places = {"HOME": folder, "TMPDIR": folder, "XDG_CONFIG_HOME": folder, "XDG_CACHE_HOME": folder}
        service = Service(found["chromedriver"], env={**os.environ, **places})
        driver = Chrome(options=options, service=service)
        try:
            driver.set_page_load_timeout(PATIENCE)
            yield driver
        finally:
            driver.quit()
            gone(folder)


def gone(folder: str) -> None:
    """Wait for the browser's processes, which end a moment after it says that it has; none may be left."""
    mine = [
        process for process in psutil.process_iter(["cmdline"]) if folder in " ".join(process.info["cmdline"] or ())
    ]
    _, left = psutil.wait_procs(mine, PATIENCE)
    for process in left:
        process.kill()
    assert not left, f"{left} outlived the browser"


@pytest.fixture
def page(driver: Chrome, tmp_path: Path) -> Iterator[Page]:
    """A page of its own for a test, on a wide screen in light colours. Whatever the test does, it asks for nothing."""
    page = Page(driver, tmp_path / "page.html")
    page.emulate("setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
    page.emulate("setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    page.messages()
    page.asked()
    yield page
    assert page.messages() == []
    assert page.asked() == []
    if driver.current_url.startswith("file:"):
        page.js("localStorage.clear()")
