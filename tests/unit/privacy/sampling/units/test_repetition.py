from __future__ import annotations

import math

import pytest

from privacy.errors import InvalidParameter
from privacy.sampling.units.repetition import advanced_composition, repeated_budget


def test_advanced_composition_is_the_papers_formula() -> None:
    true = math.sqrt(2 * 100 * math.log(1e8)) * 0.01 + 100 * 0.01 * math.expm1(0.01)
    assert advanced_composition(0.01, 100, 1e-8) == pytest.approx(true, rel=1e-11)


@pytest.mark.parametrize("times", [1, 10, 10_000, 10**7])
@pytest.mark.parametrize("target", [0.1, 1.0, 50.0])
def test_the_budget_is_what_the_better_composition_allows(times: int, target: float) -> None:
    each = repeated_budget(target, times, 1e-8)
    basic = target / times
    assert each >= basic * (1 - 1e-11)
    if each > basic:
        assert advanced_composition(each, times, 1e-8) == pytest.approx(target, rel=1e-9)
        assert advanced_composition(each, times, 1e-8) <= target
    else:
        assert advanced_composition(basic, times, 1e-8) > target


def test_many_releases_gain_a_root() -> None:
    assert repeated_budget(1.0, 10**6, 1e-8) > 100 * 1e-6
    assert repeated_budget(1.0, 10**6, 0.0) == pytest.approx(1e-6)


@pytest.mark.parametrize(
    ("target", "times", "delta"), [(0.0, 1, 0.1), (1.0, 0, 0.1), (1.0, 1, 1.0), (1.0, 1, -0.1), (math.inf, 1, 0.1)]
)
def test_refuses_what_is_out_of_range(target: float, times: int, delta: float) -> None:
    with pytest.raises(InvalidParameter):
        repeated_budget(target, times, delta)
