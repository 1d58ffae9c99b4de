"""DP-S4S with Gaussian noise keeps its (epsilon, delta) from a shared sample and from fresh ones; mistakes are caught.

The Renyi divergence is an upper bound, and so is what is converted from it: there is room between what a run loses
and what is claimed, so the mistakes that are told from it are larger than under pure privacy.
"""

from __future__ import annotations

import pytest

from privacy.mechanisms.s4s_rdp import S4SRenyi
from tests.audit.s4s_values import values_bound
from tests.audit.tuple_samples import UnitAtTheBound

EPSILON, DELTA, TUPLES, RATE = 2.0, 0.01, 8, 0.2
UNIT = UnitAtTheBound(TUPLES, RATE)
CUTS = [0.0, 0.5, 1.0, 1.0]


def race(tuples: int = TUPLES, rate: float = RATE, epsilon: float = EPSILON, published: bool = False) -> S4SRenyi:
    return S4SRenyi(epsilon, DELTA, tuples, rate, published=published)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("published", [False, True])
def test_values_keep_the_claim(epsilon: float, published: bool) -> None:
    """As published with a sample for each threshold, which is what those budgets are for."""
    bound = values_bound(race(epsilon=epsilon, published=published), UNIT, CUTS, fresh=published)
    assert 0 < bound <= epsilon
