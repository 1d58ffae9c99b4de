from __future__ import annotations

import math

import pytest

from privacy.accounting.approximate import approximate
from privacy.accounting.event import ZCDP
from privacy.accounting.largest_rho import largest_rho
from privacy.errors import InvalidParameter


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 4.0, 80.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-7, 0.01])
def test_is_stated_as_no_more_than_it_was_bought_for_and_hardly_less(epsilon: float, delta: float) -> None:
    rho = largest_rho(epsilon, delta)
    assert approximate(ZCDP(rho), delta).epsilon <= epsilon
    assert approximate(ZCDP(rho * (1 + 1e-8)), delta).epsilon > epsilon * (1 - 1e-8)


def test_buys_more_than_the_simple_conversion() -> None:
    """rho + 2 sqrt(rho ln(1 / delta)) = 4 at delta 1e-7 has rho = 0.221 (Bun and Steinke 2016)."""
    log = math.log(1e7)
    simple = (math.sqrt(log + 4) - math.sqrt(log)) ** 2
    assert largest_rho(4.0, 1e-7) == pytest.approx(1.2 * simple, rel=0.02)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (1.0, 1.0), (0.0, 1e-6), (math.inf, 1e-6), (1e-9, 1e-18)])
def test_refuses_what_buys_nothing(epsilon: float, delta: float) -> None:
    with pytest.raises(InvalidParameter):
        largest_rho(epsilon, delta)
