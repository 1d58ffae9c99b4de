"""What is counted, in whole numbers: charges, budgets of them, and how they are saved."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from privacy.accounting.amounts import (
    Charge,
    RenyiSpent,
    Saved,
    Spent,
    ZCDPSpent,
    atto_delta,
    load,
    nano_epsilon,
    save,
)
from privacy.accounting.basic import BudgetFilter, compose
from privacy.accounting.event import UNBOUNDED, Composed, PureDP
from privacy.accounting.renyi import RenyiAccountant
from tests.unit.privacy.refusals import refuses_calls, refuses_each


def test_epsilon_is_counted_in_decimals_and_rounded_up() -> None:
    for epsilon, nano in [
        (0.1, 100_000_000),
        (0.3, 300_000_000),
        (1, 10**9),
        (1e-9, 1),
        (1e-12, 1),
        (1.0000000001, 10**9 + 1),
        (0.0, 0),
    ]:
        assert nano_epsilon(epsilon) == nano


def test_delta_is_counted_in_decimals_and_rounded_up() -> None:
    for delta, atto in [(1e-7, 10**11), (1e-18, 1), (1e-30, 1), (0.0, 0), (1.0, 10**18)]:
        assert atto_delta(delta) == atto
    # refuses what is not an amount
    for count in (nano_epsilon, atto_delta, Charge.of, Charge.granted):
        refuses_each(count, [-1e-9, math.nan, math.inf, -math.inf])
    refuses_calls(atto_delta, (1.5,))  # no probability
    refuses_calls(Charge.granted, (1.0, 1.5))
    refuses_calls(Charge, (-1, 0), (0, -1))
    # reads back as floats
    assert (Charge.of(0.3, 1e-7).epsilon, Charge.of(0.3, 1e-7).delta) == (0.3, 1e-7)


@given(st.floats(0, 1e300))
def test_a_charge_covers_and_a_grant_does_not_exceed(epsilon: float) -> None:
    exact = Fraction(repr(epsilon)) * 10**9
    assert exact <= nano_epsilon(epsilon) < exact + 1
    assert exact - 1 < Charge.granted(epsilon).nano_epsilon <= exact


def test_ten_tenths_fit_exactly_and_nothing_more() -> None:
    budget, spent = BudgetFilter.of(1.0), Charge(0)
    for _ in range(10):
        assert budget.admits(spent, Charge.of(0.1))
        spent += Charge.of(0.1)
    assert budget.left(spent) == Charge(0)
    assert not budget.admits(spent, Charge.of(1e-12))


def test_delta_is_a_limit_of_its_own_and_nothing_is_left_of_a_lowered_grant() -> None:
    budget = BudgetFilter.of(10.0, 1e-7)
    assert budget.admits(Charge(0), Charge.of(1.0, 1e-7))
    assert not budget.admits(Charge(0), Charge.of(1.0, 1.1e-7))
    assert not BudgetFilter.of(10.0).admits(Charge(0), Charge.of(1.0, 1e-30))
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


def test_a_composition_is_the_exact_sum_of_its_events_rounded_once() -> None:
    assert compose(PureDP(0.1)) == Charge(100_000_000)
    assert compose(Composed((PureDP(1 / 3),) * 3)) == Charge(10**9)
    assert compose(Composed((PureDP(1e-10),) * 10)) == Charge(1)
    assert compose(Composed((PureDP(0.1), Composed((PureDP(0.2), Composed(())))))) == Charge.of(0.3)


whole = st.integers(0, UNBOUNDED)
spent = (
    st.builds(Charge, whole, whole)
    | st.builds(ZCDPSpent, whole, whole)
    | st.builds(
        lambda first, last, delta: RenyiSpent((first, last), delta, (1.25, float("inf"))), whole, whole, whole
    )
)


@given(spent)
def test_comes_back_whole_through_json(amount: Spent) -> None:
    assert load(json.loads(json.dumps(save(amount)))) == amount


def test_the_form_is_stable() -> None:
    """A ledger lives longer than this code: what version 1 wrote must be read for ever."""
    assert save(Charge(5, 7)) == {"version": 1, "currency": "basic", "nano_epsilon": 5, "atto_delta": 7}
    assert save(ZCDPSpent(5, 7)) == {"version": 1, "currency": "zcdp", "femto_rho": 5, "atto_delta": 7}
    assert save(RenyiSpent((5, 6), 7, (1.25, float("inf")))) == {
        "version": 1,
        "currency": "renyi",
        "orders": ["1.25", "inf"],
        "femto": [5, 6],
        "atto_delta": 7,
    }


def test_the_fixed_orders_are_spelled_exactly() -> None:
    amount = RenyiAccountant().charge(PureDP(0.3))
    assert load(json.loads(json.dumps(save(amount)))) == amount


GOOD: Saved = {"version": 1, "currency": "renyi", "orders": ["2.0", "3.0"], "femto": [5, 6], "atto_delta": 7}


def test_refuses_what_it_did_not_write() -> None:
    wrong: dict[str, list[Any]] = {
        "version": [2, None],
        "currency": ["cowries", "basic", "zcdp"],
        "atto_delta": [None, 7.0, True, -1],
        "femto": [[5], [5, -6], [5, "6"], "56"],
        "orders": [[2.0, 3.0], ["two", "3.0"], ["3.0", "2.0"], ["nan", "2.0"]],
    }
    refuses_each(load, [GOOD | {key: value} for key, values in wrong.items() for value in values])
