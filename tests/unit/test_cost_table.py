"""The cost model in server/backends/README.md is that of the stored figures, and where an engine pays follows."""

from __future__ import annotations

import json
import math

import pytest

from tests.benchmarks.engines.cost_table import MARKERS, README, RESULTS, Line, block
from tests.release.readme import replaced


def test_the_readme_says_what_was_measured() -> None:
    """Where this fails: python -m tests.benchmarks.engines.cost_table."""
    text = README.read_text(encoding="utf-8")
    assert replaced(text, MARKERS, block(json.loads(RESULTS.read_text()))) == text


def test_another_figure_is_another_block() -> None:
    document = json.loads(RESULTS.read_text())
    before = block(document)
    for row in document["rows"]:
        if row["case"].endswith("two owners, by nation") and row["metric"] == "transfer":
            row["value"] += 1
    assert block(document) != before


def test_read_and_group_are_told_apart_where_they_were_measured() -> None:
    case = "PostgreSQL, scale 1: {} by nation"
    steps = {"rows of the largest table": 6e6, "database": 3.0, "transfer": 0.5, "encode": 0.25, "solve": 0.125}
    steps["of the database: read and joined"] = 1.0
    rows = [
        {"case": case.format(owners), "metric": metric, "value": value}
        for owners in ("one owner,", "two owners,")
        for metric, value in steps.items()
    ]
    shown = block({"parts": {"one": {"commit": "abc", "machine": "here"}}, "rows": rows})
    assert "| PostgreSQL | one owner, by nation | 6.0 million | 1.00 | 2.00 | 0.50 | 0.25 | 0.12 |" in shown


def test_an_engine_pays_from_where_the_lines_cross() -> None:
    cases: list[tuple[Line, Line, float]] = [
        (Line(1.0, 1e-6), Line(0.0, 2e-6), 1e6),
        (Line(0.0, 1e-6), Line(1.0, 2e-6), 0.0),
        (Line(0.0, 2e-6), Line(0.0, 1e-6), math.inf),
        (Line(2.0, 1e-6), Line(1.0, 1e-6), math.inf),
    ]
    for one, other, rows in cases:
        assert one.rows_until_below(other) == pytest.approx(rows), one


def test_a_line_passes_through_the_ends() -> None:
    line = Line.through([(4e6, 9.0), (1e6, 3.0), (2e6, 100.0)])
    assert (line.fixed_s, line.each_s) == pytest.approx((1.0, 2e-6))
    assert Line.through([(1e6, 1.0), (2e6, 3.0)]).fixed_s == 0.0
    assert Line.through([(2e6, 3.0)]) == Line(0.0, 1.5e-6)
