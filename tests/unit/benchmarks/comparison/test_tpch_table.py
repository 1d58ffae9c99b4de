"""The tables of TPC-H: who has the smallest error, and what is published at another scale."""

from __future__ import annotations

import pytest

from tests.benchmarks.comparison.tpch_table import published, tpch
from tests.benchmarks.comparison.verdicts import cell_error, cells


def test_who_is_best_is_said_of_everybody() -> None:
    metrics = {
        ("TPC-H", "scale"): 0.1,
        ("TPC-H", "customers"): 15_000.0,
        ("Q1", "Noisegate: median error of a cell, median of 21"): 2.0,
        ("Q1", "OpenDP by hand: median error of a cell, median of 5"): 1.25,
        ("Q1", "OpenDP by quantile: median error of a cell, median of 3"): 5e9,
        ("Q6", "Noisegate: median error of a cell, median of 21"): 12.4,
    }
    text = tpch({"rows": [{"case": case, "metric": name, "value": value} for (case, name), value in metrics.items()]})
    assert "| Q1 | 2% | 1.2% | - | over 1,000% |" in text
    assert "| Q6 | 12% | - | - | - |" in text
    assert "* Noisegate has the smallest error for: Q6." in text
    assert "* OpenDP by hand has the smallest error for: Q1." in text
    assert "* OpenDP practitioner has the smallest error for: none." in text
    assert "* If nobody states a bound, Noisegate has the smaller error for: Q1, Q6." in text


def test_published_noise_grows_as_customers_get_fewer() -> None:
    headings, rows = published(3)
    standard = headings.index("`dp_standard`, computed for scale 3") - 2
    assert list(rows) == ["Q1", "Q5", "Q6", "Q14", "Q19"]
    for row in rows.values():
        stated, computed = row[standard : standard + 2]
        assert stated is not None and computed == pytest.approx(10 * stated)


def test_the_error_of_an_answer_is_that_of_its_median_cell() -> None:
    truth = cells([("A", "F", 10, 100), ("N", "O", 20, 200)], 2)
    assert truth == {"A F|0": 10.0, "A F|1": 100.0, "N O|0": 20.0, "N O|1": 200.0}
    assert cell_error({"A F|0": 11.0, "A F|1": 130.0, "N O|0": 20.0, "R F|0": 5.0}, truth) == pytest.approx(0.2)
    assert cell_error(cells([(None,)], 0), {"|0": 1.0}) == float("inf")
