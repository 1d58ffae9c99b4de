from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from privacy.accounting.event import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    Composed,
    DiscreteGaussian,
    PrivacyEvent,
    PureDP,
    RenyiCurve,
    leaves,
)
from privacy.errors import InvalidParameter


@pytest.mark.parametrize(
    "event_of",
    [
        PureDP,
        BoundedRange,
        ZCDP,
        lambda amount: ApproxDP(amount, 0.0),
        lambda amount: DiscreteGaussian(amount, 1.0),
        lambda amount: DiscreteGaussian(1.0, amount),
    ],
)
@pytest.mark.parametrize("amount", [0.0, -1.0, math.nan, math.inf])
def test_amounts_are_finite_and_positive(event_of: Callable[[float], PrivacyEvent], amount: float) -> None:
    with pytest.raises(InvalidParameter):
        event_of(amount)


@pytest.mark.parametrize("delta", [-1e-9, 1.1, math.nan])
def test_delta_is_a_probability(delta: float) -> None:
    with pytest.raises(InvalidParameter, match="probability"):
        ApproxDP(1.0, delta)


def test_noise_has_a_dimension() -> None:
    with pytest.raises(InvalidParameter, match="dimension"):
        DiscreteGaussian(1.0, 1.0, 0)


@pytest.mark.parametrize(
    ("orders", "divergences"),
    [
        ((), ()),
        ((2.0,), (0.1, 0.2)),
        ((1.0, 2.0), (0.1, 0.2)),
        ((3.0, 2.0), (0.1, 0.2)),
        ((2.0, 2.0), (0.1, 0.2)),
        ((math.nan,), (0.1,)),
        ((2.0,), (-0.1,)),
        ((2.0,), (math.nan,)),
    ],
)
def test_a_curve_is_a_curve(orders: tuple[float, ...], divergences: tuple[float, ...]) -> None:
    with pytest.raises(InvalidParameter):
        RenyiCurve(orders, divergences)


def test_a_curve_may_know_nothing_at_an_order() -> None:
    assert RenyiCurve((2.0, math.inf), (0.1, math.inf)).divergences[1] == math.inf


def test_compositions_are_walked_in_order() -> None:
    event = Composed((PureDP(1.0), Composed((PureDP(2.0), Composed(()))), PureDP(3.0)))
    assert list(leaves(event)) == [PureDP(1.0), PureDP(2.0), PureDP(3.0)]
