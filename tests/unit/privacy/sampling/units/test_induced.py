"""That induced tuples are those of kept owners is a property test; here what surrounds them."""

from __future__ import annotations

import numpy as np
import pytest

from privacy.errors import InvalidParameter
from privacy.sampling.units.induced import induced
from privacy.truncation.encode import encode
from privacy.units import ONE
from tests.unit.privacy.truncation.instances import from_sets


def test_the_numbers_of_owners_are_those_of_what_stays() -> None:
    whole = encode(from_sets([(frozenset({1, 2, 3}), ONE), (frozenset({2, 3}), 2 * ONE), (frozenset({3}), 3 * ONE)]))
    assert whole.owners == (1, 3)
    part = induced(whole, np.array([False, True, True]))
    assert part.owners == (1, 2)
    assert part.members.tolist() == [[1, 2], [2, -1], [-1, -1]]
    assert part.row_start.tolist() == [0, 2]
    assert part.member_start.tolist() == [0, 3]
    assert part.weights.tolist() == [[2 * ONE, 3 * ONE]]
    assert induced(whole, np.zeros(3, bool)).owners == (1, 1)


@pytest.mark.parametrize("kept", [np.ones(2, bool), np.ones(4, bool), np.ones(3, np.int64)])
def test_refuses_another_number_of_units(kept: np.ndarray) -> None:
    whole = encode(from_sets([(frozenset({1, 2, 3}), ONE)]))
    with pytest.raises(InvalidParameter):
        induced(whole, kept)


def test_refuses_several_groups() -> None:
    whole = encode(from_sets([(frozenset({1}), ONE), (frozenset({2}), ONE)], [0, 1], 2))
    with pytest.raises(InvalidParameter):
        induced(whole, np.ones(2, bool))
