"""The errors in privacy/papers/README.md are those of the stored figures."""

from __future__ import annotations

from tests.benchmarks.published.errors_table import BENCHMARKS, MARKERS, README, block, stored
from tests.release.readme import replaced


def test_the_readme_says_what_was_measured() -> None:
    """Where this fails: python -m tests.benchmarks.published.errors_table."""
    text = README.read_text(encoding="utf-8")
    assert replaced(text, MARKERS, block(stored())) == text


def test_another_figure_is_another_block() -> None:
    for name in BENCHMARKS:
        documents = stored()
        before = block(documents)
        for row in documents[name]["rows"]:  # type: ignore[attr-defined]
            row["value"] = 3 * row["value"] + 1
        assert block(documents) != before, name
