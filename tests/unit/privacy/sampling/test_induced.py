"""That induced tuples are those of kept owners is a property test; here what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.sampling.induced import induced
from privacy.truncation.compact import compact
from privacy.units import ONE
from tests.unit.privacy.truncation.instances import from_sets


def test_units_are_numbered_anew() -> None:
    whole = compact(from_sets([(frozenset({1, 2}), ONE), (frozenset({2, 3}), 2 * ONE), (frozenset({3}), 3 * ONE)]))
    part = induced(whole, np.array([False, True, True]))
    assert part.n_units == 2
    assert part.units.tolist() == [0, 1, 1]
    assert part.indptr.tolist() == [0, 2, 3]
    assert part.weights.tolist() == [[2 * ONE, 3 * ONE]]


@pytest.mark.parametrize("kept", [np.ones(2, bool), np.ones(4, bool), np.ones(3, np.int64)])
def test_refuses_another_number_of_units(kept: np.ndarray) -> None:
    whole = compact(from_sets([(frozenset({1, 2, 3}), ONE)]))
    with pytest.raises(InvalidParameter):
        induced(whole, kept)
