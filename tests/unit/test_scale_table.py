"""The figures of scale in docs/engines.md are those that were stored, and what is extrapolated follows from them."""

from __future__ import annotations

import json

from tests.benchmarks.engines.scale_table import MARKERS, PAGE, RESULTS, block
from tests.release.readme import replaced


def test_the_page_says_what_was_measured() -> None:
    """Where this fails: python -m tests.benchmarks.engines.scale_table."""
    text = PAGE.read_text(encoding="utf-8")
    assert replaced(text, MARKERS, block(json.loads(RESULTS.read_text()))) == text


def test_a_billion_rows_are_on_the_line_through_what_was_measured() -> None:
    figures = {
        "rows of lineitem": (1e6, 11e6),
        "plain aggregate": (1.0, 2.0),
        "proxy": (1.0, 7.0),
        "proxy, of the plain aggregate": (1.0, 3.5),
        "proxy, of the plain aggregate, in processor time": (1.0, 3.0),
        "worker at its peak": (200.0, 300.0),
        "proxy's main process takes on": (0.0, 0.0),
        "engine's buffers in the worker": (100.0, 190.0),
    }
    rows = [
        {"case": f"Parquet, scale {scale}: revenue", "metric": metric, "value": values[place]}
        for place, scale in enumerate((1, 10))
        for metric, values in figures.items()
    ]
    shown = block({"parts": {"one": {"commit": "abc", "machine": "here"}}, "rows": rows})
    assert "| Parquet | revenue | 11 | 2.00 | 7.00 | 3.50 | 3.00 | 110 |" in shown
    assert "| Parquet | revenue | 0.10 | 0.60 | 1.00 | 2 | 10 | 1.1 |" in shown  # 100.9 s, 600.4 s, 1,099 MB
    assert "**extrapolated**, not\nmeasured" in shown
