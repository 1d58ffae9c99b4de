"""What holds for every filter."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from privacy.accounting.accountant import PrivacyFilter
from privacy.accounting.amounts import Charge
from privacy.accounting.basic import BudgetFilter
from privacy.accounting.event import ApproxDP, Composed, DiscreteGaussian, PrivacyEvent, PureDP, leaves
from privacy.accounting.filters import build_filter, largest_epsilon
from privacy.accounting.orders import ORDERS
from privacy.accounting.pld_report import PLDReport
from privacy.accounting.renyi import RenyiFilter
from privacy.accounting.zcdp import ZCDPFilter
from privacy.errors import InvalidParameter
from tests.unit.privacy.accounting.currencies import FILTERS, events
from tests.unit.privacy.accounting.precisely import converted, randomised_response

every = pytest.mark.parametrize("budget", FILTERS, ids=lambda budget: f"{type(budget).__name__}")


class Tarot(PrivacyEvent):
    """An event that nobody can compose."""


def spend(budget: Any, requests: list[PrivacyEvent]) -> tuple[Any, list[PrivacyEvent]]:
    """What is spent, and on what, when every request that fits is granted."""
    spent, granted = budget.accountant.nothing, []
    for request in requests:
        charge = budget.accountant.charge(request)
        if budget.admits(spent, charge):
            spent += charge
            granted.append(request)
    return spent, granted


@every
def test_is_a_filter_and_admits_nothing_for_nothing(budget: Any) -> None:
    assert isinstance(budget, PrivacyFilter)
    nothing = budget.accountant.nothing
    assert budget.admits(nothing, budget.accountant.charge(Composed(())))


@every
@settings(max_examples=25)
@given(st.data())
def test_never_admits_what_would_exceed_the_grant(budget: Any, data: st.DataObject) -> None:
    requests = data.draw(st.lists(events(budget.accountant.name, leaves=2), max_size=12))
    spent, granted = spend(budget, requests)
    assert budget.accountant.epsilon(spent, budget.granted.delta) <= budget.granted.epsilon
    for request in requests:
        charge = budget.accountant.charge(request)
        if not budget.admits(spent, charge):
            assert not budget.admits(spent + charge, budget.accountant.nothing)
    assert spend(budget, granted[::-1])[0] == spent


@pytest.mark.parametrize("budget", FILTERS[2:5], ids=lambda budget: type(budget).__name__)
@settings(max_examples=20)
@given(st.lists(st.tuples(st.floats(0.05, 1.0), st.sampled_from([0.0, 2e-8])), max_size=12))
def test_what_was_admitted_is_within_the_grant_at_fifty_digits(
    budget: Any, requests: list[tuple[float, float]]
) -> None:
    spent, granted = spend(budget, [ApproxDP(*request) for request in requests])
    pairs = [(leaf.epsilon, leaf.delta) for event in granted for leaf in leaves(event) if isinstance(leaf, ApproxDP)]
    delta = mpf(1) / 10**6 - sum((mpf(repr(own)) for _, own in pairs), mpf(0))
    exact = [mpf(repr(epsilon)) for epsilon, _ in pairs]
    by_order = [
        converted(order, sum((randomised_response(epsilon, order) for epsilon in exact), mpf(0)), delta)
        for order in ORDERS[:-1]
    ]
    assert min(sum(exact, mpf(0)), *by_order) <= mpf(2)
    assert spent.atto_delta == sum(Fraction(repr(own)) * 10**18 for _, own in pairs) <= 10**11


@every
@pytest.mark.parametrize("event", [Tarot(), Composed((PureDP(0.1), Tarot()))])
def test_an_unknown_event_is_refused_by_name(budget: Any, event: PrivacyEvent) -> None:
    with pytest.raises(InvalidParameter, match="Tarot"):
        budget.accountant.charge(event)


@every
@settings(max_examples=15)
@given(st.lists(st.floats(0.05, 0.7), max_size=4))
def test_the_largest_epsilon_fits_and_no_larger_one(budget: Any, requests: list[float]) -> None:
    spent, _ = spend(budget, [PureDP(epsilon) for epsilon in requests])
    largest = largest_epsilon(budget, spent, at_most=5.0)
    charge = budget.accountant.charge
    assert largest == 0.0 or budget.admits(spent, charge(PureDP(largest)))
    assert not budget.admits(spent, charge(PureDP(largest + 1.01e-9)))


@every
def test_a_request_that_fits_is_its_own_largest_epsilon(budget: Any) -> None:
    assert largest_epsilon(budget, budget.accountant.nothing, at_most=0.1) == 0.1


def test_the_largest_epsilon_of_another_kind_of_request() -> None:
    def gaussian(epsilon: float) -> PrivacyEvent:
        return DiscreteGaussian(1000.0, 1000.0 * epsilon)

    budget = ZCDPFilter.of(1.0, 1e-7)
    largest = largest_epsilon(budget, budget.accountant.nothing, gaussian)
    assert Fraction(repr(largest)) ** 2 / 2 <= Fraction(budget.limit, 10**15)
    assert (Fraction(repr(largest)) + Fraction(1, 10**9)) ** 2 / 2 > Fraction(budget.limit, 10**15)


def test_basic_says_exactly_what_is_left() -> None:
    budget = BudgetFilter.of(1.0)
    assert largest_epsilon(budget, Charge.of(0.7)) == 0.3
    assert largest_epsilon(budget, Charge.of(1.0)) == 0.0


@pytest.mark.parametrize("accounting", ["basic", "zcdp", "renyi"])
def test_is_built_by_name(accounting: str) -> None:
    built = build_filter(accounting, 1.0, 1e-7)
    assert built.accountant.name == accounting
    assert built.granted == Charge.granted(1.0, 1e-7)


def test_loss_distributions_are_no_filter() -> None:
    with pytest.raises(InvalidParameter, match="no filter"):
        build_filter("pld", 1.0, 1e-7)
    with pytest.raises(InvalidParameter, match="tarot"):
        build_filter("tarot", 1.0, 1e-7)
    assert not isinstance(PLDReport(PureDP(1.0)), PrivacyFilter)


def test_zcdp_needs_a_delta() -> None:
    for delta, kept in ((0.0, 0.0), (1e-7, 1e-7)):
        with pytest.raises(InvalidParameter, match="delta"):
            ZCDPFilter.of(1.0, delta, kept)
    for filter_of in (ZCDPFilter.of, RenyiFilter.of):
        with pytest.raises(InvalidParameter, match="part of the granted"):
            filter_of(1.0, 1e-7, 2e-7)


def test_what_is_kept_for_the_events_is_not_spent_twice() -> None:
    assert ZCDPFilter.of(1.0, 3e-7, 1e-7).limit == ZCDPFilter.of(1.0, 2e-7).limit
    assert RenyiFilter.of(1.0, 3e-7, 1e-7).limits == RenyiFilter.of(1.0, 2e-7).limits
    assert ZCDPFilter.of(1.0, 3e-7, 1e-7).event_delta == RenyiFilter.of(1.0, 3e-7, 1e-7).event_delta == 10**11


def test_renyi_without_delta_is_basic_composition() -> None:
    budget = RenyiFilter.of(1.0, 0.0)
    spent, granted = spend(budget, [PureDP(0.1)] * 11)
    assert len(granted) == 10
    assert spent.femto[-1] == 10**15


def test_renyi_refuses_amounts_at_other_orders() -> None:
    other = RenyiFilter.of(1.0, 1e-7, orders=(2.0, 4.0)).accountant
    assert not RenyiFilter.of(1.0, 1e-7).admits(other.nothing, other.nothing)


def test_many_small_requests_cost_less_than_their_sum() -> None:
    """50 requests of 0.1 fit into epsilon 4 at delta 1e-7, where their sum is 5."""
    for budget in (ZCDPFilter.of(4.0, 1e-7), RenyiFilter.of(4.0, 1e-7)):
        assert len(spend(budget, [PureDP(0.1)] * 100)[1]) >= 50
    assert len(spend(BudgetFilter.of(4.0, 1e-7), [PureDP(0.1)] * 100)[1]) == 40
