"""The console's picture in README.md and docs/: a question and its chart, in Chromium before the demonstration."""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import expect
from rich.console import Console
from rich.progress import Progress

from server.demo.workplace import ROOT, add_analyst, new_data, prepare, proxy
from tests.support.chromium import chromium

PICTURE = Path(__file__).parents[2] / "docs" / "console.png"
_BUDGET = 10.0
_WIDTH, _HEIGHT = 1180, 1240
_ANSWER_MS = 120_000


def main() -> int:
    """Take the picture; returns the exit code."""
    console = Console()
    with Progress(console=console, transient=True) as progress:
        demonstration = prepare(ROOT / "demo", progress, console.print)
    try:
        key = add_analyst(demonstration, _BUDGET)
        new_data(demonstration)
        with proxy(demonstration, port=0) as address, chromium() as browser:
            page = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT}, color_scheme="light")
            page.set_default_timeout(_ANSWER_MS)
            page.goto(address)
            page.get_by_label("Your key").fill(key)
            page.get_by_role("button", name="Sign in").click()
            page.get_by_role("button", name="customer: by nation").click()
            page.get_by_role("button", name="Run", exact=True).click()
            expect(page.locator(".panel-chart svg[role=img]")).to_be_visible(timeout=_ANSWER_MS)
            page.wait_for_timeout(500)  # the chart comes in by a transition
            page.screenshot(path=PICTURE)
    finally:
        demonstration.server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
