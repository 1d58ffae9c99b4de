from __future__ import annotations

import itertools

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.groups.sums import allocate

PURE, CONCENTRATED = PureBudget(2.0), ConcentratedBudget(0.5, 1e-6)


def test_one_release_has_everything() -> None:
    assert allocate(PURE, [7.0]) == (PURE,)
    assert allocate(CONCENTRATED, [7.0]) == (CONCENTRATED,)


def test_equal_needs_have_equal_shares_that_never_exceed_the_whole() -> None:
    pure, concentrated = allocate(PURE, [3.0] * 7), allocate(CONCENTRATED, [3.0] * 7)
    assert len({share.epsilon for share in pure}) == 1
    assert 2.0 * (1 - 1e-9) < sum(share.epsilon for share in pure) <= 2.0
    rhos = [share.rho for share in concentrated if isinstance(share, ConcentratedBudget)]
    assert 0.5 * (1 - 1e-9) < sum(rhos) <= 0.5
    assert {share.delta for share in concentrated} == {1e-6}


@pytest.mark.parametrize("budget", [PURE, CONCENTRATED])
def test_no_other_division_has_a_smaller_sum_of_squares(budget: PureBudget | ConcentratedBudget) -> None:
    needs = np.array([1.0, 8.0, 3.0])
    shares = allocate(budget, needs.tolist())
    parts = np.array([one.rho if isinstance(one, ConcentratedBudget) else one.epsilon for one in shares])
    power = 1 if isinstance(budget, ConcentratedBudget) else 2

    def squares(division: np.ndarray) -> float:
        return float((needs**2 / division**power).sum())

    for i, j in itertools.permutations(range(3), 2):
        other = parts.copy()
        other[i] *= 0.99
        other[j] += parts[i] * 0.01
        assert squares(other) > squares(parts)


@pytest.mark.parametrize("needs", [[], [0.0], [1.0, float("inf")], [-1.0]])
def test_refuses_needs_out_of_range(needs: list[float]) -> None:
    with pytest.raises(InvalidParameter):
        allocate(PURE, needs)
