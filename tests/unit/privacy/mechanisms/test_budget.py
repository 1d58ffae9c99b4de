from __future__ import annotations

from fractions import Fraction

import pytest

from privacy.accounting.approximate import approximate
from privacy.accounting.event import ZCDP, PureDP
from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget


def test_states_the_epsilon_that_an_accountant_states() -> None:
    budget = ConcentratedBudget.of(4.0, 1e-7)
    assert budget.epsilon == approximate(ZCDP(budget.rho), 1e-7).epsilon
    assert 4.0 - 1e-9 < budget.epsilon <= 4.0


def test_pure_privacy_has_no_delta() -> None:
    assert (PureBudget(0.5).epsilon, PureBudget(0.5).delta) == (0.5, 0.0)


def test_a_pure_budget_is_split_exactly() -> None:
    budget = PureBudget(0.3)
    assert (budget.selecting(0.2), budget.releasing(0.2)) == (Fraction(6, 100), Fraction(24, 100))
    assert (budget.event, budget.noise) == (PureDP(0.3), "laplace")


def test_a_concentrated_budget_is_never_exceeded_by_its_parts() -> None:
    budget = ConcentratedBudget(0.3, 1e-6)
    (rung,) = budget.rungs(Ladder(3, 3), 0.0, budget.releasing(0.2))
    spent = float(budget.selecting(0.2)) ** 2 / 8 + (rung.tau / rung.noise_scale) ** 2 / 2
    assert 0.3 * (1 - 1e-5) < spent <= 0.3
    assert (budget.event, budget.noise) == (ZCDP(0.3), "gaussian")


@pytest.mark.parametrize("budget", [PureBudget(0.7), ConcentratedBudget(0.3, 1e-6)])
def test_the_scale_is_that_of_a_release_of_sensitivity_one(budget: PureBudget | ConcentratedBudget) -> None:
    part = budget.releasing(0.5)
    (rung,) = budget.rungs(Ladder(0, 0), 0.0, part)
    assert rung.noise_scale == pytest.approx(budget.scale(part), rel=1e-9)


@pytest.mark.parametrize(("rho", "delta"), [(0.0, 0.1), (float("inf"), 0.1), (1.0, 0.0), (1.0, 1.0)])
def test_refuses_budgets_out_of_range(rho: float, delta: float) -> None:
    with pytest.raises(InvalidParameter):
        ConcentratedBudget(rho, delta)
    with pytest.raises(InvalidParameter):
        PureBudget(-1.0)
