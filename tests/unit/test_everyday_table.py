"""The table of everyday questions in docs/answers.md is that of the stored figures."""

from __future__ import annotations

from tests.benchmarks.everyday.table import MARKERS, PAGE, block, stored
from tests.release.readme import replaced


def test_the_page_says_what_was_measured() -> None:
    """Where this fails: python -m tests.benchmarks.everyday.table."""
    text = PAGE.read_text(encoding="utf-8")
    assert replaced(text, MARKERS, block(stored())) == text


def test_another_figure_is_another_table() -> None:
    document = stored()
    before = block(document)
    for row in document["rows"]:  # type: ignore[attr-defined]
        row["value"] = 3 * row["value"] + 1
    assert block(document) != before
