from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy.accounting.amounts import Charge, RenyiSpent, ZCDPSpent
from privacy.accounting.event import PureDP
from privacy.accounting.orders import UNBOUNDED
from privacy.accounting.renyi import RenyiAccountant
from privacy.accounting.saved_spending import Saved, Spent, load, save
from privacy.errors import InvalidParameter

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


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"version": None},
        {"currency": "cowries"},
        {"atto_delta": None},
        {"atto_delta": 7.0},
        {"atto_delta": True},
        {"atto_delta": -1},
        {"femto": [5]},
        {"femto": [5, -6]},
        {"femto": [5, "6"]},
        {"femto": "56"},
        {"orders": [2.0, 3.0]},
        {"orders": ["two", "3.0"]},
        {"orders": ["3.0", "2.0"]},
        {"orders": ["nan", "2.0"]},
        {"currency": "basic"},
        {"currency": "zcdp"},
    ],
)
def test_refuses_what_it_did_not_write(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        load(GOOD | change)
