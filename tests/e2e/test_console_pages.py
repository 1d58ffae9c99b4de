"""What the console's scripts make of a page: tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.e2e.test_charts import HISTOGRAM, drawn
from tests.support.chromium import chromium

pytestmark = pytest.mark.xdist_group("charts")

NOW = 1_800_000_000_000


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium() as running, drawn(running, HISTOGRAM) as opened:
        yield opened


def run(page: Page, module: str, expression: str, *arguments: Any) -> Any:
    """An expression over a module `m` and arguments `a`."""
    script = f"(a) => import('/console/{module}').then((m) => {expression})"
    return page.evaluate(script, list(arguments))


@pytest.mark.parametrize(
    ("keys", "covers", "shown"),
    [
        ([2021, 2022], "truth", ["2021", "2022"]),
        ([10115, 80331], "truth", ["10115", "80331"]),
        ([1960, None], "exact", ["1960", "NULL"]),
        ([1_500_000, 2], "exact", ["1,500,000", "2"]),
        ([1234, 56_789], "exact", ["1,234", "56,789"]),
    ],
)
def test_numbers_that_are_keys_have_no_separators(
    page: Page, keys: list[float | None], covers: str, shown: list[str]
) -> None:
    around = None if covers == "exact" else {"low": 1.0, "high": 2000.0}
    body = {
        "columns": [{"name": "key", "type": "int8"}, {"name": "n", "type": "int8"}],
        "rows": [[key, 1234] for key in keys],
        "intervals": [[None, around] for _ in keys],
        "covers": covers,
        "low_precision": [True] * len(keys),
        "clipped": [True, False],
    }
    script = "[...m.table(a[0]).querySelectorAll('tbody tr')].map((row) => [...row.children].map((c) => c.innerText))"
    rows = run(page, "answer/table.js", script, body)
    assert [row[0] for row in rows] == shown
    if covers != "exact":
        assert "1,234" in rows[0][1]
        assert ("○" in rows[0][1], "↑" in rows[0][1]) == (True, True), "low precision is not hidden by clipped"
        assert ("○" in rows[1][1], "↑" in rows[1][1]) == (True, False)


def test_totals_are_listed_by_who_spent_most_for_each_week_or_day(page: Page) -> None:
    script = """(() => {
      const table = document.body.appendChild(Object.assign(document.createElement("table"), { id: "weeks" }));
      const weeks = new m.Weeks();
      const at = { state: "committed", reserved_at_ms: a[1] };
      for (const [analyst, epsilon] of a[0]) weeks.add({ ...at, analyst, epsilon });
      weeks.add({ ...at, analyst: "bob", epsilon: 0.25, reserved_at_ms: a[1] + 86_400_000 });
      const found = ["week", "day"].map((period) => {
        weeks.draw(period);
        return [...table.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.innerText));
      });
      table.remove();
      return found;
    })()"""
    charges = [["ada", 1.0], ["zoe", 5.0], ["bob", 1.0], ["ada", 0.5]]
    monday = 1_780_272_000_000
    by_week, by_day = run(page, "admin/charges.js", script, charges, monday)
    assert by_week == [["zoe", "5", "5"], ["ada", "1.5", "1.5"], ["bob", "1.25", "1.25"]]
    assert by_day == [["zoe", "–", "5", "5"], ["ada", "–", "1.5", "1.5"], ["bob", "0.25", "1", "1.25"]]
