"""The accountants and filters that every rule of accounting is tested on, and random events."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from hypothesis import strategies as st

from privacy.accounting.basic import BasicAccountant, BudgetFilter
from privacy.accounting.event import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    Composed,
    DiscreteGaussian,
    PrivacyEvent,
    PureDP,
    RenyiCurve,
)
from privacy.accounting.renyi import RenyiAccountant, RenyiFilter
from privacy.accounting.zcdp import ZCDPAccountant, ZCDPFilter

ACCOUNTANTS: list[Any] = [BasicAccountant(), ZCDPAccountant(), RenyiAccountant(), RenyiAccountant((1.5, 8.0))]


@cache
def filters() -> list[Any]:
    """Of every currency, with and without delta."""
    with_delta = [of(2.0, 1e-6, 1e-7) for of in (ZCDPFilter.of, RenyiFilter.of)]
    shorter, without = RenyiFilter.of(2.0, 1e-6, 1e-7, (4.0, 16.0)), RenyiFilter.of(2.0, 0.0)
    return [BudgetFilter.of(2.0, 1e-6), BudgetFilter.of(2.0), *with_delta, shorter, without]


class Tarot(PrivacyEvent):
    """An event that nobody can compose."""


amounts = st.floats(-4, 0).map(lambda exponent: 10.0**exponent)

_basic = (
    st.builds(PureDP, amounts)
    | st.builds(ApproxDP, amounts, st.sampled_from([0.0, 1e-9, 3e-8]))
    | st.builds(BoundedRange, amounts)
)
_concentrated = (
    _basic | st.builds(ZCDP, amounts) | st.builds(lambda amount: DiscreteGaussian(1 / amount, 1.0), amounts)
)
_curves = st.builds(lambda rho: RenyiCurve((2.0, 9.0, math.inf), (2 * rho, 9 * rho, 30 * rho)), amounts)


def events(currency: str, leaves: int = 4) -> st.SearchStrategy[PrivacyEvent]:
    """Events that an accountant of a currency has a rule for, composed at most a few deep."""
    known: dict[str, st.SearchStrategy[PrivacyEvent]] = {
        "basic": _basic,
        "zcdp": _concentrated,
        "renyi": _concentrated | _curves,
    }
    return st.recursive(
        known[currency],
        lambda part: st.builds(lambda parts: Composed(tuple(parts)), st.lists(part, max_size=4)),
        max_leaves=leaves,
    )
