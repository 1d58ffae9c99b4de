"""Debian's Chromium, for tests of pages, which are a suite of their own (`make test-browser`)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

SCREENSHOTS = Path(".noisegate") / "screenshots"
_PROGRAM = shutil.which("chromium")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser."""
    assert _PROGRAM is not None, "Chromium is not installed (Debian's package chromium)"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=_PROGRAM, args=["--no-sandbox"])
        yield running
        running.close()


def picture(page: Page, name: str) -> None:
    """Keep a screenshot of the whole page."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


def assert_accessible(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    places = [f"{each['id']}: {node['html']}: {node['failureSummary']}" for each in serious for node in each["nodes"]]
    assert not serious, "\n".join(places)  # what this module asserts is not rewritten
