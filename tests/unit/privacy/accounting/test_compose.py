from __future__ import annotations

import pytest

from privacy.accounting.amounts import Charge
from privacy.accounting.basic import compose
from privacy.accounting.event import Composed, PrivacyEvent, PureDP
from privacy.errors import InvalidParameter


class Tarot(PrivacyEvent):
    """An event that nobody can compose."""


def test_one_event_costs_what_it_says() -> None:
    assert compose(PureDP(0.1)) == Charge(100_000_000)


def test_epsilons_add_up_and_are_rounded_once() -> None:
    assert compose(Composed((PureDP(1 / 3),) * 3)) == Charge(10**9)
    assert compose(Composed((PureDP(1e-10),) * 10)) == Charge(1)


def test_nested_compositions_add_up_exactly() -> None:
    assert compose(Composed((PureDP(0.1), Composed((PureDP(0.2), Composed(())))))) == Charge.of(0.3)


@pytest.mark.parametrize("event", [Tarot(), Composed((PureDP(1.0), Tarot()))])
def test_refuses_an_unknown_event_by_name(event: PrivacyEvent) -> None:
    with pytest.raises(InvalidParameter, match="Tarot"):
        compose(event)
