"""What holds for every accountant and every filter."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from privacy.accounting.amounts import Charge, RenyiSpent, ZCDPSpent
from privacy.accounting.basic import BudgetFilter
from privacy.accounting.event import (
    ORDERS,
    ZCDP,
    ApproxDP,
    Composed,
    DiscreteGaussian,
    PrivacyEvent,
    PureDP,
    RenyiCurve,
    leaves,
)
from privacy.accounting.filters import PrivacyFilter, build_filter, largest_epsilon
from privacy.accounting.renyi import RenyiAccountant, RenyiFilter
from privacy.accounting.zcdp import ZCDPFilter
from privacy.errors import InvalidParameter
from tests.support.seeds import examples
from tests.unit.privacy.accounting.currencies import ACCOUNTANTS, Tarot, events, filters
from tests.unit.privacy.accounting.pld_report import PLDReport
from tests.unit.privacy.accounting.precisely import converted, randomised_response
from tests.unit.privacy.refusals import refuses_calls, refuses_each

accountants = st.sampled_from(ACCOUNTANTS)


def parts(amount: Any) -> list[int]:
    """The whole numbers of an amount."""
    if isinstance(amount, Charge):
        return [amount.nano_epsilon, amount.atto_delta]
    if isinstance(amount, ZCDPSpent):
        return [amount.femto_rho, amount.atto_delta]
    return [*amount.femto, amount.atto_delta]


def test_empty_costs_nothing_and_the_releases_own_deltas_come_first() -> None:
    for accountant in ACCOUNTANTS:
        spent = accountant.charge(ApproxDP(0.1, 1e-7))
        assert accountant.epsilon(spent, 0.9e-7) == math.inf
        assert accountant.epsilon(spent, 2e-7) < 2
        assert accountant.charge(Composed(())) == accountant.nothing
        assert accountant.epsilon(accountant.nothing, 0.0) == accountant.epsilon(accountant.nothing, 1e-6) == 0.0


@settings(max_examples=examples(40, 120))
@given(accountants, st.data())
def test_amounts_grow_and_order_is_free(accountant: Any, data: st.DataObject) -> None:
    some = data.draw(st.lists(events(accountant.name), max_size=3))
    shuffled = data.draw(st.permutations(some))
    more = data.draw(events(accountant.name))
    forwards, backwards = (sum(map(accountant.charge, order), accountant.nothing) for order in (some, shuffled))
    assert forwards == backwards
    grown = forwards + accountant.charge(more)
    assert all(before <= after for before, after in zip(parts(forwards), parts(grown), strict=True))
    for delta in (0.0, 1e-7, 1e-3):
        assert accountant.epsilon(forwards, delta) <= accountant.epsilon(grown, delta)
    assert accountant.epsilon(grown, 1e-3) <= accountant.epsilon(grown, 1e-7) <= accountant.epsilon(grown, 0.0)


@settings(max_examples=examples(40, 120))
@given(accountants, st.data())
def test_a_composition_costs_its_parts_but_for_grains(accountant: Any, data: st.DataObject) -> None:
    some = data.draw(st.lists(events(accountant.name), max_size=3))
    apart = parts(sum(map(accountant.charge, some), accountant.nothing))
    together = parts(accountant.charge(Composed(tuple(some))))
    for one, other in zip(together, apart, strict=True):
        assert one <= other <= one + len(some)


def test_what_a_currency_cannot_count_is_refused_by_name() -> None:
    curve, gaussian = RenyiCurve((2.0,), (0.1,)), DiscreteGaussian(1.0, 1.0)
    unknown: dict[str, list[PrivacyEvent]] = {"basic": [ZCDP(0.1), gaussian, curve], "zcdp": [curve], "renyi": []}
    for accountant in ACCOUNTANTS:
        for event in [Tarot(), *unknown[accountant.name]]:
            for composed in (event, Composed((PureDP(1.0), Composed((event,))))):
                with pytest.raises(InvalidParameter, match=type(event).__name__):
                    accountant.charge(composed)


def test_infinite_order_is_basic_composition() -> None:
    accountant = RenyiAccountant()
    assert accountant.charge(Composed((PureDP(0.1),) * 3)).femto[-1] == 3 * 10**14
    assert accountant.epsilon(accountant.charge(PureDP(0.1)), 0.0) == 0.1
    # orders rise from above one and amounts are of one shape
    refuses_each(RenyiAccountant, [(), (1.0, 2.0), (3.0, 2.0), (2.0, 2.0), (math.nan,)])
    orders = (2.0, 3.0)
    refuses_calls(RenyiSpent, ((1,), 0, orders), ((1, -1), 0, orders), ((1, 1), -1, orders))
    refuses_calls(ZCDPSpent, (-1, 0), (0, -1))
    with pytest.raises(InvalidParameter, match="same Renyi orders"):
        RenyiSpent((1,), 0, (2.0,)) + RenyiSpent((1,), 0, (3.0,))


budgets = st.deferred(lambda: st.sampled_from(filters()))


def spend(budget: Any, requests: list[PrivacyEvent]) -> tuple[Any, list[PrivacyEvent]]:
    """What is spent, and on what, when every request that fits is granted."""
    spent, granted = budget.accountant.nothing, []
    for request in requests:
        charge = budget.accountant.charge(request)
        if budget.admits(spent, charge):
            spent += charge
            granted.append(request)
    return spent, granted


def test_is_a_filter_and_admits_nothing_for_nothing() -> None:
    for budget in filters():
        assert isinstance(budget, PrivacyFilter)
        nothing, charge = budget.accountant.nothing, budget.accountant.charge
        assert budget.admits(nothing, charge(Composed(())))
        assert largest_epsilon(budget, nothing, at_most=0.1) == 0.1, "one that fits is its own largest"
        with pytest.raises(InvalidParameter, match="Tarot"):
            charge(Composed((PureDP(0.1), Tarot())))


@settings(max_examples=examples(50, 150))
@given(budgets, st.data())
def test_never_admits_what_would_exceed_the_grant(budget: Any, data: st.DataObject) -> None:
    requests = data.draw(st.lists(events(budget.accountant.name, leaves=2), max_size=12))
    spent, granted = spend(budget, requests)
    assert budget.accountant.epsilon(spent, budget.granted.delta) <= budget.granted.epsilon
    for request in requests:
        charge = budget.accountant.charge(request)
        if not budget.admits(spent, charge):
            assert not budget.admits(spent + charge, budget.accountant.nothing)
    assert spend(budget, granted[::-1])[0] == spent


@settings(max_examples=examples(20, 60))
@given(
    st.integers(2, 4),
    st.lists(st.tuples(st.floats(0.05, 1.0), st.sampled_from([0.0, 2e-8])), min_size=3, max_size=12),
)
def test_what_was_admitted_is_within_the_grant_at_fifty_digits(
    which: int, requests: list[tuple[float, float]]
) -> None:
    budget = filters()[which]
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


@settings(max_examples=examples(40, 90))
@given(budgets, st.lists(st.floats(0.05, 0.7), max_size=4))
def test_the_largest_epsilon_fits_and_no_larger_one(budget: Any, requests: list[float]) -> None:
    spent, _ = spend(budget, [PureDP(epsilon) for epsilon in requests])
    largest = largest_epsilon(budget, spent, at_most=5.0)
    charge = budget.accountant.charge
    assert largest == 0.0 or budget.admits(spent, charge(PureDP(largest)))
    assert not budget.admits(spent, charge(PureDP(largest + 1.01e-9)))


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
    # is built by name
    for accounting in ["basic", "zcdp", "renyi"]:
        built = build_filter(accounting, 1.0, 1e-7)
        assert built.accountant.name == accounting
        assert built.granted == Charge.granted(1.0, 1e-7), accounting
    # loss distributions are no filter
    with pytest.raises(InvalidParameter, match="only report"):
        build_filter("pld", 1.0, 1e-7)
    with pytest.raises(InvalidParameter, match="tarot"):
        build_filter("tarot", 1.0, 1e-7)
    assert not isinstance(PLDReport(PureDP(1.0)), PrivacyFilter)


def test_zcdp_needs_a_delta() -> None:
    for delta, kept in ((0.0, 0.0), (1e-7, 1e-7)):
        with pytest.raises(InvalidParameter, match="delta"):
            ZCDPFilter.of(1.0, delta, kept)
    for filter_of in (ZCDPFilter.of, RenyiFilter.of):
        with pytest.raises(InvalidParameter, match="more than the granted"):
            filter_of(1.0, 1e-7, 2e-7)


def test_what_is_kept_for_the_events_is_not_spent_twice() -> None:
    assert ZCDPFilter.of(1.0, 3e-7, 1e-7).limit == ZCDPFilter.of(1.0, 2e-7).limit
    assert RenyiFilter.of(1.0, 3e-7, 1e-7).limits == RenyiFilter.of(1.0, 2e-7).limits
    assert ZCDPFilter.of(1.0, 3e-7, 1e-7).event_delta == RenyiFilter.of(1.0, 3e-7, 1e-7).event_delta == 10**11
    # renyi without delta is basic composition
    budget = RenyiFilter.of(1.0, 0.0)
    spent, granted = spend(budget, [PureDP(0.1)] * 11)
    assert len(granted) == 10
    assert spent.femto[-1] == 10**15
    # renyi refuses amounts at other orders
    other = RenyiFilter.of(1.0, 1e-7, orders=(2.0, 4.0)).accountant
    assert not RenyiFilter.of(1.0, 1e-7).admits(other.nothing, other.nothing)


def test_many_small_requests_cost_less_than_their_sum() -> None:
    """50 requests of 0.1 fit into epsilon 4 at delta 1e-7, where their sum is 5."""
    for budget in (ZCDPFilter.of(4.0, 1e-7), RenyiFilter.of(4.0, 1e-7)):
        assert len(spend(budget, [PureDP(0.1)] * 100)[1]) >= 50
    assert len(spend(BudgetFilter.of(4.0, 1e-7), [PureDP(0.1)] * 100)[1]) == 40
