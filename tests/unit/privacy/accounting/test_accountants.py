"""What holds for every accountant."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy.accounting.amounts import Charge, RenyiSpent, ZCDPSpent
from privacy.accounting.event import ZCDP, ApproxDP, Composed, DiscreteGaussian, PrivacyEvent, PureDP, RenyiCurve
from privacy.accounting.renyi import RenyiAccountant
from privacy.errors import InvalidParameter
from tests.unit.privacy.accounting.currencies import ACCOUNTANTS, events

every = pytest.mark.parametrize("accountant", ACCOUNTANTS, ids=lambda accountant: accountant.name)


class Tarot(PrivacyEvent):
    """An event that nobody can compose."""


def parts(amount: Any) -> list[int]:
    """The whole numbers of an amount."""
    if isinstance(amount, Charge):
        return [amount.nano_epsilon, amount.atto_delta]
    if isinstance(amount, ZCDPSpent):
        return [amount.femto_rho, amount.atto_delta]
    return [*amount.femto, amount.atto_delta]


@every
def test_empty_costs_nothing(accountant: Any) -> None:
    assert accountant.charge(Composed(())) == accountant.nothing
    assert accountant.epsilon(accountant.nothing, 0.0) == 0.0
    assert accountant.epsilon(accountant.nothing, 1e-6) == 0.0


@every
@settings(max_examples=30)
@given(st.data())
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


@every
@settings(max_examples=30)
@given(st.data())
def test_a_composition_costs_its_parts_but_for_grains(accountant: Any, data: st.DataObject) -> None:
    some = data.draw(st.lists(events(accountant.name), max_size=3))
    apart = parts(sum(map(accountant.charge, some), accountant.nothing))
    together = parts(accountant.charge(Composed(tuple(some))))
    for one, other in zip(together, apart, strict=True):
        assert one <= other <= one + len(some)


@every
@pytest.mark.parametrize("event", [Tarot(), Composed((PureDP(1.0), Composed((Tarot(),))))])
def test_an_unknown_event_is_refused_by_name(accountant: Any, event: PrivacyEvent) -> None:
    with pytest.raises(InvalidParameter, match="Tarot"):
        accountant.charge(event)


@every
def test_what_a_currency_cannot_count_is_refused_by_name(accountant: Any) -> None:
    refused: dict[str, list[PrivacyEvent]] = {
        "basic": [ZCDP(0.1), DiscreteGaussian(1.0, 1.0), RenyiCurve((2.0,), (0.1,))],
        "zcdp": [RenyiCurve((2.0,), (0.1,))],
        "renyi": [],
    }
    for event in refused[accountant.name]:
        with pytest.raises(InvalidParameter, match=type(event).__name__):
            accountant.charge(event)


@every
def test_the_releases_own_deltas_come_first(accountant: Any) -> None:
    spent = accountant.charge(ApproxDP(0.1, 1e-7))
    assert accountant.epsilon(spent, 0.9e-7) == math.inf
    assert accountant.epsilon(spent, 2e-7) < 2


def test_infinite_order_is_basic_composition() -> None:
    accountant = RenyiAccountant()
    assert accountant.charge(Composed((PureDP(0.1),) * 3)).femto[-1] == 3 * 10**14
    assert accountant.epsilon(accountant.charge(PureDP(0.1)), 0.0) == 0.1


@pytest.mark.parametrize("orders", [(), (1.0, 2.0), (3.0, 2.0), (2.0, 2.0), (math.nan,)])
def test_orders_rise_from_above_one(orders: tuple[float, ...]) -> None:
    with pytest.raises(InvalidParameter):
        RenyiAccountant(orders)


def test_amounts_are_of_one_shape() -> None:
    for femto, delta in (((1,), 0), ((1, -1), 0), ((1, 1), -1)):
        with pytest.raises(InvalidParameter):
            RenyiSpent(femto, delta, (2.0, 3.0))
    for rho, delta in ((-1, 0), (0, -1)):
        with pytest.raises(InvalidParameter):
            ZCDPSpent(rho, delta)
    with pytest.raises(InvalidParameter, match="same orders"):
        RenyiSpent((1,), 0, (2.0,)) + RenyiSpent((1,), 0, (3.0,))
