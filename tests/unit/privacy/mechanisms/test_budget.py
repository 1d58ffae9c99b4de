from __future__ import annotations

import pytest

from privacy.accounting.approximate import approximate
from privacy.accounting.event import ZCDP
from privacy.errors import InvalidParameter
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget


def test_states_the_epsilon_that_an_accountant_states() -> None:
    budget = ConcentratedBudget.of(4.0, 1e-7)
    assert budget.epsilon == approximate(ZCDP(budget.rho), 1e-7).epsilon
    assert 4.0 - 1e-9 < budget.epsilon <= 4.0


def test_pure_privacy_has_no_delta() -> None:
    assert (PureBudget(0.5).epsilon, PureBudget(0.5).delta) == (0.5, 0.0)


@pytest.mark.parametrize(("rho", "delta"), [(0.0, 0.1), (float("inf"), 0.1), (1.0, 0.0), (1.0, 1.0)])
def test_refuses_budgets_out_of_range(rho: float, delta: float) -> None:
    with pytest.raises(InvalidParameter):
        ConcentratedBudget(rho, delta)
    with pytest.raises(InvalidParameter):
        PureBudget(-1.0)
