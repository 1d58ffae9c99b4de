from __future__ import annotations

import math

import pytest

from privacy.accounting.event import PureDP
from privacy.errors import InvalidParameter


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_epsilon_is_finite_and_positive(epsilon: float) -> None:
    with pytest.raises(InvalidParameter):
        PureDP(epsilon)
