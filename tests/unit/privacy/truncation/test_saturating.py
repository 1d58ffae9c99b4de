import numpy as np
import pytest

from privacy.truncation.saturating import saturating_add, saturating_multiples
from privacy.units import MAX_UNITS

EDGES = [0, 1, 2**31, MAX_UNITS // 2, MAX_UNITS // 2 + 1, MAX_UNITS - 1, MAX_UNITS]


@pytest.mark.parametrize("left", EDGES)
@pytest.mark.parametrize("right", EDGES)
def test_sums_and_multiples_stop_at_the_end(left: int, right: int) -> None:
    counts, tau = np.array([left]), max(right, 1)
    assert saturating_add(counts, np.array([right])).tolist() == [min(MAX_UNITS, left + right)]
    assert saturating_multiples(counts, tau).tolist() == [min(MAX_UNITS, left * tau)]
