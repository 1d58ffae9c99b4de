from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from privacy.audit.coverage import coverage_upper_bound
from privacy.errors import InvalidParameter


@pytest.mark.parametrize(("hits", "runs"), [(0, 10), (7, 10), (9, 10), (18_900, 20_000)])
def test_is_where_so_few_hits_are_as_unlikely_as_stated(hits: int, runs: int) -> None:
    bound = coverage_upper_bound(hits, runs, 1e-3)
    assert binom.cdf(hits, runs, bound) == pytest.approx(1e-3)


def test_nothing_but_hits_refutes_nothing() -> None:
    assert coverage_upper_bound(10, 10, 1e-7) == 1.0


def test_fails_no_oftener_than_stated() -> None:
    hits = np.random.default_rng(3).binomial(200, 0.9, 2_000)
    too_low = sum(coverage_upper_bound(int(hit), 200, 0.05) < 0.9 for hit in hits)
    assert too_low <= 100 + 5.4 * math.sqrt(95)


def test_refuses_what_is_no_count_and_no_probability() -> None:
    for hits, runs, failure in ((3, 2, 0.1), (-1, 2, 0.1), (0, 0, 0.1), (1, 2, 0.0), (1, 2, 1.0), (1, 2, math.nan)):
        with pytest.raises(InvalidParameter):
            coverage_upper_bound(hits, runs, failure)
