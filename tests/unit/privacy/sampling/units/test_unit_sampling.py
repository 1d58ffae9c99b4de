from __future__ import annotations

import math

import pytest
from mpmath import mp, mpf

from privacy.errors import InvalidParameter
from privacy.sampling.units.unit_sampling import MOST, unit_sampled_budget, unit_sampled_loss
from tests.support.laplace_mixture import mixture_loss

CASES = [(epsilon, rate) for epsilon in (1e-6, 0.1, 1.0, 4.0, 50.0) for rate in (1e-9, 1e-3, 0.25, 0.999)]


@pytest.mark.parametrize(("epsilon", "rate"), CASES)
def test_the_loss_to_many_digits_and_rounded_up(epsilon: float, rate: float) -> None:
    with mp.workdps(60):
        true = mp.log1p(mpf(rate) * mp.expm1(mpf(epsilon)))
        assert 0 <= mpf(unit_sampled_loss(epsilon, rate)) / true - 1 < 1e-11


@pytest.mark.parametrize(("target", "rate"), CASES)
def test_a_budget_costs_its_target_and_no_more(target: float, rate: float) -> None:
    budget = unit_sampled_budget(target, rate)
    assert target <= budget
    assert target * (1 - 1e-9) <= unit_sampled_loss(budget, rate) <= target


def test_everybody_drawn_buys_nothing() -> None:
    assert unit_sampled_budget(1.0, 1.0) == 1.0
    assert unit_sampled_loss(1.0, 1.0) == 1.0


def test_a_budget_is_never_more_than_can_be_computed_with() -> None:
    assert unit_sampled_budget(500.0, 1e-300) == MOST


def test_a_unit_that_is_drawn_or_not_attains_it() -> None:
    """Nobody against one unit at the threshold."""
    epsilon, rate = 2.0, 0.25
    loss = mixture_loss([(0.75, 0.0), (0.25, 1.0)], [(1.0, 0.0)], 1 / epsilon)
    assert loss == pytest.approx(unit_sampled_loss(epsilon, rate), rel=1e-11)


@pytest.mark.parametrize(("epsilon", "rate"), [(0.0, 0.5), (math.nan, 0.5), (601.0, 0.5), (1.0, 0.0), (1.0, 1.1)])
def test_refuses_what_is_out_of_range(epsilon: float, rate: float) -> None:
    for function in (unit_sampled_loss, unit_sampled_budget):
        with pytest.raises(InvalidParameter):
            function(epsilon, rate)
