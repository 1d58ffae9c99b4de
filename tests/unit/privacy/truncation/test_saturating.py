import numpy as np
import pytest

from privacy.truncation.saturating import saturating_add
from privacy.units import MAX_UNITS

EDGES = [0, 1, 2**31, MAX_UNITS // 2, MAX_UNITS // 2 + 1, MAX_UNITS - 1, MAX_UNITS]


@pytest.mark.parametrize("left", EDGES)
@pytest.mark.parametrize("right", EDGES)
def test_sums_stop_at_the_end(left: int, right: int) -> None:
    assert saturating_add(np.array([left]), np.array([right])).tolist() == [min(MAX_UNITS, left + right)]
