import numpy as np

from privacy.truncation.distinct.segments import Segments
from privacy.units import MAX_UNITS


def test_groups_add_up_and_empty_ones_are_filled_in() -> None:
    segments = Segments(np.array([1, 1, 3]), 5)
    values = np.array([4, 6, 9])
    assert segments.sums(values).tolist() == [0, 10, 0, 9, 0]
    assert segments.reduced(np.maximum, values, -7).tolist() == [-7, 6, -7, 9, -7]


def test_totals_of_segments_stop_at_the_largest_weight() -> None:
    assert Segments(np.array([0, 0, 1]), 2).sums(np.array([MAX_UNITS, MAX_UNITS, 3])).tolist() == [MAX_UNITS, 3]


def test_no_values_at_all() -> None:
    assert Segments(np.empty(0, np.int64), 2).sums(np.empty(0, np.int64)).tolist() == [0, 0]
