import numpy as np
import pytest

from privacy.truncation.exact_sums import exact_sum, from_halves, saturating_add
from privacy.truncation.programs.certificate_kernels import add_products
from privacy.units import MAX_UNITS


def test_sums_beyond_int64_are_exact() -> None:
    values = np.array([2**63 - 1] * 1000 + [1, 2, 3], np.int64)
    assert exact_sum(values) == sum(values.tolist())


def test_products_beyond_int64_are_exact() -> None:
    random = np.random.default_rng(2)
    left = random.integers(0, 2**63 - 1, 1000)
    right = random.integers(0, 2**32, 1000)
    left[0], right[0] = 2**63 - 1, 2**32 - 1
    total = np.zeros(2, np.uint64)
    add_products(left, right, total)
    assert from_halves(total) == sum(a * b for a, b in zip(left.tolist(), right.tolist(), strict=True))


def test_nothing_sums_to_nothing() -> None:
    assert exact_sum(np.empty(0, np.int64)) == 0


EDGES = [0, 1, 2**31, MAX_UNITS // 2, MAX_UNITS // 2 + 1, MAX_UNITS - 1, MAX_UNITS]


@pytest.mark.parametrize("left", EDGES)
@pytest.mark.parametrize("right", EDGES)
def test_sums_stop_at_the_end(left: int, right: int) -> None:
    assert saturating_add(np.array([left]), np.array([right])).tolist() == [min(MAX_UNITS, left + right)]
