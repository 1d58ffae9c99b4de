"""Everyday questions: what the oracle of hindsight does, and that a question is planned, released and compared."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks.everyday import cells, measured
from tests.benchmarks.everyday.asking import Asking
from tests.benchmarks.everyday.oracle import Entries, average_of_best, best_average, best_sum
from tests.benchmarks.everyday.tables import TABLES


def _even(units: int, value: float) -> Entries:
    return Entries(np.arange(units), np.zeros(units, np.int64), np.full(units, value), 1)


def test_even_units_are_not_cut_and_err_by_the_median_of_the_noise() -> None:
    tau, error = best_sum(_even(10_000, 8.0), 1.0)
    assert tau == 8.0
    assert error == pytest.approx(8 * math.log(2), rel=0.15)


def test_a_unit_is_scaled_over_all_of_its_groups() -> None:
    entries = Entries(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([3.0, 1.0, 2.0]), 2)
    assert np.allclose(entries.scaled(2.0), [1.5, 0.5 + 2.0])
    assert np.allclose(entries.truth, [3.0, 3.0])


def test_a_pair_of_thresholds_is_no_worse_than_those_of_each_alone() -> None:
    sums, counts = _even(2_000, 32.0), _even(2_000, 8.0)
    _, pair = best_average(sums, counts, 0.5, 0.0, 10.0)
    assert 0 < pair <= average_of_best(sums, counts, 0.5, 0.0, 10.0) < 0.1


def test_every_question_of_a_small_table_is_asked(tmp_path: Path) -> None:
    """All but quantiles by many groups, which take a second each."""
    grades = next(table for table in TABLES if table.name == "grades")
    asking = Asking(replace(grades, n_people=300), tmp_path)
    for cell in cells(asking):
        if cell.epsilon == 1 and cell.grouping in ("plain", "5 groups", "buckets"):
            found = measured(cell, 1)
            assert [row.metric for row in found.rows if row.unit == "refused"] == []
            assert (found.over is None) == cell.is_rank
