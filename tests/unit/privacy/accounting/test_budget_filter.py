from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from privacy.accounting.amounts import Charge
from privacy.accounting.basic import BudgetFilter


def test_ten_tenths_fit_exactly_and_nothing_more() -> None:
    budget, spent = BudgetFilter.of(1.0), Charge(0)
    for _ in range(10):
        assert budget.admits(spent, Charge.of(0.1))
        spent += Charge.of(0.1)
    assert budget.left(spent) == Charge(0)
    assert not budget.admits(spent, Charge.of(1e-12))


def test_delta_is_a_limit_of_its_own() -> None:
    budget = BudgetFilter.of(10.0, 1e-7)
    assert budget.admits(Charge(0), Charge.of(1.0, 1e-7))
    assert not budget.admits(Charge(0), Charge.of(1.0, 1.1e-7))
    assert not BudgetFilter.of(10.0).admits(Charge(0), Charge.of(1.0, 1e-30))


def test_nothing_is_left_of_a_lowered_grant() -> None:
    assert BudgetFilter.of(1.0, 1e-9).left(Charge.of(2.0, 1e-8)) == Charge(0)


@given(st.floats(0, 4), st.lists(st.tuples(st.floats(0, 2), st.sampled_from([0.0, 1e-9, 3e-8])), max_size=30))
def test_admitted_requests_never_add_up_to_more_than_the_budget(
    granted: float, requests: list[tuple[float, float]]
) -> None:
    budget, spent = BudgetFilter.of(granted, 1e-7), Charge(0)
    epsilon = delta = Fraction(0)
    for request in requests:
        if budget.admits(spent, Charge.of(*request)):
            spent += Charge.of(*request)
            epsilon += Fraction(repr(request[0]))
            delta += Fraction(repr(request[1]))
    assert epsilon <= Fraction(repr(granted))
    assert delta <= Fraction(1, 10**7)
    assert budget.left(spent) + spent == budget.granted
